-- `stop_gaps` with whom each is about, what caused it and when the coordinator noticed.
--
-- Where the old owner was removed in the episode, its own removal counts, and not the one that
-- began the rebalance. `cause` is the fault, "stall" or "close" where the subject itself stopped;
-- else what the rebalance's trigger is. `followed_id` is the member whose way through the rebalance
-- is followed: the old owner's, or the new one's where the old one is gone.

WITH begun AS (
    SELECT *, lag(first_at) OVER (PARTITION BY 1 ORDER BY episode) AS before_at
    FROM {episodes} WHERE round = 1
), about AS (
    SELECT g.*, e.trigger, e.before_at, m.removed_at,
           CASE WHEN m.removed_at IS NULL THEN e.trigger_member ELSE g.old_member END
               AS subject,
           CASE WHEN m.removed_at IS NULL THEN e.trigger_member_id ELSE g.old_member_id END
               AS subject_id,
           coalesce(m.removed_at, e.first_at) AS noticed_at,
           concat('broker-', e.coordinator_before) AS coordinator_before,
           CASE WHEN m.removed_at IS NULL THEN g.old_member_id ELSE g.new_member_id END
               AS followed_id
    FROM {stop_gaps} g LEFT JOIN begun e ON e.episode = g.episode
    LEFT JOIN {memberships} m
      ON m.member_id = g.old_member_id AND m.removed_at <= e.last_at
     AND (e.before_at IS NULL OR m.removed_at > e.before_at)
), happened AS (
    SELECT resolved AS who, injecting_at AS at, kind AS what FROM {fault_windows}
    WHERE injecting_at IS NOT NULL
    UNION ALL
    SELECT member, at, what FROM {halts}
), causes AS (
    SELECT a.topic, a.partition, a.from_at,
           -- No bare comparison: DuckDB would take that for the name of a field.
           max_by(struct(h.at, h.what), struct(coalesce(h.who = a.subject, false), h.at))
               AS last
    FROM about a JOIN happened h
      ON h.who IN (a.subject, a.coordinator_before) AND h.at <= a.noticed_at
     AND (a.before_at IS NULL OR h.at > a.before_at)
    GROUP BY a.topic, a.partition, a.from_at
), arrivals AS (
    SELECT a.topic, a.partition, a.from_at, min(r.arrived_at) AS at
    FROM about a JOIN {own_requests} r ON r.member = a.subject
    WHERE r.api = 'JOIN_GROUP' AND a.trigger = 'join' AND r.arrived_at <= a.noticed_at
      AND (a.before_at IS NULL OR r.arrived_at > a.before_at)
    GROUP BY a.topic, a.partition, a.from_at
), leaders AS (
    -- A stop without a rebalance: what the observer saw of the partition's leader.
    SELECT a.topic, a.partition, a.from_at, min(s.at) AS at
    FROM about a JOIN
         (SELECT topic, partition, at, leader,
                 lag(leader) OVER (PARTITION BY topic, partition ORDER BY at)
                     AS leader_before
          FROM {topology} WHERE what = 'partition') s
      ON same(s, a, topic, partition) AND s.leader <> s.leader_before
     AND s.leader >= 0 AND s.at BETWEEN a.began_at AND a.to_at
    WHERE a.episode IS NULL
    GROUP BY a.topic, a.partition, a.from_at
)
SELECT a.episode, a.trigger, a.topic, a.partition, a.from_at, a.to_at, a.ms, a.usual_ms,
       a.old_member, a.old_member_id, a.new_member, a.new_member_id, a.assigned_at,
       a.followed_id, a.removed_at IS NULL AS follows_old,
       CASE WHEN a.episode IS NULL THEN f.resolved ELSE a.subject END AS subject,
       CASE WHEN a.episode IS NULL THEN f.kind ELSE coalesce(c.last.what, a.trigger) END
           AS cause,
       CASE WHEN a.episode IS NULL THEN a.began_at
            ELSE coalesce(c.last.at, v.last_seen_at, r.at) END AS cause_at,
       CASE WHEN a.episode IS NULL THEN l.at ELSE a.noticed_at END AS noticed_at
FROM about a
LEFT JOIN causes c ON same(c, a, topic, partition, from_at)
LEFT JOIN arrivals r ON same(r, a, topic, partition, from_at)
LEFT JOIN leaders l ON same(l, a, topic, partition, from_at)
LEFT JOIN {evictions} v ON v.member_id = a.subject_id AND v.evicted_at = a.noticed_at
LEFT JOIN {fault_windows} f ON f.fault = a.fault
