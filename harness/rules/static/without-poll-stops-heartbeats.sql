-- A static member that does not poll stops its heartbeats
-- A static member whose application does not poll for max.poll.interval.ms does not leave. It stops
-- its heartbeats, and is evicted one session timeout later.
-- why: The partitions of a stuck static member are not processed for both timeouts together.
-- source: KIP-345; max.poll.interval.ms
-- id: X04 | rows: stalls longer than max.poll.interval.ms plus the session | unit: ms | measured:
--   from the last poll to the eviction | low: was evicted too early | high: was evicted too late |
--   protocols: classic | delayed by: member, toxiproxy, broker
--
-- The last heartbeat goes out within one interval (kept as well as the client keeps it) before the
-- client looks at its limit, and the session counts from there. A client may count from the start
-- of a poll, and a stall begins at its end.

WITH stalls AS (
    SELECT e.member, e.event_at AS at, e.duration_ms,
           m.max_poll_interval_ms - :poll_ms - :slack_ms - :heartbeat_ms - :cadence_ms
               + m.session_timeout_ms AS low,
           CAST(m.max_poll_interval_ms AS BIGINT) + :timer_late_ms + m.session_timeout_ms
               + :slack_ms AS high
    FROM {client_events} e JOIN {members} m USING (member)
    WHERE e.event = 'stall_started' AND m.instance_id IS NOT NULL AND m.sabotage IS NULL
), ended AS (
    SELECT s.*, count(r.arrived_at) AS leaves, min(struct(e.evicted_at, e.evidence)) AS eviction,
           coalesce(min(e.evicted_at), after(s.high, s.at)) AS ended_at
    FROM stalls s LEFT JOIN {own_requests} r
      ON r.api = 'LEAVE_GROUP' AND r.member = s.member AND r.arrived_at > s.at
     AND r.arrived_at <= after(s.duration_ms + 1000, s.at)
    LEFT JOIN {evictions} e
      ON e.member = s.member AND e.evicted_at > s.at
     AND e.evicted_at <= after(s.duration_ms + 1000, s.at)
    WHERE s.duration_ms > s.high
    GROUP BY ALL
)
SELECT concat(member, ' (stall)') AS subject, at,
       ms_between(at, eviction.evicted_at) AS measured, low AS bound_low,
       high AS bound_high,
       CASE WHEN leaves > 0 THEN 'left the group by itself'
            WHEN eviction.evicted_at IS NULL THEN 'was not evicted' END AS wrong,
       eviction.evidence, guard_from(after(low, at), ended_at) AS guard_from,
       guard_to(ended_at) AS guard_to
FROM ended
