-- The group catches up in the time promised
-- Every partition is processed to its end within the time that the group's owner promises, once
-- nothing is broken and nothing more is produced.
-- why: The group is behind until then, and its results are old.
-- source: kafka-chaos, limits
-- id: L4 | rows: partitions | unit: ms | measured: until the end was reached | high: was read to
--   its end too late | delayed by: members, toxiproxy, brokers | limit: drained_s

WITH {ENDS}, reached AS (
    SELECT e.topic, e.partition, e.end_offset, 'processed' AS how,
           coalesce(max(d.last_offset) + 1, 0) AS position,
           min(d.processed_at) FILTER (WHERE d.last_offset + 1 >= e.end_offset) AS done_at
    FROM ends e LEFT JOIN {deliveries} d
      ON same(d, e, topic, partition) AND d.processed_at IS NOT NULL
    GROUP BY e.topic, e.partition, e.end_offset
)
{CAUGHT_UP},
       guard_from(:drain_at, done_at) AS guard_from, guard_to(done_at) AS guard_to
FROM reached
