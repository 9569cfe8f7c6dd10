-- What is asked of a program of somebody else's: how its processes come, go and come back.

-- let OUTSIDE
--   Processes that the coordinator put out of the group while they ran: when they could know it,
--   and when they were back or gone.
WITH put_out AS (
    SELECT r.member, r.member_id, r.removed_at, r.evidence, m.ended_at, m.exit_code,
           m.told_at, m.`end`
    FROM {removals} r JOIN {members} m ON m.member = r.member AND m.role = 'consumer'
    WHERE r.removed_by IN ('evicted', 'fenced') AND r.removed_at < :stopped_at
      AND (m.ended_at IS NULL OR m.ended_at > r.removed_at)
), knowing AS (
    SELECT p.member, p.member_id, p.removed_at, p.evidence, p.ended_at, p.exit_code,
           p.told_at, p.`end`,
           greatest(p.removed_at,
                    max(IF(f.fault IS NULL, p.removed_at,
                           coalesce(f.healed_at, :stopped_at)))) AS knows_at
    FROM put_out p LEFT JOIN {fault_windows} f
      ON f.injecting_at <= p.removed_at
     AND (f.resolved = p.member
          AND (f.disturbs_heartbeats OR f.link_cut OR f.breaks = 'dependency')
          -- Of all processes at once.
          OR f.breaks = 'dependency' AND f.resolved NOT LIKE 'member-%')
     AND coalesce(f.healed_at, :stopped_at) > p.removed_at
    GROUP BY ALL
), outside AS (
    SELECT k.member, k.member_id, k.removed_at, k.evidence, k.ended_at, k.exit_code,
           k.told_at, k.knows_at,
           min(j.processed_at) AS back_at,
           IF(k.ended_at < :stopped_at, k.ended_at, NULL) AS gone_at
    FROM knowing k LEFT JOIN {own_requests} j
      ON j.member = k.member AND j.processed_at > k.removed_at AND j.error_code = :NONE
     AND (j.api = 'SYNC_GROUP'
          OR j.api = 'CONSUMER_GROUP_HEARTBEAT' AND j.member_epoch > 0
             AND j.generation = 0)
    GROUP BY ALL
)

-- let BACK_MS = 30000
--   A process that was put out of the group and knows it is back within this time, or gone: clients
--   wait up to a second before they try again, and joining takes one rebalance.

-- let LATE_MS = 1000
--   What a process sent before its end may arrive after it, and counts as a sign of life.
