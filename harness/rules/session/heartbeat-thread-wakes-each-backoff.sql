-- Java's heartbeat thread wakes up every retry.backoff.ms
-- Java's heartbeat thread looks at its timers every retry.backoff.ms, not every
-- heartbeat.interval.ms. So it notices a missed poll at most 100 ms late, where librdkafka takes up
-- to 500 ms.
-- why: A longer heartbeat interval does not delay the detection of a stall.
-- source: document 004, HeartbeatThread (retryBackoffMs)
-- id: R36 | rows: missed polls | unit: ms | measured: after max.poll.interval.ms | low: was noticed
--   too early | high: was noticed too late | clients: java | protocols: classic | delayed by:
--   member, toxiproxy, broker

WITH noticed AS (
    SELECT e.member, e.event_at AS at, m.max_poll_interval_ms AS limit_ms,
           max(s.event_at) AS stalled_at
    FROM {client_events} e JOIN {members} m ON m.member = e.member
    JOIN {client_events} s
      ON s.member = e.member AND s.event = 'stall_started' AND s.event_at < e.event_at
    WHERE e.event = 'max_poll_exceeded'
    GROUP BY e.member, e.event_at, m.max_poll_interval_ms
)
SELECT concat(member, ' (stall)') AS subject, at,
       ms_between(stalled_at, at) - limit_ms AS measured,
       -:poll_ms - :slack_ms AS bound_low, :timer_late_ms + :slack_ms AS bound_high,
       concat('with a heartbeat interval of ', :heartbeat_ms, ' ms') AS note,
       guard_from(after(limit_ms, stalled_at), at) AS guard_from, guard_to(at) AS guard_to
FROM noticed
