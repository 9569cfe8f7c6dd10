-- A heartbeat that was sent arrives
-- While no link and no broker is disturbed, each heartbeat that a member sends is in the
-- coordinator's request log.
-- why: A heartbeat that a proxy or a broker swallows does not renew the session.
-- source: document 004, sendHeartbeatRequest; kafka.request.logger
-- id: X64 | rows: members | unit: heartbeats | measured: that did not arrive | high: sent
--   heartbeats that did not arrive | clients: java | protocols: classic | kind: in passing,
--   compares clocks
--
-- Heartbeats that Java's log has, but for those sent as the member, or its run, ended, or behind a
-- JoinGroup or SyncGroup that waited: a broker reads a connection's next request after its answer.

-- let ON_ITS_WAY_MS = 2000
--   How long a heartbeat may be on its way. In the kept runs it was 0.2 s at most, and 0.9 s behind
--   a commit that waited at the broker, on the same connection.

-- let SAYS = concat(count(*), ' heartbeats sent') AS note

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
    WHERE s.event = 'heartbeat_sent'
      AND s.event_at < after(-:ON_ITS_WAY_MS, least(m.ended_at, :stopped_at))
), judged AS (
    SELECT concat(s.member, ' (sent)') AS subject, s.at, CAST(NULL AS STRING) AS evidence,
           IF(count(r.arrived_at) = 0, 'did not arrive', NULL) AS odd
    FROM sent s LEFT JOIN {own_requests} r
      ON r.member = s.member AND r.api = 'HEARTBEAT'
     AND r.arrived_at >= after(-:slack_ms, s.at)
     AND r.arrived_at <= after(:ON_ITS_WAY_MS, s.at)
    GROUP BY s.member, s.at
)
{ODD_ONES} GROUP BY subject
