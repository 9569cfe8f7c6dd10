-- Every member of a generation has sent a JoinGroup for it
-- Each member that a generation begins with has sent a JoinGroup for it.
-- why: A rebalance waits for all members, so one that sends no JoinGroup holds up the whole group.
-- source: document 001, JoinGroup phase; document 003, the group's state machine
-- id: R12-all | rows: generations | unit: members | measured: with a JoinGroup for it | low: has
--   members that sent no JoinGroup for it | high: has fewer members than sent a JoinGroup for it |
--   protocols: classic | kind: broker, in passing, compares clocks
--
-- Generations by the coordinator's line, and the members that were answered a JoinGroup with each.
-- A static member that does not join again is kept all the same.

WITH asked AS (
    SELECT g.*, count(DISTINCT j.member_id) AS asked
    FROM {generations} g LEFT JOIN {joins} j ON same(j, g, broker, generation)
     AND in_time_of(g, j.processed_at)
     AND j.arrived_at
         <= after(IF(j.instance_id IS NULL, :STAMP_LATE_MS, :slack_ms), g.joined_at)
    -- One that dies just then gives no answer.
    LEFT ANTI JOIN {broker_faults} f
      ON f.killed AND f.resolved = concat('broker-', g.broker)
     AND f.injecting_at <= after(:STAMP_LATE_MS, g.joined_at)
     AND coalesce(f.injected_at, f.injecting_at) >= g.joined_at
    WHERE g.event = 'stabilized' AND g.members > 0
    GROUP BY ALL
), kept AS (
    SELECT a.number, count(*) AS kept
    FROM asked a JOIN {memberships} m
      ON m.instance_id IS NOT NULL AND m.joined_at <= a.joined_at
     AND (m.removed_at IS NULL OR m.removed_at >= a.joined_at)
    LEFT ANTI JOIN {joins} j
      ON same(j, a, broker, generation) AND j.member_id = m.member_id
     AND in_time_of(a, j.processed_at)
    GROUP BY a.number
)
SELECT concat('generation ', a.generation) AS subject, a.joined_at AS at,
       a.asked AS measured, a.members AS bound_low, a.members AS bound_high,
       IF(a.asked + k.kept = a.members,
          clause(k.kept, ' static members did not join again and were kept'), NULL)
           AS excused,
       concat('it has ', a.members, ' members') AS note, a.evidence
FROM asked a LEFT JOIN kept k ON k.number = a.number
