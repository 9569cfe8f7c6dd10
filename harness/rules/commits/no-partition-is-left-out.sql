-- An OffsetFetch leaves no partition out
-- An OffsetFetch is answered for every partition that it names, with a position, or with -1 where
-- there is none.
-- why: A client that is told nothing of a partition starts to read it wherever its reset policy
--   says.
-- source: document 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets
-- id: X82 | rows: partitions | unit: answers | measured: without it | high: was left out of answers
--   | kind: broker, in passing
--
-- What the observer was answered, which asks for all partitions of the topic, or for one.
--
-- A partition with an error is left out.

WITH answers AS (
    SELECT arrived_at, evidence,
           transform(positions, p -> IF(p.error_code = 0,
               concat(p.topic, '-', p.partition), '')) AS names
    FROM {own_requests}
    WHERE api = 'OFFSET_FETCH' AND member = 'observer' AND error_code = :NONE
      AND size(positions) > 1
), named AS (
    SELECT concat(topic, '-', partition) AS name, min(answered_at) AS at
    FROM {positions} WHERE api = 'OFFSET_FETCH' AND member = 'observer'
    GROUP BY topic, partition
), compared AS (
    SELECT n.name, a.arrived_at, a.evidence, NOT array_contains(a.names, n.name) AS lacking
    FROM named n JOIN answers a ON a.arrived_at > n.at
)
SELECT concat(name, ' (answers)') AS subject,
       coalesce(min(IF(lacking, arrived_at, NULL)), min(arrived_at)) AS at,
       count_if(lacking) AS measured, 0 AS bound_high,
       concat(count(*), ' answers') AS note,
       min_by(evidence, struct(arrived_at, evidence)) FILTER (WHERE lacking) AS evidence
FROM compared GROUP BY name
