-- Java's notes of its heartbeats and its coordinator are true
-- While no link and no broker is disturbed, each heartbeat that a member of a classic group notes
-- that it sends is in the coordinator's request log. The Java client notes in its log that it found
-- a coordinator only if a broker has named that one in answer to its lookup, and that its session
-- timed out only if no heartbeat was answered for that long. It gives its coordinator up for
-- another reason only if that refused it, let it wait for a session, or could not be reached.
-- why: A heartbeat that a proxy or a broker swallows does not renew the session. A client that
--   takes another broker for its coordinator is refused until it looks again. One that gives its
--   coordinator up too early stops to commit.
-- source: AbstractCoordinator, FindCoordinatorResponseHandler, HeartbeatThread and
--   markCoordinatorUnknown; document 004, sendHeartbeatRequest; kafka.request.logger
-- id: X86 | was: X64 | rows: notes | unit: heartbeats | measured: that did not arrive | high: sent
--   heartbeats that did not arrive | clients: java | kind: in passing, compares clocks
--
-- Up to 4.3 the classic client writes 2147483647 less the broker's id, which is how it names the
-- connection. A broker's time of an answer is not that of its arrival where a link is disturbed.
-- What a client gives up once it may give up again, by each of its threads and for each request
-- that was on its way. Heartbeats that were sent as the member, or its run, ended are not examined,
-- nor those behind a JoinGroup or SyncGroup that waited: a broker reads a connection's next request
-- after its answer.

-- let ON_ITS_WAY_MS = 2000
--   How long a heartbeat may be on its way. In the kept runs it was 0.2 s at most, and 0.9 s behind
--   a commit that waited at the broker, on the same connection.

WITH sent AS (
    SELECT s.member, s.event_at AS at FROM {client_events} s
    JOIN {members} m ON m.member = s.member
    LEFT ANTI JOIN {fault_windows} f
      ON f.injecting_at <= after(:ON_ITS_WAY_MS, s.event_at)
     AND after(:session_ms, coalesce(f.healed_at, f.injected_at)) >= s.event_at
     AND (f.disturbs_heartbeats OR f.resolved = s.member)
    LEFT ANTI JOIN {own_requests} w
      ON w.member = s.member AND w.api IN ('JOIN_GROUP', 'SYNC_GROUP')
     AND w.arrived_at <= s.event_at AND w.answered_at >= s.event_at
    WHERE s.event = 'heartbeat_sent' AND :protocol <> 'consumer'
      AND s.event_at < after(-:ON_ITS_WAY_MS, least(m.ended_at, :stopped_at))
), arrived AS (
    SELECT concat(s.member, ' (sent)') AS subject, s.at,
           IF(count(r.arrived_at) = 0, 'did not arrive', NULL) AS odd
    FROM sent s LEFT JOIN {own_requests} r
      ON r.member = s.member AND r.api = 'HEARTBEAT'
     AND r.arrived_at >= after(-:slack_ms, s.at)
     AND r.arrived_at <= after(:ON_ITS_WAY_MS, s.at)
    GROUP BY s.member, s.at
), found AS (
    SELECT member, event_at AS at,
           CASE WHEN detail LIKE '%nodeId=%'
                THEN CAST(regexp_extract(detail, 'nodeId=([0-9]+)', 1) AS INT)
                WHEN detail LIKE '%(id: +%'
                THEN CAST(regexp_extract(detail, '[(]id: [+]([0-9]+)', 1) AS INT)
                ELSE 2147483647 - CAST(regexp_extract(detail, '[(]id: ([0-9]+)', 1) AS INT)
           END AS broker
    FROM {client_events} WHERE event = 'coordinator_found'
), lost AS (
    SELECT e.member, e.event_at AS at, m.session_timeout_ms, max(h.answered_at) AS heard_at
    FROM {client_events} e JOIN {members} m ON m.member = e.member
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = e.member, true) AND d.from_at <= e.event_at
     AND d.to_at >= after(-m.session_timeout_ms, e.event_at)
    JOIN {own_requests} h
      ON h.member = e.member AND h.api = 'HEARTBEAT'
     AND h.answered_at <= after(-:slack_ms - :READ_MS, e.event_at)
     AND h.error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
    WHERE e.event = 'coordinator_lost' AND e.detail LIKE '%session timed out%'
    GROUP BY e.member, e.event_at, m.session_timeout_ms
), given_up AS (
    SELECT DISTINCT member, event_at AS at, after(-:session_ms, event_at) AS from_at
    FROM {client_events}
    WHERE event = 'coordinator_lost' AND detail NOT LIKE '%session timed out%'
), explained AS (
    SELECT g.member, g.at, 'a fault' AS reason
    FROM given_up g LEFT SEMI JOIN {fault_windows} f
      ON f.injecting_at <= g.at AND coalesce(f.healed_at >= g.from_at, true)
     AND f.breaks NOT IN ('topic', 'positions')
     AND (f.resolved = g.member OR f.resolved NOT LIKE 'member-%')
     AND (f.breaks <> 'member' OR f.disturbs_heartbeats OR f.stalls OR f.ends_member)
    UNION ALL
    SELECT g.member, g.at, 'an answer' FROM given_up g LEFT SEMI JOIN {own_requests} r
      ON r.member = g.member
     AND (r.processed_at BETWEEN g.from_at AND after(:STAMP_LATE_MS, g.at)
              AND r.error_code IN (:REQUEST_TIMED_OUT, :COORDINATOR_LOAD_IN_PROGRESS,
                                   :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
          OR r.arrived_at <= g.from_at AND r.answered_at >= g.at)
    UNION ALL
    SELECT g.member, g.at, 'its own note' FROM given_up g LEFT SEMI JOIN {client_events} e
      ON e.member = g.member AND e.event IN ('coordinator_lost', 'closing')
     AND e.event_at >= g.from_at AND e.event_at < g.at
)
SELECT concat(n.member, ' (found)') AS subject, n.at, CAST(NULL AS BIGINT) AS measured,
       CAST(NULL AS INT) AS bound_high,
       IF(count(l.broker) = 0,
          clause('found broker-', n.broker, ', and no broker had named it'), NULL) AS wrong,
       concat('broker-', n.broker) AS note
FROM found n LEFT JOIN {own_requests} l
  ON l.member = n.member AND l.api = 'FIND_COORDINATOR' AND l.error_code = :NONE
 AND CAST(get_json_object(l.detail, '$.coordinator') AS INT) = n.broker
 AND l.arrived_at <= after(:STAMP_LATE_MS, n.at)
 AND l.arrived_at >= after(-:session_ms, n.at)
GROUP BY n.member, n.at, n.broker
UNION ALL
SELECT concat(member, ' (lost)'), at, NULL, NULL,
       IF(ms_between(heard_at, at) < session_timeout_ms - :slack_ms,
          clause('gave its coordinator up ', CAST(round(ms_between(heard_at, at)) AS INT),
                 ' ms after a heartbeat was answered'), NULL),
       'its session timed out'
FROM lost
UNION ALL
SELECT concat(g.member, ' (given up)'), g.at, NULL, NULL,
       IF(min(x.reason) IS NULL, 'gave up its coordinator, which had not refused it', NULL),
       concat('after ', coalesce(min(x.reason), 'nothing'))
FROM given_up g LEFT JOIN explained x ON x.member = g.member AND x.at = g.at
GROUP BY g.member, g.at
UNION ALL
SELECT subject, coalesce(min(at) FILTER (WHERE odd IS NOT NULL), min(at)), count(odd), 0, NULL,
       concat(count(*), ' heartbeats sent')
FROM arrived GROUP BY subject
