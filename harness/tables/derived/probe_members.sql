-- One row per member that a probe played: from its first accepted JoinGroup to its removal.
--
-- It counts from when that was sent: one that is parked is a member already.

WITH joined AS (
    SELECT `group`, member_id, any_value(instance_id) AS instance_id,
           min(sent_at) AS from_at, min(answered_at) AS joined_at,
           max(session_ms) AS session_ms, max(rebalance_ms) AS rebalance_ms,
           max_by(metadata, sent_at) AS metadata
    FROM {probe_joins} GROUP BY `group`, member_id
), followed AS (
    SELECT *, CASE WHEN instance_id IS NOT NULL THEN lead(joined_at) OVER w END
                  AS replaced_at,
           CASE WHEN instance_id IS NOT NULL THEN lead(member_id) OVER w END
                  AS replaced_by
    FROM joined WINDOW w AS (PARTITION BY `group`, instance_id ORDER BY from_at)
), ends AS (
    SELECT `group`, member_id, replaced_at AS at, 1 AS place, 'replaced' AS how
    FROM followed WHERE replaced_at IS NOT NULL
    UNION ALL
    -- The coordinator drops whom it refuses for the group's size, and logs no line of it.
    SELECT j.`group`, j.member_id, c.answered_at, 2, 'turned_away'
    FROM joined j JOIN {calls} c ON same(c, j, `group`, member_id) AND c.api = 'JOIN_GROUP'
     AND c.error_code = :GROUP_MAX_SIZE_REACHED AND c.answered_at >= j.from_at
    UNION ALL
    SELECT j.`group`, j.member_id, e.at, 3, e.event
    FROM joined j JOIN {coordinator_events} e
      ON e.`group` = j.`group` AND e.at >= j.from_at
     AND (e.event IN ('evicted', 'left') AND e.member_id = j.member_id
          OR e.event IN ('stragglers_removed', 'rebalance_started')
             AND (e.event = 'stragglers_removed' OR e.reason LIKE 'Removing [%')
             AND contains(e.reason, j.member_id))
)
SELECT f.*, min(x.at) AS to_at, min_by(x.how, struct(x.at, x.place)) AS ended_by
FROM followed f LEFT JOIN ends x ON same(x, f, `group`, member_id)
GROUP BY ALL
