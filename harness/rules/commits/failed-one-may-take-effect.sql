-- A failed commit may take effect after all
-- A commit that timed out because a replica was missing stays in the log, and takes effect when the
-- replica is back.
-- why: A commit that was reported as failed can still move the position.
-- source: CoordinatorRuntime (Kafka 4): what is appended is not taken back at its time-out
-- id: R31-made | was not: R31-withdrawn | rows: positions requested after a failed commit | unit:
--   records | measured: from the position of the failed commit | low: was answered with an earlier
--   position | high: was answered with a later position | since: 4.0 | kind: broker
--
-- Fetches of a scripted group after a commit of that partition that failed, none of it was accepted
-- since, and the log can be written to again, as another partition's commit shows.

WITH failed AS (
    SELECT `group`, topic, partition, wanted, answered_at, step
    FROM {probe_positions}
    -- 3.9 tells a time-out as such (7), Kafka 4 as 15.
    WHERE api = 'OFFSET_COMMIT'
      AND error_code IN (:COORDINATOR_NOT_AVAILABLE, :REQUEST_TIMED_OUT)
), written AS (
    SELECT f.`group`, f.topic, f.partition, f.wanted, f.answered_at, f.step,
           min(p.at) AS again_at
    FROM failed f JOIN {probe_positions} p
      ON same(p, f, `group`, topic) AND p.partition <> f.partition
     AND p.api = 'OFFSET_COMMIT' AND p.error_code = :NONE AND p.sent_at >= f.answered_at
    GROUP BY ALL
), afterwards AS (
    SELECT w.`group`, w.topic, w.partition, w.wanted AS failed, g.sent_at, g.committed,
           g.wanted AS accepted,
           concat(w.topic, '-', w.partition, ' after ', w.step, ' (', w.`group`, ')')
               AS subject,
           concat('the commit of ', w.wanted, ' failed, ', g.wanted,
                  ' was accepted before; told ', g.committed) AS note
    FROM written w JOIN {probe_fetches} g ON same(g, w, `group`, topic, partition)
     AND g.sent_at >= w.again_at AND g.error_code = :NONE
    -- Nothing was committed there since.
    LEFT ANTI JOIN {probe_positions} n ON same(n, w, `group`, topic, partition)
     AND n.sent_at >= w.answered_at AND n.sent_at <= g.answered_at
)
SELECT subject, sent_at AS at, committed - failed AS measured, 0 AS bound_low,
       0 AS bound_high, note
FROM afterwards
