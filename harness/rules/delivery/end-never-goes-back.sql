-- The end of a partition never goes back
-- The end of a partition that its leader answers with never goes back, not even after the leader
-- has changed.
-- why: Either records at the end were lost, or a reader is told that nothing is left where records
--   are.
-- source: KIP-207; KIP-101
-- id: X87 | rows: partitions | unit: records | measured: behind an earlier end | high: ended before
--   an offset that it had reached | kind: broker, in passing
--
-- What the observer was told of each partition of the topic, in the order of its questions.

WITH ends AS (
    SELECT topic, partition, at, end_offset,
           max(end_offset) OVER (
               PARTITION BY topic, partition ORDER BY at, end_offset {BEFORE}) AS before
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic
)
SELECT concat(topic, '-', partition, ' (end)') AS subject,
       coalesce(min(IF(end_offset < before, at, NULL)), min(at)) AS at,
       max(greatest(0, coalesce(before, 0) - end_offset)) AS measured, 0 AS bound_high,
       concat('told ', count(*), ' times, ', max(end_offset), ' at last') AS note
FROM ends GROUP BY topic, partition
