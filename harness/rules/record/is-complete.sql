-- The record is complete
-- Every journal and every broker's log of the run is complete from its beginning to its end, and
-- contains everything that another one refers to. A killed process closes no journal: that the end
-- of its journal is whole is shown by what brokers got from it.
-- why: An event that is missing from the record looks as if it had never happened.
-- source: kafka-chaos, evidence
-- id: E05 | rows: journals and logs | unit: rows | measured: each | kind: evidence, without
--   journals, of record

SELECT subject, at, measured, 1 AS bound_low, unknown, note FROM {record_of_journals}
UNION ALL
SELECT subject, at, measured, 1, unknown, note FROM {record_of_logs}
UNION ALL
SELECT subject, at, measured, 1, unknown, note FROM {record_of_group}
