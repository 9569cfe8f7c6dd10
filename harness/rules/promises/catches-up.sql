-- The group catches up
-- The program reaches the end of every partition within the time that its owner promises, or 60 s
-- without a promise, once nothing is broken and nothing more is produced. A partition's end is
-- reached by a commit, or by processing if the program shows that.
-- why: A group that does not catch up after a fault has stopped, even if it looks well.
-- source: kafka-chaos, programs under test
-- id: P1 | rows: partitions | unit: ms | measured: until the end was reached | high: was read to
--   its end too late | clients: app | limit: drained_s | headline: catching up
--
-- A partition whose end was reached before the producer stopped took no time.

WITH ends AS (
    SELECT topic, partition, max(end_offset) AS end_offset
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
), reached AS (
    SELECT e.topic, e.partition, e.end_offset, any_value(p.how) AS how,
           max(p.position) AS position,
           min(p.at) FILTER (WHERE p.position >= e.end_offset) AS done_at
    FROM ends e LEFT JOIN {advances} p ON same(p, e, topic, partition)
    GROUP BY e.topic, e.partition, e.end_offset
)
SELECT concat(topic, '-', partition) AS subject, coalesce(done_at, :drain_at) AS at,
       -- `greatest` passes over a null.
       IF(done_at IS NULL, NULL, greatest(0, ms_between(:drain_at, done_at))) AS measured,
       :limit_drained_ms AS bound_high,
       CASE WHEN end_offset = 0 THEN NULL
            WHEN position IS NULL THEN 'was never committed'
            WHEN done_at IS NULL
            THEN clause('was ', how, ' to ', position, ' of ', end_offset,
                        ' when the run ended') END AS wrong,
       IF(end_offset = 0, 'holds no record', NULL) AS excused
FROM reached
