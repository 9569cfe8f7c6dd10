-- What probes changed of committed positions, one row per change and partition.
--
-- `committed` is -1 for a deletion. What a transaction holds counts from when it was ended.

WITH asked AS (
    SELECT `group`, api, sent_at, answered_at, step,
           from_json(get_json_object(request, '$.topics'),
                     'array<struct<name:string,partitions:array<struct<'
                     || 'partitionIndex:int,committedOffset:bigint,'
                     || 'committedMetadata:string>>>>') AS topics,
           from_json(get_json_object(answer, '$.topics'),
                     'array<struct<name:string,partitions:array<struct<'
                     || 'partitionIndex:int,errorCode:int>>>>') AS answers,
           coalesce(CAST(get_json_object(answer, '$.errorCode') AS INT), 0) AS whole
    FROM {calls} WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT', 'OFFSET_DELETE')
), wanted AS (
    SELECT a.* EXCEPT (topics, answers), topic.name AS topic, part.*
    FROM asked a LATERAL VIEW explode(topics) AS topic
    LATERAL VIEW explode(topic.partitions) AS part
), got AS (
    SELECT `group`, api, sent_at, step, topic.name AS topic,
           part.partitionIndex AS partition, part.errorCode AS error_code
    FROM asked LATERAL VIEW explode(answers) AS topic
    LATERAL VIEW explode(topic.partitions) AS part
), ended AS (
    SELECT `group`, min(answered_at) AS at FROM {calls}
    WHERE api = 'END_TXN' AND error_code = 0
      AND get_json_object(request, '$.committed') = 'true'
    GROUP BY `group`
)
SELECT w.`group`, w.api, w.topic, w.partitionIndex AS partition, w.step, w.sent_at,
       w.answered_at, w.committedMetadata AS metadata, w.committedOffset AS wanted,
       CASE WHEN w.api = 'OFFSET_DELETE' THEN -1 ELSE w.committedOffset END AS committed,
       coalesce(g.error_code, nullif(w.whole, 0)) AS error_code,
       CASE WHEN w.api = 'TXN_OFFSET_COMMIT' THEN e.at ELSE w.answered_at END AS at
FROM wanted w
LEFT JOIN got g ON same(g, w, `group`, api, sent_at, topic)
  AND g.partition = w.partitionIndex
LEFT JOIN ended e ON e.`group` = w.`group`
