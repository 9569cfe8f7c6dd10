-- A sticky assignor moves no more partitions than necessary
-- With cooperative-sticky, or the broker's uniform assignor, as many partitions stay with their
-- members as an even spread allows. Where shares differ by one, the members that have the larger
-- shares keep them.
-- why: A partition that moves without need stops for a moment, and its new owner has no cache for
--   it.
-- source: KIP-54 (as many assignments as possible are preserved); AbstractStickyAssignor;
--   UniformHomogeneousAssignmentBuilder (KAFKA-18688, since Kafka 4.1)
-- id: R22-moves | rows: assignments that follow another one | unit: partitions | measured: moved
--   that could have stayed | high: moved partitions that could have stayed | protocols:
--   cooperative, consumer | kind: in passing
--
-- The most that can be kept is each member's share, and as many a partition more as there are. What
-- members had is known where all of them got the assignment before, no partition was lost since,
-- and, in KIP-848, no target was passed over. A static member may have come back as another
-- process. The leader may not know yet that a topic has grown.

{STICKY}, settled AS (
    SELECT g.broker, g.generation, g.joined_at
    FROM {generations} g JOIN {generations} p
      ON p.broker = g.broker AND p.generation = g.generation_before
    JOIN {rebalances} r
      ON r.coordinator = g.broker AND r.generation = g.generation
     AND r.completed_at IS NOT NULL
    JOIN {rebalances} q
      ON q.coordinator = p.broker AND q.generation = p.generation
     AND q.completed_at <= g.joined_at
    LEFT ANTI JOIN {client_events} e
      ON e.event = 'lost' AND e.event_at BETWEEN p.joined_at AND g.joined_at
    WHERE p.event = 'target_computed' OR p.answered >= p.members
), sums AS (
    SELECT c.broker, c.generation, c.joined_at, c.members, k.partitions,
           min(c.evidence) AS evidence, sum(c.had) AS had, sum(c.kept) AS kept,
           sum(least(c.had, k.partitions DIV c.members))
               + least(k.partitions % c.members,
                       count_if(c.had > k.partitions DIV c.members)) AS most,
           count(c.instance_id) AS static
    FROM compared c JOIN known k ON same(k, c, generation, joined_at)
    GROUP BY c.broker, c.generation, c.joined_at, c.members, k.partitions
)
SELECT concat('generation ', s.generation) AS subject, s.joined_at AS at,
       s.most - s.kept AS measured, 0 AS bound_high,
       concat('of ', s.had, ' that members had ', s.kept, ' stayed, and ', s.most,
              ' can; ', s.partitions, ' partitions for ', s.members, ' members') AS note,
       s.evidence
FROM sums s LEFT SEMI JOIN settled t ON same(t, s, broker, generation, joined_at)
WHERE s.static = 0 AND s.partitions = :partitions
