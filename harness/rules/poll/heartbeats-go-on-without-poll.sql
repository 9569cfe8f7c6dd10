-- Heartbeats do not depend on poll
-- The heartbeats of a member go on as before while its application processes for longer than the
-- session timeout, but less than max.poll.interval.ms.
-- why: A long batch alone does not cost a consumer its session.
-- source: document 004, HeartbeatThread; KIP-62
-- id: R34 | was not: R18 | rows: stalls longer than the session and shorter than
--   max.poll.interval.ms | unit: ms | measured: between heartbeats at most | high: stopped its
--   heartbeats for too long | needs: stall within max poll | delayed by: member, toxiproxy, broker
--
-- Gaps that touch the stall, and the one to its end. A stall in which a fault held up heartbeats is
-- not examined.

WITH slow AS (
    -- It ends with the process at the latest.
    SELECT e.member, e.event_at AS at,
           least(e.duration_ms, min(ms_between(e.event_at, f.injecting_at))) AS ms,
           least(after(e.duration_ms, e.event_at), min(f.injecting_at)) AS to_at
    FROM {client_events} e JOIN {members} m USING (member)
    LEFT JOIN {fault_windows} f
      ON f.resolved = e.member AND f.killed AND f.injecting_at >= e.event_at
    WHERE e.event = 'stall_started'
    GROUP BY e.member, e.event_at, e.duration_ms, m.session_timeout_ms, m.max_poll_interval_ms
    HAVING ms > m.session_timeout_ms AND ms < m.max_poll_interval_ms
), gaps AS (
    SELECT s.member, s.at, s.to_at, count(h.at) AS heartbeats,
           max(struct(coalesce(h.gap_ms, ms_between(s.at, h.at)) AS ms, h.at)) AS pause,
           ms_between(coalesce(max(h.at), s.at), s.to_at) AS rest_ms,
           :heartbeat_ms + :cadence_ms AS high
    FROM slow s LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = s.member, true) AND d.from_at <= s.to_at AND d.to_at >= s.at
    LEFT JOIN {heartbeats} h
      ON h.member = s.member AND h.at >= s.at AND h.at <= s.to_at
     AND h.error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
    GROUP BY s.member, s.at, s.to_at
), longest AS (
    SELECT *, greatest(pause.ms, rest_ms) AS ms,
           IF(pause.ms > rest_ms, pause.at, to_at) AS longest_to
    FROM gaps
)
SELECT concat(member, ' (stall)') AS subject, at, ms AS measured, high AS bound_high,
       concat(heartbeats, ' heartbeats while nothing was polled') AS note,
       IF(ms > high, after(-ms, longest_to), NULL) AS guard_from,
       IF(ms > high, longest_to, to_at) AS guard_to
FROM longest
