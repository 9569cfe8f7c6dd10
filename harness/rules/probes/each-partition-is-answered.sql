-- An answer about positions names each partition that was asked
-- The answer to an OffsetCommit, an OffsetDelete or an OffsetFetch of named partitions names each
-- of these partitions once, and no other one.
-- why: A client looks for its partitions in the answer: it neither repeats nor reports what it does
--   not find there.
-- source: document 003, OFFSET_COMMIT and OFFSET_FETCH; OffsetMetadataManager.commitOffset and
--   fetchOffsets
-- id: X110 | rows: answers about positions | unit: partitions | measured: asked, and not named
--   once, or named only in the answer | high: was answered about other partitions than it asked |
--   kind: broker, in passing
--
-- A refusal of the whole request names none.

WITH topics AS (
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
), named AS (
    SELECT subject, sent_at,
           coalesce(flatten(transform(changed, t -> transform(t.partitions,
                        p -> concat(t.name, '-', p.partitionIndex)))),
                    flatten(transform(fetched, t -> transform(t.partitionIndexes,
                        p -> concat(t.name, '-', p))))) AS asked,
           flatten(transform(told, t -> transform(t.partitions,
               p -> concat(t.name, '-', p.partitionIndex)))) AS told
    FROM topics
), judged AS (
    SELECT *, array_except(asked, told) AS missing, array_except(told, asked) AS strange,
           size(told) - size(array_distinct(told)) AS twice
    FROM named
    WHERE told IS NOT NULL AND size(asked) = size(array_distinct(asked))
)
SELECT subject, sent_at AS at, size(missing) + size(strange) + twice AS measured,
       0 AS bound_high,
       concat('asked of ', array_join(asked, ' '), ', answered of ', array_join(told, ' ')) AS note
FROM judged
