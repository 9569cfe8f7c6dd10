-- What becomes of a member whose application does not poll, and of its heartbeats.

-- let LEFT_BY_LIMIT
--   Stalls past max.poll.interval.ms that begin with `event`, and when their members left. A member
--   that is stopped, cut off, or ended by a fault before it had to cannot leave.
WITH stalls AS (
    SELECT e.member, e.event_at AS at, e.duration_ms,
           CAST(m.max_poll_interval_ms AS BIGINT) AS limit_ms
    FROM {client_events} e JOIN {members} m USING (member)
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = e.member, true) AND d.to_at >= e.event_at
     AND d.from_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
    LEFT ANTI JOIN {fault_windows} f
      ON f.resolved = e.member AND (f.ends_member OR f.killed)
     AND f.injecting_at >= e.event_at
     AND f.injecting_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
    {NOT_JOINING}
    WHERE e.event = '{EVENT}' AND e.duration_ms > m.max_poll_interval_ms
      AND m.instance_id IS NULL
), leaves AS (
    SELECT s.*, min(r.arrived_at) AS left_at,
           min_by(r.member_id, struct(r.arrived_at, r.evidence)) AS member_id,
           min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
    FROM stalls s LEFT JOIN {requests} r
      ON r.client_id = s.member AND r.arrived_at > s.at
     AND (r.api = 'LEAVE_GROUP' OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
     AND r.arrived_at <= after(s.duration_ms + 1000, s.at)
    GROUP BY ALL
), judged AS (
    SELECT l.*, count(v.member_id) AS evictions,
           coalesce(l.left_at, after(l.limit_ms + :timer_late_ms, l.at)) AS seen_at
    FROM leaves l LEFT JOIN {evictions} v
      ON v.member = l.member AND v.evicted_at > l.at
     AND (v.member_id = l.member_id OR l.left_at IS NULL)
     AND v.evicted_at <= after(l.duration_ms + :session_ms + 1000, l.at)
    GROUP BY ALL
)
SELECT concat(member, ' (stall)') AS subject, at, ms_between(at, left_at) AS measured,
       limit_ms - :poll_ms - :slack_ms AS bound_low,
       limit_ms + :timer_late_ms + :slack_ms AS bound_high,
       CASE WHEN evictions > 0 THEN 'was evicted instead of leaving by itself'
            WHEN left_at IS NULL THEN 'did not leave the group' END AS wrong,
       'left too early' AS too_low, 'left too late' AS too_high, evidence,
       guard_from(after(limit_ms, at), seen_at) AS guard_from,
       guard_to(seen_at) AS guard_to
FROM judged

-- let NOT_JOINING
--   It follows on a table of events named e, and leaves out those during which a JoinGroup of
--   Java's waited for its answer: its heartbeat thread sleeps then, and the poll that reads the
--   answer begins the time anew (AbstractCoordinator, HeartbeatThread).
LEFT ANTI JOIN {own_requests} j
  ON :client = 'java' AND j.member = e.member AND j.api = 'JOIN_GROUP'
 AND j.arrived_at <= e.event_at AND j.processed_at >= e.event_at
