-- A failed commit may take effect after all
-- A commit that timed out because a replica was missing stays in the log, and takes effect when the
-- replica is back.
-- why: A commit that was reported as failed can still move the position.
-- source: CoordinatorRuntime (Kafka 4): what is appended is not taken back at its time-out
-- id: R31-made | was not: R31-withdrawn | rows: positions requested after a failed commit | unit:
--   records | measured: from the position of the failed commit | low: was answered with an earlier
--   position | high: was answered with a later position | since: 4.0 | kind: broker
--
-- Fetches of a scripted group after a commit of that partition failed, if none was accepted since,
-- and the log can be written to again, as a commit of another partition shows.

WITH written AS (
    SELECT f.`group`, f.topic, f.partition, f.wanted, f.answered_at, f.step,
           min(p.at) AS again_at
    FROM {probe_positions} f JOIN {probe_positions} p
      ON same(p, f, `group`, topic) AND p.partition <> f.partition
     AND p.api = 'OFFSET_COMMIT' AND p.error_code = :NONE AND p.sent_at >= f.answered_at
    -- 3.9 answers a time-out with 7, Kafka 4 with 15.
    WHERE f.api = 'OFFSET_COMMIT'
      AND f.error_code IN (:COORDINATOR_NOT_AVAILABLE, :REQUEST_TIMED_OUT)
    GROUP BY ALL
)
SELECT concat(w.topic, '-', w.partition, ' after ', w.step, ' (', w.`group`, ')') AS subject,
       g.sent_at AS at, g.committed - w.wanted AS measured, 0 AS bound_low, 0 AS bound_high,
       concat('the commit of ', w.wanted, ' failed, ', g.wanted, ' was accepted before; answered ',
              g.committed) AS note
FROM written w JOIN {probe_fetches} g ON same(g, w, `group`, topic, partition)
 AND g.sent_at >= w.again_at AND g.error_code = :NONE
-- Nothing was committed there since.
LEFT ANTI JOIN {probe_positions} n ON same(n, w, `group`, topic, partition)
 AND n.sent_at >= w.answered_at AND n.sent_at <= g.answered_at
