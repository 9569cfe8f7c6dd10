-- Heartbeats alone keep a member during a rebalance
-- A member that goes on sending heartbeats during a rebalance keeps its place beyond its session,
-- although each heartbeat is answered REBALANCE_IN_PROGRESS (27).
-- why: A member that finishes a long batch while the others rebalance is not dropped, as long as it
--   rejoins within max.poll.interval.ms.
-- source: document 000, GroupCoordinator; document 003, HEARTBEAT; GroupMetadataManager
-- id: R08-wire | rows: members that only sent heartbeats for longer than a session | unit: ms |
--   measured: with heartbeats alone | protocols: classic | kind: broker

WITH answers AS (
    SELECT c.*, m.session_ms,
           c.api = 'HEARTBEAT' AND c.error_code = :REBALANCE_IN_PROGRESS AS refused
    FROM {calls} c JOIN {probe_members} m ON same(m, c, `group`, member_id)
    WHERE c.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
      AND c.answered_at IS NOT NULL AND c.error_code <> :UNKNOWN_MEMBER_ID
), signs AS (
    SELECT *, max(IF(refused, NULL, answered_at)) OVER (
        PARTITION BY `group`, member_id ORDER BY sent_at, api, step {SO_FAR}) AS else_at
    FROM answers
), spans AS (
    SELECT `group`, member_id, session_ms, else_at, max(sent_at) AS last_at,
           ms_between(else_at, max(sent_at)) AS ms
    FROM signs WHERE refused AND else_at IS NOT NULL
    GROUP BY `group`, member_id, session_ms, else_at
)
SELECT concat('heartbeats during a rebalance (', s.`group`, ')') AS subject,
       s.last_at AS at, s.ms AS measured, s.session_ms AS bound_low,
       IF(count(e.at) > 0, 'their member was evicted in spite of them', NULL) AS wrong,
       min(e.evidence) AS evidence
FROM spans s LEFT JOIN {coordinator_events} e
  ON e.event = 'evicted' AND same(e, s, `group`, member_id)
 AND e.at BETWEEN s.else_at AND after(s.session_ms, s.last_at)
WHERE s.ms > s.session_ms
GROUP BY s.`group`, s.member_id, s.session_ms, s.else_at, s.last_at, s.ms
