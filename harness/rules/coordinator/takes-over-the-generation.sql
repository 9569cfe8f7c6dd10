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

WITH {STANDS}, loaded AS (
    SELECT t.broker, t.from_at, s.stands,
           least(coalesce(s.until, :ended_at), coalesce(t.next_at, :ended_at)) AS until
    FROM {tenures} t JOIN stands s ON s.broker = t.broker AND s.at = t.from_at
    WHERE t.loaded AND s.stands IS NOT NULL AND coalesce(t.members > 0, true)
), prepared AS (
    SELECT l.broker, l.from_at, min_by(e.generation, e.at) AS generation,
           min_by(e.evidence, e.at) AS evidence
    FROM loaded l JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = 'rebalance_started' AND e.broker = l.broker
     AND e.at >= l.from_at AND e.at < l.until
    GROUP BY l.broker, l.from_at
)
SELECT concat('broker-', l.broker) AS subject, l.from_at AS at,
       coalesce(p.generation, l.stands) AS measured, l.stands AS bound_low,
       l.stands AS bound_high,
       IF(p.generation IS NULL, 'it began no other generation', NULL) AS note,
       p.evidence
FROM loaded l LEFT JOIN prepared p ON same(p, l, broker, from_at)
