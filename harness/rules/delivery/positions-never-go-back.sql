-- Committed positions never go back
-- The accepted committed position of a partition never decreases.
-- why: A commit that goes back makes the next owner repeat work that was done and committed.
-- source: KafkaConsumer, Offsets and Consumer Position
-- id: X32c | rows: partitions | unit: records | measured: backwards | high: had a commit that went
--   back

WITH commits AS (
    SELECT topic, partition, count(*) AS count,
           max(previous_committed - committed) AS furthest,
           min(struct(at, member)) FILTER (WHERE committed < previous_committed) AS back
    FROM {accepted} GROUP BY topic, partition
)
SELECT concat(topic, '-', partition) AS subject, back.at AS at,
       greatest(furthest, 0) AS measured, 0 AS bound_high,
       concat(count, ' commits accepted',
              coalesce(concat(', the first that went back by ', back.member), '')) AS note
FROM commits
