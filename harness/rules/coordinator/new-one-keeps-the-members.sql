-- A new coordinator keeps the members
-- The broker that takes over a group loads its members: generation and assignments stay, and every
-- session starts anew.
-- why: Consumers survive the loss of their coordinator, but cannot commit until then.
-- source: GroupMetadataManager.onLoaded; group protocol, coordinator failover
-- id: X12 | rows: members at a failover | unit: ms | measured: without a coordinator
--
-- A change begins with the fault that hit the former coordinator, else with the last sign that this
-- was at work. A member that had died before then is not examined. One that had been given its part
-- was stored with it, so the next coordinator has to load it, by the number of members that it
-- logs. R01 is about when sessions end after that, and X70 about a member that is not known.
--
-- A librdkafka member counts its session too, from its last answered heartbeat, and gives all up by
-- itself where that ends before another coordinator has answered it (R06-client). A rebalance that
-- was under way goes on: who had heard of it, or waited in it, joins again.

WITH spans AS (
    SELECT t.tenure AS span, t.broker, t.from_at AS loaded_at, t.members,
           coalesce(max(f.injected_at), t.to_at_before) AS from_at,
           after(2000, t.from_at) AS to_at
    FROM {tenures} t LEFT JOIN {broker_faults} f
      ON f.resolved = concat('broker-', t.broker_before)
     AND f.injected_at <= t.from_at AND f.injected_at >= after(-60000, t.from_at)
    WHERE t.loaded AND coalesce(t.members > 0, true) AND t.broker_before IS NOT NULL
    GROUP BY t.tenure, t.broker, t.from_at, t.to_at_before, t.members
), kept AS (
    SELECT s.*, m.member, m.member_id,
           coalesce(m.session_timeout_ms, :session_ms) AS session_ms
    FROM spans s JOIN {memberships} m
      ON m.joined_at < s.from_at AND (m.removed_at IS NULL OR m.removed_at >= s.from_at)
    LEFT ANTI JOIN {fault_windows} f
      ON f.resolved = m.member AND f.killed AND f.ends_member AND f.injecting_at <= s.to_at
), callbacks AS (
    SELECT k.*, min(struct(c.event_at, c.event)) AS first
    FROM kept k LEFT JOIN {client_events} c
      ON c.member = k.member AND c.event IN ('revoked', 'lost')
     AND c.event_at >= k.from_at AND c.event_at <= k.to_at
    GROUP BY ALL
), timed_out AS (
    SELECT k.span, k.member_id, min(e.event_at) AS at
    FROM callbacks k JOIN {client_events} e
      ON e.member = k.member AND e.event = 'session_timed_out'
     AND e.event_at >= after(-k.session_ms, k.from_at)
     AND e.event_at <= after(:rounding_ms,
                             coalesce(k.first.event_at, after(2000, k.loaded_at)))
    LEFT ANTI JOIN {own_requests} h
      ON h.member_id = k.member_id AND h.api = 'HEARTBEAT' AND h.error_code = :NONE
     AND h.answered_at > after(:slack_ms - k.session_ms, e.event_at)
     -- One that came just before was on its way still.
     AND h.answered_at <= after(-:slack_ms, e.event_at)
    GROUP BY k.span, k.member_id
), under_way AS (
    SELECT s.span FROM spans s JOIN {coordinator_events} e
      ON e.`group` = :group AND e.at < s.from_at
     AND e.event IN ('rebalance_started', 'assignment_received', 'emptied')
    GROUP BY s.span
    HAVING max_by(e.event, struct(e.at, e.event)) = 'rebalance_started'
), given AS (
    SELECT member_id, min(answered_at) AS at FROM {own_requests}
    WHERE error_code = :NONE AND (api = 'SYNC_GROUP'
          OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation > 0)
    GROUP BY member_id
), stored AS (
    SELECT k.*, count(*) OVER (PARTITION BY k.span) AS stored
    FROM kept k JOIN given g ON g.member_id = k.member_id AND g.at < k.from_at
)
{REBALANCES}, of_others AS (
    SELECT DISTINCT c.span, c.member_id
    FROM callbacks c JOIN elsewhere x
      ON x.from_at <= after(:slack_ms, c.first.event_at)
     AND x.to_at >= after(-:slack_ms, c.first.event_at)
)
SELECT concat(k.member, ' at broker-', k.broker) AS subject, k.loaded_at AS at,
       ms_between(k.from_at, k.loaded_at) AS measured,
       CASE WHEN l.stored > l.members
            THEN clause('is one of ', l.stored, ' stored members, of whom the next ',
                        'coordinator loaded ', l.members)
            WHEN k.first.event IS NOT NULL AND o.at IS NULL AND w.span IS NULL
                 AND x.span IS NULL
            THEN clause('had its assignment ', k.first.event)
            WHEN r.rebalances > 0 AND p.at IS NULL AND w.span IS NULL
            THEN clause('had to rebalance',
                        coalesce(concat('; logged reason: ', r.first.reason), ''))
            END AS wrong,
       CASE WHEN o.at IS NOT NULL
            THEN clause('its own session had ended ',
                        CAST(abs(round(ms_between(o.at, k.loaded_at))) AS INT),
                        IF(o.at > k.loaded_at, ' ms after', ' ms before'),
                        ' the group was loaded')
            WHEN w.span IS NOT NULL THEN 'a rebalance was under way' END AS note
FROM callbacks k JOIN rebalanced r USING (span)
LEFT JOIN of_others x USING (span, member_id)
LEFT JOIN stored l USING (span, member_id)
LEFT JOIN timed_out o USING (span, member_id)
LEFT JOIN under_way w USING (span)
LEFT JOIN (SELECT span, min(at) AS at FROM timed_out GROUP BY span) p USING (span)
