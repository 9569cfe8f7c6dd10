-- The assignor is one that every member offers
-- All members of a generation get the same assignor, and it is one that each of them has offered.
-- why: A rolling change of the assignor works because the group keeps to one that the old and the
--   new processes know.
-- source: ClassicGroup.selectProtocol; JoinGroup, protocols
-- id: X53 | rows: generations | unit: members | measured: had not offered it | high: was assigned
--   by an assignor that members had not offered | protocols: classic | kind: in passing

SELECT concat('generation ', generation) AS subject, min(processed_at) AS at,
       count_if(NOT array_contains(assignors, protocol_name)) AS measured, 0 AS bound_high,
       IF(min(protocol_name) <> max(protocol_name),
          clause('gave some members ', min(protocol_name), ' and others ',
                 max(protocol_name)), NULL) AS wrong,
       concat(max(protocol_name), ' for ', count(*), ' joins') AS note,
       min(evidence) AS evidence
FROM {joins}
WHERE generation > 0 AND protocol_name IS NOT NULL AND assignors IS NOT NULL
GROUP BY broker, generation
