-- What the loss of a broker means for a group.

-- let REBALANCES
--   How often the group rebalanced within each of the `spans`, and the first of those rebalances,
--   but for what members caused by themselves. `own` are the times in which one was broken by a
--   fault of its own, and a session after, or ended in order; `elsewhere` those of the rebalances
--   for such a member, by the coordinator's reason, for a process that joined for the first time,
--   or for a topic that changed, until who asks for metadata next has seen it.
, own AS (
    SELECT resolved AS member, injecting_at AS from_at,
           after(:session_ms + :FOUND_OUT_MS, coalesce(healed_at, :ended_at)) AS to_at
    FROM {fault_windows} WHERE took_effect AND resolved LIKE 'member-%'
    UNION ALL
    SELECT member, at, :ended_at FROM {halts} WHERE what = 'close'
), named AS (
    SELECT e.at, e.evidence, e.event, e.reason,
           coalesce(b.named, nullif(regexp_extract(e.reason,
               '([-_.\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), ''))
               AS member_id
    FROM {coordinator_events} e LEFT JOIN {epoch_bumps} b ON same(b, e, at, evidence)
    WHERE e.`group` = :group AND e.event IN ('rebalance_started', 'epoch_bumped')
), firsts AS (
    SELECT member, min(struct(joined_at AS at, member_id)) AS joined
    FROM {memberships} WHERE joined_at IS NOT NULL GROUP BY member
), starts AS (
    SELECT n.at, n.evidence, n.reason,
           count(o.from_at) + count(f.member) + count(t.fault) > 0 AS elsewhere
    FROM named n LEFT JOIN {identities} i ON i.member_id = n.member_id
    LEFT JOIN own o ON o.member = i.member AND o.from_at <= n.at AND o.to_at >= n.at
    LEFT JOIN firsts f
      ON f.joined.member_id = n.member_id AND f.joined.at >= after(-:FOUND_OUT_MS, n.at)
     AND f.joined.at <= after(:slack_ms, n.at)
    LEFT JOIN {fault_windows} t
      ON t.breaks = 'topic' AND t.took_effect AND t.injecting_at <= n.at
     AND after(:metadata_refresh_ms + :heartbeat_ms + :FOUND_OUT_MS, t.injected_at) >= n.at
     AND (n.reason RLIKE '(?i)re-?join|updating metadata'
          OR n.event = 'epoch_bumped' AND n.member_id IS NULL)
    GROUP BY n.at, n.evidence, n.reason
), elsewhere AS (
    SELECT s.at AS from_at, coalesce(max(e.last_at), after(:session_ms, s.at)) AS to_at
    FROM starts s LEFT JOIN {episodes} e ON e.started_at = s.at
    WHERE s.elsewhere GROUP BY s.at
), others AS (
    -- Who gave something up joins again: that belongs to the rebalance before.
    SELECT s.* FROM starts s LEFT ANTI JOIN elsewhere x
      ON s.elsewhere OR s.reason RLIKE '(?i)re-?joining|updating metadata'
     AND x.from_at <= s.at AND x.to_at >= s.at
), rebalanced AS (
    SELECT s.span, count(e.at) AS rebalances, min(struct(e.at, e.evidence, e.reason)) AS first
    FROM spans s LEFT JOIN others e ON e.at >= s.from_at AND e.at <= s.to_at
    GROUP BY s.span
)

-- let FOUND_OUT_MS = 1000
--   How long a group may need to find out that a member is silent, or there again, beside a
--   session.
