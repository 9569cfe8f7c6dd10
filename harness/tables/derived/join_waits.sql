-- Join phases that a member got through, one row each: its JoinGroup waited for their end.
--
-- A request that is never answered has no line. But when a phase ends, the coordinator removes the
-- dynamic members that have not joined; so where the generation has as many members as the group,
-- each of them had joined, answered or not. A phase that its coordinator did not live to end, or
-- that the record does not see end, has no `generation`, and removed no member. A static member
-- (`instance_id`) stays until its session ends, so it may have joined.
--
-- Law: who has joined is alive until the join phase ends, and has a full session from then on.

WITH phases AS (
    SELECT broker, generation, members, started_at AS from_at, joined_at AS to_at, evidence
    FROM {generations} WHERE event = 'stabilized' AND started_at IS NOT NULL
    UNION ALL
    SELECT s.broker, NULL, NULL, s.at, t.to_at, s.evidence
    FROM {coordinator_events} s JOIN {tenures} t
      ON t.broker = s.broker AND s.at >= t.from_at
     AND (t.next_at IS NULL OR s.at < t.next_at)
    LEFT ANTI JOIN {coordinator_events} d
      ON d.`group` = :group AND d.broker = s.broker AND d.at >= s.at
     AND (t.next_at IS NULL OR d.at < t.next_at)
     AND d.event IN ('stabilized', 'emptied')
    WHERE s.`group` = :group AND s.event = 'rebalance_started'
), present AS (
    SELECT p.*, m.member_id, m.member, m.instance_id,
           count(*) OVER (PARTITION BY p.broker, p.from_at, p.to_at) AS present
    FROM phases p JOIN {memberships} m
      ON m.joined_at <= p.to_at AND (m.removed_at IS NULL OR m.removed_at > p.to_at)
)
SELECT member_id, member, instance_id, broker, generation, from_at, to_at, evidence
FROM present WHERE coalesce(present = members, true)
