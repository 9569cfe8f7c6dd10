-- A failed commit is withdrawn
-- The position is the one that was accepted before the failed commit, once the log can be written
-- to again.
-- why: An application that is told of a failed commit may rely on it, and process the records
--   again.
-- source: document 003, OFFSET_COMMIT (a failed append); GroupMetadataManager, 3.9
-- id: R31-withdrawn | rows: positions requested after a failed commit | unit: records | measured:
--   from the position accepted last | low: was answered with an earlier position | high: was
--   answered with the position of the failed commit | kind: broker

{AFTERWARDS}
SELECT subject, sent_at AS at, committed - accepted AS measured, 0 AS bound_low,
       0 AS bound_high, note
FROM afterwards
