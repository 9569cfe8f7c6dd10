-- A waiting JoinGroup or SyncGroup keeps its member alive
-- A member whose JoinGroup or SyncGroup the coordinator has not answered yet is not evicted, even
-- if the wait is longer than its session.
-- why: A rebalance may last longer than the session timeout without costing waiting members their
--   place.
-- source: document 000, GroupCoordinator; ClassicGroupMember.hasSatisfiedHeartbeat
-- id: R03-wire | rows: requests that waited for longer than a session | unit: ms | measured: of
--   waiting | protocols: classic | kind: broker
--
-- A SyncGroup that is answered 27 is to join again.

WITH parked AS (
    SELECT c.*, m.session_ms, ms_between(c.sent_at, c.answered_at) AS ms
    FROM {calls} c JOIN {probe_members} m ON same(m, c, `group`, member_id)
    WHERE c.api IN ('JOIN_GROUP', 'SYNC_GROUP')
)
SELECT concat(p.step, ' (', p.`group`, ')') AS subject, p.answered_at AS at,
       p.ms AS measured,
       CASE WHEN count(e.at) > 0 THEN 'was evicted while its request was parked'
            WHEN p.error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS)
            THEN clause('was answered ', p.error_code) END AS wrong,
       concat('answered ', p.error_code) AS note, min(e.evidence) AS evidence
FROM parked p LEFT JOIN {coordinator_events} e
  ON e.event = 'evicted' AND same(e, p, `group`, member_id)
 AND e.at BETWEEN p.sent_at AND p.answered_at
WHERE p.ms > p.session_ms
GROUP BY p.`group`, p.step, p.sent_at, p.answered_at, p.error_code, p.ms, p.session_ms
