-- Every partition was read to its end
-- The members had read each partition to its end when the run ended.
-- why: Lost and repeated records can be counted only where the partition was read.
-- source: kafka-chaos, evidence
-- id: E03 | rows: partitions | unit: records | measured: left unread | high: was not read to its
--   end | kind: evidence

WITH ends AS (
    SELECT topic, partition, max_by(end_offset, struct(at, end_offset)) AS end_offset,
           max(at) AS at
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic
    GROUP BY topic, partition
), reads AS (
    SELECT topic, partition, max(last_offset) + 1 AS position
    FROM {deliveries} WHERE processed_at IS NOT NULL GROUP BY topic, partition
)
SELECT concat(topic, '-', partition) AS subject, at,
       greatest(0, end_offset - coalesce(position, 0)) AS measured, 0 AS bound_high,
       concat('read to offset ', coalesce(position, 0), ' of ', end_offset) AS note
FROM ends LEFT JOIN reads USING (topic, partition)
