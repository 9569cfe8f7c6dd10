-- A failed commit may take effect after all
-- A commit that timed out because a replica was missing stays in the log, and takes effect when the
-- replica is back.
-- why: A commit that was reported as failed can still move the position.
-- source: CoordinatorRuntime (Kafka 4): what is appended is not taken back at its time-out
-- id: R31-made | rows: positions requested after a failed commit | unit: records | measured: from
--   the position of the failed commit | low: was answered with an earlier position | high: was
--   answered with a later position | since: 4.0 | kind: broker

{AFTERWARDS}
SELECT subject, sent_at AS at, committed - failed AS measured, 0 AS bound_low,
       0 AS bound_high, note
FROM afterwards
