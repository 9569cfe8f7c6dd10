-- A coordinator that takes over goes on in the stored generation
-- A broker that takes over a group has the generation that was stored last: it prepares the next
-- one from that.
-- why: A group that is set back gives a generation twice, and a former owner may commit over the
--   new one.
-- source: GroupMetadataManager.onLoaded; ClassicGroup.validateMember; group protocol, coordinator
--   failover
-- id: X95 | rows: takeovers of a group with members | unit: generations | measured: when the new
--   coordinator first said where the group is | low: went on from an older generation | high: went
--   on from a generation that was not stored | protocols: classic | kind: broker, in passing,
--   compares clocks
--
-- A member with an answer to a SYNC of a generation shows that it was stored. The line by which the
-- next is prepared names the generation before. X56 examines what it refuses.

WITH followed AS (
    SELECT *, lead(struct(event, generation, evidence)) OVER (
               PARTITION BY broker ORDER BY at, length(evidence), evidence) AS next
    FROM {stages}
), begun AS (
    SELECT *, IF(next.event = 'rebalance_started', next.generation, NULL) AS goes_on
    FROM followed WHERE event = 'loaded' AND state = 'Stable' AND generation IS NOT NULL
)
SELECT concat('broker-', broker) AS subject, at, coalesce(goes_on, generation) AS measured,
       generation AS bound_low, generation AS bound_high,
       IF(goes_on IS NULL, 'it began no other generation', NULL) AS note,
       IF(goes_on IS NULL, NULL, next.evidence) AS evidence
FROM begun
