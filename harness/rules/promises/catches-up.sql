-- The group catches up
-- The program reaches the end of every partition within the time that its owner promises, or 60 s
-- without a promise, once nothing is broken and nothing more is produced. A partition's end is
-- reached by a commit, or by processing if the program shows that.
-- why: A group that does not catch up after a fault has stopped, even if it looks well.
-- source: kafka-chaos, programs under test
-- id: P1 | rows: partitions | unit: ms | measured: until the end was reached | high: was read to
--   its end too late | clients: app | limit: drained_s | headline: catching up

WITH {ENDS}, reached AS (
    SELECT e.topic, e.partition, e.end_offset, any_value(p.how) AS how,
           max(p.position) AS position,
           min(p.at) FILTER (WHERE p.position >= e.end_offset) AS done_at
    FROM ends e LEFT JOIN {advances} p ON same(p, e, topic, partition)
    GROUP BY e.topic, e.partition, e.end_offset
)
{CAUGHT_UP}
FROM reached
