-- Each record has one result, uncommitted ones included
-- Readers of uncommitted records find exactly one result of every record too.
-- why: Readers of uncommitted records see the results of aborted transactions as well.
-- source: isolation.level (read_uncommitted)
-- id: X29-uncommitted | rows: source partitions | unit: records | measured: missing or too many |
--   high: has records without exactly one result | kind: broker

-- let ISOLATION = read_uncommitted

{OUTPUT}
