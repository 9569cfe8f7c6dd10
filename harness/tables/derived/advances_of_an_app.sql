-- How far a program shows that it has processed a partition; or else how far it has committed.
--
-- `position` is the next record to process, and `how` says which of both is meant.

SELECT topic, partition, last_offset + 1 AS position, at, 'processed' AS how FROM {effects}
UNION ALL
SELECT topic, partition, committed, at, 'committed' FROM {accepted}
WHERE NOT EXISTS (SELECT 1 FROM {effects})
