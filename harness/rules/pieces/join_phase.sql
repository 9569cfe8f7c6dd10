-- How long a rebalance waits for members, and for whom.

-- let PHASES
--   Each join phase, with the least and the largest rebalance timeout of the members at its start,
--   when the coordinator sets its timer (GroupMetadataManager.prepareRebalance). `wait_ms` is how
--   long it waits: for the largest timeout, and, if no member has joined by then and static members
--   are left, again and again for the largest of those (completeClassicGroupJoin). `late_ms` is by
--   how much the first came after the largest; one that came within the slack of it may have come
--   before. A coordinator that is stopped looks at no timer.
WITH asked AS (
    -- Kafka allows 2^31 - 1 ms, which leaves no room to add to.
    SELECT member_id, CAST(max(rebalance_timeout_ms) AS BIGINT) AS timeout_ms,
           min(arrived_at) AS arrived_at
    FROM {joins} WHERE rebalance_timeout_ms IS NOT NULL GROUP BY member_id
), timers AS (
    SELECT g.*, ms_between(g.started_at, g.joined_at) AS ms,
           min(a.timeout_ms) AS least_ms, max(a.timeout_ms) AS most_ms,
           max(a.timeout_ms) FILTER (WHERE m.instance_id IS NOT NULL) AS again_ms
    FROM {generations} g JOIN {memberships} m
      ON m.joined_at <= g.joined_at AND (m.removed_at IS NULL OR m.removed_at >= g.started_at)
    JOIN asked a
      ON a.member_id = m.member_id AND least(a.arrived_at, m.joined_at) <= g.started_at
    LEFT ANTI JOIN {stopped_brokers} b
      ON b.broker = g.broker AND b.from_at <= g.joined_at AND b.to_at >= g.started_at
    WHERE g.started_at IS NOT NULL GROUP BY ALL
), begun AS (
    SELECT t.*, ms_between(t.started_at, min(j.arrived_at)) - t.most_ms AS late_ms
    FROM timers t LEFT JOIN {joins} j
      ON same(j, t, broker, generation) AND j.arrived_at <= after(:slack_ms, t.joined_at)
     AND in_time_of(t, j.processed_at)
    GROUP BY ALL
), phases AS (
    SELECT *, after(wait_ms, started_at) AS due_at
    FROM (SELECT *, most_ms + coalesce(again_ms * greatest(0, 1 + floor(
                        (late_ms + :slack_ms) / again_ms)), 0) AS wait_ms
          FROM begun)
), stragglers AS (
    SELECT p.generation, p.started_at, p.joined_at, p.most_ms, p.late_ms, s.member_id, s.member,
           s.removed_at, s.instance_id, s.evidence, after(p.most_ms, p.started_at) AS due_at
    FROM phases p JOIN {memberships} s
      ON s.removed_by = 'stragglers_removed' AND s.removed_at > p.started_at
     AND s.removed_at <= after(:rounding_ms, p.joined_at)
)
