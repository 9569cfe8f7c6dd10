-- An automatic commit covers only processed records
-- An automatic commit covers only processed records, if the application processes each poll's
-- records before its next poll.
-- why: A record that is committed before it is processed is lost if the member dies in between.
-- source: KafkaConsumer, Automatic Offset Committing (at least once)
-- id: R26-processed | rows: partitions and members | unit: records | measured: committed and not
--   processed | high: had records committed that were not processed | contradicted: librdkafka;
--   java consumer

WITH moments AS (
    SELECT topic, partition, processed_at AS at, last_offset + 1 AS done,
           CAST(NULL AS BIGINT) AS committed, NULL AS member
    FROM {deliveries} WHERE processed_at IS NOT NULL
    UNION ALL
    SELECT topic, partition, arrived_at, NULL, committed, member FROM {positions}
    WHERE api = 'OFFSET_COMMIT' AND error_code = :NONE AND :commit = 'auto'
), ordered AS (
    SELECT *, coalesce(max(done) OVER (PARTITION BY topic, partition ORDER BY at), 0) AS processed
    FROM moments
)
SELECT concat(topic, '-', partition, ' by ', member) AS subject,
       max_by(at, struct(committed - processed, at)) AS at,
       greatest(0, max(committed - processed)) AS measured, 0 AS bound_high,
       max_by(concat('at worst ', committed, ' was committed when ', processed,
                     ' were processed'), struct(committed - processed, at)) AS note
FROM ordered WHERE committed IS NOT NULL GROUP BY topic, partition, member
