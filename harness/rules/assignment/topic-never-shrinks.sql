-- A topic never gets fewer partitions
-- A CreatePartitions request for as many partitions as there are, or fewer, is refused with
-- INVALID_PARTITIONS (37) and changes nothing. A request for more adds them.
-- why: A topic with too many partitions has to be replaced by a new one.
-- source: document 002, partitions
-- id: R27-shrink | rows: requested changes | unit: partitions | measured: requested | protocols:
--   classic | kind: broker

WITH sizes AS (
    SELECT c.sent_at, t.name AS topic, size(t.partitions) AS partitions
    FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.answer, '$.topics'),
        'array<struct<name:string,partitions:array<struct<partitionIndex:int>>>>')) AS t
    WHERE c.api = 'METADATA'
), sized AS (
    SELECT a.sent_at, a.step, a.error_code, s.topic,
           CAST(get_json_object(a.request, '$.topics[0].count') AS INT) AS wanted,
           max_by(s.partitions, struct(s.sent_at, s.partitions))
               FILTER (WHERE s.sent_at < a.sent_at) AS had,
           min_by(s.partitions, struct(s.sent_at, s.partitions))
               FILTER (WHERE s.sent_at > a.sent_at) AS has
    FROM {calls} a JOIN sizes s ON s.topic = get_json_object(a.request, '$.topics[0].name')
    WHERE a.api = 'CREATE_PARTITIONS' AND a.answered_at IS NOT NULL GROUP BY ALL
), judged AS (
    SELECT *, IF(wanted > had, error_code = :NONE AND has = wanted,
                 error_code = :INVALID_PARTITIONS AND has = had) AS right,
           concat('was answered ', error_code, '; partitions before: ',
                  coalesce(string(had), '?'), ', after: ', coalesce(string(has), '?'))
               AS answer
    FROM sized
)
SELECT concat(step, ' (', topic, ')') AS subject, sent_at AS at, wanted AS measured,
       IF(NOT right, answer, NULL) AS wrong,
       IF(right IS NULL, 'was asked for while its size was not looked at', NULL) AS unknown,
       answer AS note
FROM judged
