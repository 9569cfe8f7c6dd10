-- A failed heartbeat is repeated after a backoff
-- The heartbeat after a failed one is sent after a backoff, not after a whole
-- heartbeat.interval.ms. The backoff is retry.backoff.ms, and grows to retry.backoff.max.ms with 20
-- % jitter.
-- why: One lost heartbeat does not use up a third of the session.
-- source: document 000, Heartbeat; document 004, HeartbeatThread; KIP-580
-- id: R09 | rows: failed heartbeats | unit: ms | measured: to the next heartbeat | high: repeated
--   its heartbeat too late | clients: java | protocols: classic | delayed by: member, toxiproxy,
--   brokers
--
-- Several heartbeats that fail together are one thing. A member that has to join anew first, or
-- closes, has nothing to repeat. The heartbeat thread waits while the application waits for the
-- answer to a commit: with 4.4.0 and an interval of 2 s heartbeats were 4.0 s apart.

WITH failed AS (
    SELECT member, event_at AS at FROM {client_events} WHERE event = 'heartbeat_failed'
    UNION ALL
    SELECT member, answered_at FROM {heard_requests}
    WHERE api = 'HEARTBEAT' AND error_code IN ({NOT_READY})
), retried AS (
    SELECT f.member, f.at, min(s.event_at) AS sent_at
    FROM failed f JOIN {client_events} s
      ON s.member = f.member AND s.event = 'heartbeat_sent' AND s.event_at > f.at
    GROUP BY f.member, f.at
), found AS (
    SELECT r.member, r.sent_at, max(r.at) AS at, greatest(max(r.at), max(f.event_at)) AS ready_at,
           :retry_ms + :timer_late_ms + :slack_ms AS high
    FROM retried r LEFT ANTI JOIN {client_events} c
      ON c.member = r.member AND c.event IN ('lost', 'revoked', 'assigned', 'closing')
     AND c.event_at > r.at AND c.event_at <= r.sent_at
    LEFT JOIN {client_events} f
      ON f.member = r.member AND f.event = 'coordinator_found'
     AND f.event_at > r.at AND f.event_at <= r.sent_at
    GROUP BY r.member, r.sent_at
)
SELECT f.member AS subject, sent_at AS at, ms_between(ready_at, sent_at) AS measured,
       high AS bound_high,
       CASE WHEN ms_between(ready_at, sent_at) > high AND c.member IS NOT NULL
            THEN 'its application waited for a commit' END AS excused,
       IF(ready_at > at, 'since it found its coordinator again', 'since the failure')
           AS note,
       CASE WHEN ms_between(ready_at, sent_at) > high THEN ready_at END AS guard_from,
       sent_at AS guard_to
FROM found f LEFT JOIN {awaited_commits} c
  ON c.member = f.member AND c.asked_at <= after(high, ready_at)
 AND coalesce(c.answered_at >= after(high, ready_at), true)
