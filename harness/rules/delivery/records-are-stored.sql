-- Records are stored where nothing is broken
-- While nothing is broken, every record that the producer sends is acknowledged.
-- why: A producer that fails in quiet times loses records for another reason than the fault that
--   was meant.
-- source: KafkaProducer, delivery.timeout.ms; acks
-- id: X89 | rows: partitions | unit: records | measured: failed | high: has records that failed
--   while nothing was broken | kind: broker, in passing, compares clocks

WITH failed AS (
    SELECT s.topic, s.partition, min(s.first_sent_at) AS at, sum(s.count) AS records
    FROM {sends} s LEFT ANTI JOIN {fault_windows} f
      ON f.injecting_at <= coalesce(s.last_answered_at, s.first_sent_at)
     AND after(:session_ms, coalesce(f.healed_at, :ended_at)) >= s.first_sent_at
    WHERE s.outcome = 'failed' GROUP BY s.topic, s.partition
)
SELECT concat(s.topic, '-', s.partition, ' (failed)') AS subject,
       coalesce(f.at, s.at) AS at, coalesce(f.records, 0) AS measured, 0 AS bound_high,
       concat(s.records, ' records') AS note
FROM (SELECT topic, partition, min(first_sent_at) AS at, sum(count) AS records
      FROM {sends} GROUP BY topic, partition) s
LEFT JOIN failed f ON same(f, s, topic, partition)
