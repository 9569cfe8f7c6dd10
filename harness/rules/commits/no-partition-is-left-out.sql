-- An answer about positions leaves no partition out
-- The answer to an OffsetFetch, an OffsetCommit or an OffsetDelete that names partitions names each
-- of them once, and no other one; an OffsetFetch with a position, or with -1 where there is none.
-- why: A client looks for its partitions in the answer, and neither repeats nor reports what it
--   does not find there: it reads such a partition from wherever its reset policy says.
-- source: document 003, OFFSET_COMMIT and OFFSET_FETCH; OffsetMetadataManager.commitOffset and
--   fetchOffsets
-- id: X82 | was: X110 | rows: partitions, and answers to probes | unit: partitions | measured:
--   asked, and left out, or named twice, or named only in the answer | high: was left out of
--   answers, or named without having been asked | kind: broker, in passing
--
-- A partition that is answered with an error to the observer counts as left out. A refusal of the
-- whole request names none.

-- let SAYS = concat(count(*), ' answers') AS note

WITH answers AS (
    SELECT arrived_at, evidence,
           transform(filter(positions, p -> p.error_code = 0),
                     p -> concat(p.topic, '-', p.partition)) AS names
    FROM {own_requests}
    WHERE api = 'OFFSET_FETCH' AND member = 'observer' AND error_code = :NONE
      AND size(positions) > 1
), named AS (
    SELECT concat(topic, '-', partition) AS name, min(answered_at) AS at
    FROM {positions} WHERE api = 'OFFSET_FETCH' AND member = 'observer'
    GROUP BY topic, partition
), judged AS (
    SELECT concat(n.name, ' (answers)') AS subject, a.arrived_at AS at, a.evidence,
           IF(array_contains(a.names, n.name), NULL, n.name) AS odd
    FROM named n JOIN answers a ON a.arrived_at > n.at
), topics AS (
    SELECT concat(step, ' (', `group`, ')') AS subject, sent_at,
           from_json(get_json_object(request, '$.topics'),
                     'array<struct<name:string,partitions:array<struct<'
                     || 'partitionIndex:int>>>>') AS changed,
           from_json(get_json_object(request, '$.groups[0].topics'),
                     'array<struct<name:string,partitionIndexes:array<int>>>') AS fetched,
           from_json(coalesce(get_json_object(answer, '$.topics'),
                              get_json_object(answer, '$.groups[0].topics')),
                     'array<struct<name:string,partitions:array<struct<'
                     || 'partitionIndex:int>>>>') AS told
    FROM {calls}
    WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT', 'OFFSET_DELETE', 'OFFSET_FETCH')
      AND coalesce(CAST(get_json_object(answer, '$.errorCode') AS INT), 0) = 0
      AND coalesce(CAST(get_json_object(answer, '$.groups[0].errorCode') AS INT), 0) = 0
), parts AS (
    SELECT subject, sent_at,
           coalesce(flatten(transform(changed, t -> transform(t.partitions,
                        p -> concat(t.name, '-', p.partitionIndex)))),
                    flatten(transform(fetched, t -> transform(t.partitionIndexes,
                        p -> concat(t.name, '-', p))))) AS asked,
           flatten(transform(told, t -> transform(t.partitions,
               p -> concat(t.name, '-', p.partitionIndex)))) AS told
    FROM topics
), compared AS (
    SELECT *, array_except(asked, told) AS missing, array_except(told, asked) AS strange,
           size(told) - size(array_distinct(told)) AS twice
    FROM parts
    WHERE told IS NOT NULL AND size(asked) = size(array_distinct(asked))
)
{ODD_ONES} GROUP BY subject
UNION ALL
SELECT subject, sent_at, size(missing) + size(strange) + twice, 0,
       concat('asked of ', array_join(asked, ' '), ', answered of ', array_join(told, ' ')), NULL
FROM compared
