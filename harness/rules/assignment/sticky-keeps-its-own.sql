-- A sticky assignor leaves members their partitions
-- With cooperative-sticky, or the broker's uniform assignor, a member that stays keeps its
-- partitions, up to its share.
-- why: A partition that stays needs no new owner, no new position and no new cache.
-- source: KIP-54; CooperativeStickyAssignor; KIP-848, uniform assignor
-- id: R22-sticky | rows: members that stay through an assignment | unit: partitions | measured:
--   kept | low: kept fewer of its partitions than its share | protocols: cooperative, consumer |
--   kind: in passing
--
-- A member's share is the least that an even spread gives.

{STICKY}
SELECT concat(c.member, ' in generation ', c.generation) AS subject, c.joined_at AS at,
       c.kept AS measured, least(c.had, k.partitions DIV c.members) AS bound_low,
       concat('of ', c.had, ' that it had; ', k.partitions, ' partitions for ', c.members,
              ' members') AS note, c.evidence
FROM compared c JOIN known k ON same(k, c, generation, joined_at)
