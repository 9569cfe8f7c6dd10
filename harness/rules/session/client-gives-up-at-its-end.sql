-- A client gives up when its session ends
-- The Java client marks its coordinator unknown one session timeout after the last heartbeat
-- answer. It may be late by the 100 ms of its timer and one poll of the application, because a poll
-- holds the network connection that both threads share. So does a commit for as long as the
-- application waits for its answer. librdkafka ends its session within 500 ms after a session
-- timeout without an answer to a heartbeat. Its application hears within a second, or when it polls
-- next, that its assignment is lost.
-- why: From then on Java looks for another coordinator, and an application of librdkafka knows that
--   another member may process its partitions.
-- source: document 000, AbstractCoordinator (HeartbeatThread); session.timeout.ms; librdkafka
--   rdkafka_cgrp.c (SESSTMOUT)
-- id: R06-client | was: R06-java, R06-librdkafka | rows: client session time-outs | unit: ms |
--   measured: after the last answer | low: gave up too early | high: gave up too late | protocols:
--   classic | delayed by: member, toxiproxy, broker
--
-- Java's counts from what gave the client a new session last: an answer, a join, or a coordinator
-- found. Where a commit waited and heartbeats were 2 s apart, 4.4.0 took 9.1 and 9.3 s in a session
-- of 6 s. The thread of the heartbeats reads one answer each time that it looks (Selector): the
-- answers to heartbeats that were sent while a SyncGroup waited come behind its own. librdkafka's
-- counts from the last accepted request whose answer can have arrived.
--
-- How much longer than from the last answer that it surely had (`heard_at`) a client may take:
-- until an answer that it may have had as well (`doubt_ms`), and until it went on where it had been
-- stopped (`stopped_ms`), since a process that is stopped looks at no timer.

{SESSION_ANSWERS}{TIME_OUTS}
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
    SELECT t.member, t.at, t.duration_ms, t.lost_at, max(a.answered_at) AS heard_at,
           CAST(NULL AS STRING) AS what
    FROM time_outs t LEFT JOIN answers a
      ON a.member = t.member AND a.answered_at <= after(-:slack_ms, t.at)
     AND a.api <> 'OFFSET_COMMIT'
     AND (a.error_code = :NONE
          OR a.api = 'HEARTBEAT' AND a.error_code = :REBALANCE_IN_PROGRESS)
    WHERE :client <> 'java' GROUP BY t.member, t.at, t.duration_ms, t.lost_at
    UNION ALL
    SELECT t.member, t.at, NULL, NULL, max(a.at), max_by(a.what, struct(a.at, a.what))
    FROM time_outs t LEFT JOIN armed a ON a.member = t.member AND a.known_at <= t.at
    WHERE :client = 'java' GROUP BY t.member, t.at
), excuses AS (
    SELECT h.member, h.at, coalesce(max(ms_between(h.heard_at, d.answered_at)), 0) AS doubt_ms,
           coalesce(max(ms_between(h.heard_at, f.healed_at)), 0) AS stopped_ms
    FROM heard h LEFT JOIN doubtful d
      ON d.member = h.member AND d.answered_at BETWEEN h.heard_at AND h.at
     AND d.api <> 'OFFSET_COMMIT' AND d.error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
    LEFT JOIN {fault_windows} f
      ON f.resolved = h.member AND f.breaks = 'member' AND f.disturbs_heartbeats
     AND NOT f.ends_member AND NOT f.link_cut
     AND f.injecting_at <= h.at AND f.healed_at >= h.heard_at
    GROUP BY h.member, h.at
), due AS (
    SELECT h.*, greatest(:session_ms + e.doubt_ms, e.stopped_ms) + :slack_ms
                    + IF(:client = 'java', :timer_late_ms + :poll_ms, 500) AS high
    FROM heard h JOIN excuses e ON same(e, h, member, at)
)
SELECT d.member AS subject, d.at, ms_between(heard_at, d.at) AS measured,
       :session_ms - :slack_ms AS bound_low, high AS bound_high,
       IF(heard_at IS NULL, 'nothing before it is on record', NULL) AS unknown,
       IF(:client <> 'java' AND lost_at IS NULL, 'did not declare its assignment lost', NULL)
           AS wrong,
       IF(:client = 'java' AND ms_between(heard_at, d.at) > high AND c.member IS NOT NULL,
          'its application waited for a commit', NULL) AS excused,
       coalesce(concat('since ', what),
                concat('its own log says ', CAST(round(duration_ms) AS INT), ' ms')) AS note,
       guard_from(after(:session_ms, heard_at), d.at) AS guard_from,
       guard_to(d.at) AS guard_to
FROM due d LEFT JOIN {awaited_commits} c
  ON c.member = d.member AND c.asked_at <= after(high, heard_at)
 AND coalesce(c.answered_at >= after(high, heard_at), true)
