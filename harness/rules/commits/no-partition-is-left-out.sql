-- An OffsetFetch leaves no partition out
-- An OffsetFetch is answered for every partition that it names, with a position, or with -1 where
-- there is none.
-- why: A client without an answer for a partition starts to read it wherever its reset policy says.
-- source: document 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets
-- id: X82 | rows: partitions | unit: answers | measured: without it | high: was left out of answers
--   | kind: broker, in passing
--
-- A partition that is answered with an error counts as left out.

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
)
{ODD_ONES} GROUP BY subject
