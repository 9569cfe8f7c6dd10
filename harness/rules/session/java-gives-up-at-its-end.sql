-- Java gives up its coordinator when its session ends
-- The Java client marks its coordinator unknown one session timeout after the last heartbeat
-- answer. It may be late by the 100 ms of its timer and one poll of the application, because a poll
-- holds the network connection that both threads share. So does a commit for as long as the
-- application waits for its answer.
-- why: The client looks for another coordinator only from then on.
-- source: document 000, AbstractCoordinator (HeartbeatThread); session.timeout.ms
-- id: R06-java | rows: client session time-outs | unit: ms | measured: after the last answer | low:
--   gave up its coordinator too early | high: gave up its coordinator too late | clients: java |
--   protocols: classic | delayed by: member, toxiproxy, broker
--
-- From what gave the client a new session last: an answer, a join, or a coordinator found. Where a
-- commit waited and heartbeats were 2 s apart, 4.4.0 took 9.1 and 9.3 s in a session of 6 s. The
-- thread of the heartbeats reads one answer each time that it looks (Selector): the answers to
-- heartbeats that were sent while a SyncGroup waited come behind its own.

{SESSION_ANSWERS}
armed AS (
    -- An answer is on its way for a while; its own note is at once.
    SELECT member, answered_at AS at, api AS what,
           after(:slack_ms + IF(api = 'HEARTBEAT', :READ_MS, 0), answered_at) AS known_at
    FROM answers
    WHERE api IN ('HEARTBEAT', 'JOIN_GROUP') AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
    UNION ALL
    SELECT member, event_at, 'a coordinator found', event_at FROM {client_events}
    WHERE event = 'coordinator_found'
), heard AS (
    SELECT e.member, e.event_at AS at, max(a.at) AS heard_at,
           max_by(a.what, struct(a.at, a.what)) AS what
    FROM {client_events} e LEFT JOIN armed a
      ON a.member = e.member AND a.known_at <= e.event_at
    WHERE e.event = 'session_timed_out'
    GROUP BY e.member, e.event_at
), {EXCUSES}, due AS (
    SELECT h.member, h.at, h.heard_at, h.what,
           greatest(:session_ms + e.doubt_ms, e.stopped_ms) + :timer_late_ms + :poll_ms
               + :slack_ms AS high
    FROM heard h JOIN excuses e ON same(e, h, member, at)
)
SELECT d.member AS subject, d.at, ms_between(heard_at, d.at) AS measured,
       :session_ms - :slack_ms AS bound_low, high AS bound_high,
       CASE WHEN heard_at IS NULL THEN 'nothing before it is on record' END AS unknown,
       CASE WHEN ms_between(heard_at, d.at) > high AND c.member IS NOT NULL
            THEN 'its application waited for a commit' END AS excused,
       concat('since ', what) AS note,
       guard_from(after(:session_ms, heard_at), d.at) AS guard_from,
       guard_to(d.at) AS guard_to
FROM due d LEFT JOIN {awaited_commits} c
  ON c.member = d.member AND c.asked_at <= after(high, heard_at)
 AND coalesce(c.answered_at >= after(high, heard_at), true)
