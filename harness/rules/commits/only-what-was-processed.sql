-- A member commits only what it has processed
-- A member that commits when its work is done commits no position beyond the records that it has
-- processed.
-- why: If the process dies before it has processed them, no other does.
-- source: KafkaConsumer, Manual Offset Control
-- id: X73 | rows: members and partitions committed | unit: records | measured: beyond what it had
--   processed | high: committed records that it had not processed yet | kind: in passing
--
-- A position that a broker had answered may be committed as well. What the client library commits
-- by itself follows what was given (X36). In a transaction work and commit are one.

WITH mixed AS (
    SELECT member, topic, partition, processed_at AS at, last_offset + 1 AS position,
           CAST(NULL AS BIGINT) AS committed
    FROM {deliveries} WHERE processed_at IS NOT NULL
    UNION ALL
    SELECT member, topic, partition, arrived_at, committed, NULL FROM ({LOOKED_UP})
    WHERE committed >= 0
    UNION ALL
    SELECT c.member, c.topic, c.partition, c.asked_at, NULL, c.committed
    FROM {commits} c JOIN {members} m ON m.member = c.member
    WHERE c.how IN ('sync', 'async', 'interval', 'revoke') AND c.asked_at IS NOT NULL
), ordered AS (
    SELECT *, max(position) OVER (
        PARTITION BY member, topic, partition ORDER BY at, position NULLS LAST, committed
        {SO_FAR}) AS done
    FROM mixed
), furthest AS (
    SELECT member, topic, partition, count(*) AS commits,
           max(struct(committed - coalesce(done, 0) AS beyond, at, committed, done)) AS worst
    FROM ordered WHERE committed IS NOT NULL GROUP BY member, topic, partition
)
SELECT concat(member, ' on ', topic, '-', partition) AS subject, worst.at AS at,
       greatest(0, worst.beyond) AS measured, 0 AS bound_high,
       concat('committed ', worst.committed, ' when it had processed records up to ',
              coalesce(worst.done, 0), '; ', commits, ' commits') AS note
FROM furthest
