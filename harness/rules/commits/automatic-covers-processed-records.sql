-- An automatic commit covers only processed records
-- An automatic commit covers only processed records, if the application processes each poll's
-- records before its next poll.
-- why: A record that is committed before it is processed is lost if the member dies in between.
-- source: KafkaConsumer, Automatic Offset Committing (at least once)
-- id: R26-processed | rows: partitions and members | unit: records | measured: committed and not
--   processed | high: had records committed that were not processed | contradicted: librdkafka;
--   java consumer
--
-- A member may also commit where it began, and what others had committed.

WITH moments AS (
    SELECT topic, partition, processed_at AS at, last_offset + 1 AS done,
           CAST(NULL AS BIGINT) AS committed, member
    FROM {deliveries} WHERE processed_at IS NOT NULL
    UNION ALL
    SELECT topic, partition, polled_at, first_offset, NULL, member FROM {deliveries}
    UNION ALL
    SELECT topic, partition, arrived_at, NULL, committed, member FROM {positions}
    WHERE api = 'OFFSET_COMMIT' AND error_code = :NONE AND :commit = 'auto'
), own AS (
    SELECT *, max(done) OVER (PARTITION BY topic, partition, member ORDER BY at) AS own_done,
           coalesce(max(committed) OVER (
               PARTITION BY topic, partition ORDER BY at, committed {BEFORE}), 0) AS known
    FROM moments
), ordered AS (
    SELECT *, coalesce(greatest(own_done, known), known) AS processed FROM own
)
SELECT concat(topic, '-', partition, ' by ', member) AS subject,
       max_by(at, struct(committed - processed, at)) AS at,
       greatest(0, max(committed - processed)) AS measured, 0 AS bound_high,
       max_by(concat('at worst ', committed, ' was committed when ', processed,
                     ' were processed'), struct(committed - processed, at)) AS note
FROM ordered WHERE committed IS NOT NULL GROUP BY topic, partition, member
