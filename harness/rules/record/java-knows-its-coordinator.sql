-- Java's notes of its coordinator are true
-- The Java client notes in its log that it found a coordinator only if a broker has named that one
-- in answer to its lookup, and that its session timed out only if no heartbeat was answered for
-- that long. It gives its coordinator up for another reason only if that refused it, let it wait
-- for a session, or could not be reached.
-- why: A client that takes another broker for its coordinator is refused until it looks again. One
--   that gives its coordinator up too early stops to commit.
-- source: AbstractCoordinator, FindCoordinatorResponseHandler, HeartbeatThread and
--   markCoordinatorUnknown
-- id: X86 | rows: notes | clients: java | kind: in passing, compares clocks
--
-- Up to 4.3 the classic client writes 2147483647 less the broker's id, which is how it names the
-- connection. A broker's time of an answer is not that of its arrival where a link is disturbed.
-- What a client gives up once it may give up again, by each of its threads and for each request
-- that was on its way.

WITH found AS (
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
SELECT concat(n.member, ' (found)') AS subject, n.at,
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
SELECT concat(member, ' (lost)'), at,
       IF(ms_between(heard_at, at) < session_timeout_ms - :slack_ms,
          clause('gave its coordinator up ', CAST(round(ms_between(heard_at, at)) AS INT),
                 ' ms after a heartbeat was answered'), NULL),
       'its session timed out'
FROM lost
UNION ALL
SELECT concat(g.member, ' (given up)'), g.at,
       IF(min(x.reason) IS NULL, 'gave up its coordinator, which had not refused it', NULL),
       concat('after ', coalesce(min(x.reason), 'nothing'))
FROM given_up g LEFT JOIN explained x ON x.member = g.member AND x.at = g.at
GROUP BY g.member, g.at
