-- Each of the three timers has an effect of its own
-- The coordinator removes a member only after session.timeout.ms without a sign of life. A member
-- leaves by itself only when it closes, or after max.poll.interval.ms without a poll.
-- heartbeat.interval.ms decides neither.
-- why: A user who raises the wrong one of the three timers goes on losing members.
-- source: document 001, session.timeout.ms, heartbeat.interval.ms and max.poll.interval.ms
-- id: R16 | rows: removals | unit: ms | measured: of silence, or without a poll | low: was removed
--   before one of its timers ran out | protocols: classic
--

-- Law: who is removed was silent for a session, or unpolled for a max.poll.interval.ms, or closes.

WITH {WEIGHED}, reasons AS (
    SELECT r.member, r.removed_at AS at, r.removed_by = 'evicted' AS evicted, r.evidence,
           m.session_timeout_ms - :slack_ms AS session_ms,
           m.max_poll_interval_ms - :poll_ms - :slack_ms AS limit_ms,
           e.silence_ms, IF(e.may_be_short, e.span, NULL) AS span,
           count_if(c.event = 'closing') > 0 AS closing,
           max(ms_between(c.event_at, r.removed_at)) FILTER (
               WHERE c.event IN ('stall_started', 'callback_stall_started')
               AND after(c.duration_ms, c.event_at) >= r.removed_at) AS unpolled_ms
    FROM {memberships} r JOIN {members} m ON m.member = r.member
    LEFT JOIN weighed e ON e.member_id = r.member_id
    LEFT JOIN {client_events} c
      ON c.member = r.member AND c.event_at <= after(:rounding_ms, r.removed_at)
    WHERE r.removed_by IN ('evicted', 'left') GROUP BY ALL
)
SELECT concat(member, IF(evicted, ' (evicted)', ' (left)')) AS subject, at,
       IF(evicted, silence_ms, unpolled_ms) AS measured,
       CASE WHEN evicted THEN session_ms WHEN NOT closing THEN limit_ms END AS bound_low,
       CASE WHEN evicted AND silence_ms IS NULL
            THEN 'no sign of life before the eviction is on record'
            WHEN evicted THEN span END AS unknown,
       CASE WHEN NOT evicted AND NOT closing AND unpolled_ms IS NULL
            THEN 'left the group, although it neither closed nor stalled' END AS wrong,
       CASE WHEN NOT evicted AND closing THEN 'it was closing' END AS note, evidence
FROM reasons
