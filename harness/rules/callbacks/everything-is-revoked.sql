-- A rebalance takes every partition away (documented for eager)
-- In a rebalance each member gives up all its partitions before it gets its new assignment.
-- why: The whole group stops consuming for as long as such a rebalance lasts.
-- source: document 001, rebalance phases and its listener; PartitionAssignor, EAGER
-- id: R15-all | rows: members per rebalance | unit: partitions | measured: kept through the
--   rebalance | high: did not give up all its partitions | protocols: classic | contradicted:
--   cooperative

WITH spans AS (
    SELECT DISTINCT g.broker, g.generation, g.started_at, g.joined_at, j.member
    FROM {generations} g JOIN {joins} j ON same(j, g, broker, generation)
     AND j.arrived_at <= after(:STAMP_LATE_MS, g.joined_at)
     AND in_time_of(g, j.processed_at)
    WHERE g.event = 'stabilized' AND g.started_at IS NOT NULL
), held AS (
    SELECT s.generation, s.member, s.started_at, count(*) AS held,
           count_if(o.to_at IS NULL OR o.to_at > after(:rounding_ms, s.joined_at)) AS kept
    FROM spans s JOIN {ownership} o
      ON o.member = s.member AND o.from_at < s.started_at
     AND (o.to_at IS NULL OR o.to_at > s.started_at) AND o.removed_at IS NULL
    GROUP BY s.generation, s.member, s.started_at
)
SELECT concat(member, ' in generation ', generation) AS subject, started_at AS at,
       kept AS measured, 0 AS bound_high,
       concat('gave up ', held - kept, ' of ', held) AS note
FROM held
