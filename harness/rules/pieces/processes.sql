-- How the processes of a program come, go and come back.

-- let OUTSIDE
--   Processes that the coordinator put out of the group while they ran: when they could know it,
--   and when they were back or gone. While a fault hits a process it cannot know.
WITH put_out AS (
    SELECT r.member, r.member_id, r.removed_at, r.evidence, m.ended_at, m.exit_code, m.told_at
    FROM {removals} r JOIN {members} m ON m.member = r.member AND m.role = 'consumer'
    WHERE r.removed_by IN ('evicted', 'fenced') AND r.removed_at < :stopped_at
      AND (m.ended_at IS NULL OR m.ended_at > r.removed_at)
), knowing AS (
    SELECT p.*, greatest(p.removed_at, max(IF(f.fault IS NULL, p.removed_at,
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
    SELECT k.*, min(j.processed_at) AS back_at,
           IF(k.ended_at < :stopped_at, k.ended_at, NULL) AS gone_at
    FROM knowing k LEFT JOIN {own_requests} j
      ON j.member = k.member AND j.processed_at > k.removed_at AND j.error_code = :NONE
     AND (j.api = 'SYNC_GROUP'
          OR j.api = 'CONSUMER_GROUP_HEARTBEAT' AND j.member_epoch > 0 AND j.generation = 0)
    GROUP BY ALL
)

-- let FAULTS
--   Faults, until what they did has shown, a session timeout later.
SELECT concat(kind, coalesce(concat(' of ', resolved), '')) AS what, injecting_at AS from_at,
       after(:session_ms + :LATE_MS, coalesce(healed_at, failed_at, injected_at, injecting_at))
           AS to_at
FROM {fault_windows} WHERE injecting_at IS NOT NULL

-- let BACK_MS = 30000
--   A process that was put out of the group and knows it is back within this time, or gone: clients
--   wait up to a second before they try again, and joining takes one rebalance.

-- let LATE_MS = 1000
--   What a process sent before its end may arrive after it, and counts as a sign of life.
