-- Records that a program showed to have processed; or else those that it fetched.

WITH seen AS (
    SELECT member, topic, partition, first_offset, last_offset, at FROM {effects}
    UNION ALL
    SELECT member, topic, partition, first_offset, last_offset, answered_at FROM {fetched}
    WHERE NOT EXISTS (SELECT 1 FROM {effects})
), held AS (
    SELECT s.member, s.topic, s.partition, s.first_offset, s.last_offset, s.at,
           max_by(o.member_id, o.from_at) AS member_id,
           max_by(o.generation, o.from_at) AS generation
    FROM seen s LEFT JOIN {ownership_by_brokers} o ON same(o, s, member, topic, partition)
     AND o.from_at <= s.at
    GROUP BY s.member, s.topic, s.partition, s.first_offset, s.last_offset, s.at
)
SELECT member, row_number() OVER (
           PARTITION BY member ORDER BY at, topic, partition, first_offset) AS poll,
       topic, partition, first_offset, last_offset,
       last_offset - first_offset + 1 AS count, member_id, generation,
       at AS polled_at, at AS processed_at
FROM held
