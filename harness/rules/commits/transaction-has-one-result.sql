-- Each record has exactly one committed result
-- Readers of committed records find exactly one result of every record that was read, processed and
-- written in one transaction with its position.
-- why: Results need no deduplication, even if a consumer dies before it commits.
-- source: KIP-98; KIP-447; isolation.level
-- id: X29 | rows: source partitions | unit: records | measured: missing or too many | high: has
--   records without exactly one committed result

-- let ISOLATION = read_committed

{OUTPUT}
