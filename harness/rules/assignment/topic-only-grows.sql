-- A topic can get more partitions while it is consumed, and never fewer
-- A topic can get more partitions, and its existing partitions stay as they are. A CreatePartitions
-- request for as many partitions as there are, or fewer, is refused with INVALID_PARTITIONS (37)
-- and changes nothing. A request for more adds them.
-- why: A topic can be scaled while its consumers run, and one with too many partitions has to be
--   replaced by a new one.
-- source: document 002, partition count
-- id: R27-growth | was: R27-shrink | rows: topics that grew, and requested changes | unit:
--   partitions | measured: in total | low: has no more partitions than before

WITH {GROWTH},
counted AS (
    SELECT count_if(partition < :partitions AND last.leader >= 0) AS before,
           count_if(partition >= :partitions AND last.leader >= 0) AS added
    FROM (SELECT partition, max(struct(at, leader)) AS last FROM {topology}
          WHERE what = 'partition' AND topic = :topic GROUP BY partition)
), sizes AS (
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
SELECT concat(:topic, ' (', g.fault, ')') AS subject, g.at,
       c.before + c.added AS measured, :partitions + 1 AS bound_low,
       CASE WHEN c.before <> :partitions
            THEN clause('of the ', :partitions, ' partitions that it had, ', c.before,
                        ' have a leader') END AS wrong,
       CAST(NULL AS STRING) AS unknown,
       concat('had ', :partitions, ', and ', c.added, ' were added') AS note
FROM grown g CROSS JOIN counted c
UNION ALL
SELECT concat(step, ' (', topic, ')'), sent_at, wanted, NULL, IF(NOT right, answer, NULL),
       IF(right IS NULL, 'was asked for while its size was not looked at', NULL), answer
FROM judged
