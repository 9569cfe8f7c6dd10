-- Each member sends the coordinator its own timeouts
-- A member's session.timeout.ms becomes its session timeout at the coordinator, and its
-- max.poll.interval.ms its rebalance timeout. In KIP-848 only the latter is its own.
-- why: The coordinator detects failures by the timeouts that a member sent: a setting that does not
--   reach the coordinator changes nothing.
-- source: document 000, the two parameters of a rebalance; KIP-848, ConsumerGroupHeartbeat
-- id: R04 | rows: members that joined | unit: ms | measured: of rebalance timeout | low: asked for
--   a rebalance timeout below its max.poll.interval.ms | high: asked for a rebalance timeout above
--   its max.poll.interval.ms
--
-- Accepted joins beside the settings of the process. In KIP-848 they are heartbeats: a join has to
-- name the limit, a later one may.

WITH modern AS (
    SELECT h.member, h.member_id, min(h.arrived_at) AS at, m.max_poll_interval_ms AS own_ms,
           coalesce(max(h.rebalance_timeout_ms) FILTER (
               WHERE h.rebalance_timeout_ms <> m.max_poll_interval_ms),
               m.max_poll_interval_ms) AS rebalance_ms,
           count_if(h.generation = 0 AND h.rebalance_timeout_ms IS NULL) AS unnamed,
           min(h.evidence) AS evidence
    FROM {consumer_heartbeats} h JOIN {members} m ON m.member = h.member
    WHERE h.error_code = :NONE AND :protocol = 'consumer'
      AND (h.generation = 0 OR h.rebalance_timeout_ms IS NOT NULL)
    GROUP BY h.member, h.member_id, m.max_poll_interval_ms
), asked AS (
    SELECT member, member_id, min(arrived_at) AS at,
           max(session_timeout_ms) AS session_ms, max(rebalance_timeout_ms) AS rebalance_ms,
           min(evidence) AS evidence
    FROM {joins} WHERE rebalance_timeout_ms IS NOT NULL GROUP BY member, member_id
)
SELECT concat(a.member, ' (', a.member_id, ')') AS subject, a.at,
       a.rebalance_ms AS measured, m.max_poll_interval_ms AS bound_low,
       m.max_poll_interval_ms AS bound_high,
       IF(a.session_ms IS NULL OR m.session_timeout_ms IS NULL OR m.max_poll_interval_ms IS NULL,
          'its settings are not on record', NULL) AS unknown,
       IF(a.session_ms <> m.session_timeout_ms,
          clause('asked for a session timeout of ', a.session_ms, ' ms instead of ',
                 m.session_timeout_ms), NULL) AS wrong,
       concat('its session timeout is ', a.session_ms, ' ms') AS note, a.evidence
FROM asked a JOIN {members} m ON m.member = a.member
UNION ALL
SELECT concat(member, ' (', member_id, ')'), at, rebalance_ms, own_ms, own_ms,
       IF(own_ms IS NULL, 'its settings are not on record', NULL),
       IF(unnamed > 0, 'joined without a rebalance timeout', NULL),
       'its session timeout is the broker''s', evidence
FROM modern
