-- The group catches up in the time promised
-- Every partition is processed to its end within the time that the group's owner promises, once
-- nothing is broken and nothing more is produced.
-- why: The group is behind until then, and its results are old.
-- source: kafka-chaos, limits
-- id: L4 | rows: partitions | unit: ms | measured: until the end was reached | high: was read to
--   its end too late | delayed by: members, toxiproxy, brokers | limit: drained_s
--
-- A partition whose end was reached before the producer stopped took no time.

WITH ends AS (
    SELECT topic, partition, max(end_offset) AS end_offset
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
), reached AS (
    SELECT e.topic, e.partition, e.end_offset, max(d.last_offset) + 1 AS position,
           min(d.processed_at) FILTER (WHERE d.last_offset + 1 >= e.end_offset) AS done_at
    FROM ends e LEFT JOIN {deliveries} d
      ON same(d, e, topic, partition) AND d.processed_at IS NOT NULL
    GROUP BY e.topic, e.partition, e.end_offset
)
SELECT concat(topic, '-', partition) AS subject, coalesce(done_at, :drain_at) AS at,
       -- `greatest` passes over a null.
       IF(done_at IS NULL, NULL, greatest(0, ms_between(:drain_at, done_at))) AS measured,
       :limit_drained_ms AS bound_high,
       IF(done_at IS NULL AND end_offset > 0,
          clause('was processed to ', coalesce(position, 0), ' of ', end_offset,
                 ' when the run ended'), NULL) AS wrong,
       IF(end_offset = 0, 'holds no record', NULL) AS excused,
       guard_from(:drain_at, done_at) AS guard_from, guard_to(done_at) AS guard_to
FROM reached
