"""What caused each stop, and the moments of it that are on record."""


def stop_subjects() -> str:
    """`stop_gaps` with whom each is about, what caused it and when the coordinator noticed.

    Where the old owner was removed in the episode, its own removal counts, and not the one that
    began the rebalance. `cause` is the fault, "stall" or "close" where the subject itself stopped;
    else what the rebalance's trigger is. `told_id` is the member whose way through the rebalance
    is followed: the old owner's, or the new one's where the old one is gone.
    """
    return """
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
                       AS told_id
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
                   max_by(h.at, struct(coalesce(h.who = a.subject, false), h.at)) AS cause_at,
                   max_by(h.what, struct(coalesce(h.who = a.subject, false), h.at)) AS cause
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
               a.told_id, a.removed_at IS NULL AS told_old,
               CASE WHEN a.episode IS NULL THEN f.resolved ELSE a.subject END AS subject,
               CASE WHEN a.episode IS NULL THEN f.kind ELSE coalesce(c.cause, a.trigger) END
                   AS cause,
               CASE WHEN a.episode IS NULL THEN a.began_at
                    ELSE coalesce(c.cause_at, v.last_seen_at, r.at) END AS cause_at,
               CASE WHEN a.episode IS NULL THEN l.at ELSE a.noticed_at END AS noticed_at
        FROM about a
        LEFT JOIN causes c ON same(c, a, topic, partition, from_at)
        LEFT JOIN arrivals r ON same(r, a, topic, partition, from_at)
        LEFT JOIN leaders l ON same(l, a, topic, partition, from_at)
        LEFT JOIN {evictions} v ON v.member_id = a.subject_id AND v.evicted_at = a.noticed_at
        LEFT JOIN {fault_windows} f ON f.fault = a.fault
    """


def stop_moments() -> str:
    """`stop_subjects` with the moments of the rebalance that are on record for each.

    `generation` is the one in which the partition was given to its new owner, `rounds` how many
    the episode had until then. In the consumer protocol (KIP-848) nobody joins: `revoked_at` is
    when the coordinator heard that the old owner had let go, and `synced_at` when its answer gave
    the partition to the new one.
    """
    return """
        WITH rounds AS (
            SELECT s.topic, s.partition, s.from_at, max_by(e.generation, e.number) AS generation,
                   max_by(e.coordinator, e.number) AS broker, max(e.round) AS rounds,
                   max_by(e.joined_at, e.number) AS joined_at
            FROM {stop_subjects} s JOIN {episodes} e ON e.episode = s.episode
            WHERE e.round = 1 OR s.assigned_at IS NULL
               OR IF(:protocol = 'consumer', e.started_at, e.joined_at)
                  <= after(:rounding_ms, s.assigned_at)
            GROUP BY s.topic, s.partition, s.from_at
        ), placed AS (
            SELECT s.*, r.generation, r.broker, r.rounds,
                   CASE WHEN :protocol <> 'consumer' THEN r.joined_at END AS joined_at
            FROM {stop_subjects} s LEFT JOIN rounds r ON same(r, s, topic, partition, from_at)
        ), given_up AS (
            SELECT s.topic, s.partition, s.from_at, max(e.at) AS given_up_at
            FROM placed s JOIN {callbacks} e
              ON e.event <> 'assigned' AND e.member = s.old_member
             AND same(e, s, topic, partition) AND e.at <= s.assigned_at
             AND e.at >= coalesce(s.cause_at, s.noticed_at, s.from_at)
            GROUP BY s.topic, s.partition, s.from_at
        ), joins AS (
            SELECT broker, generation, member_id, member, arrived_at
            FROM {own_requests} WHERE api = 'JOIN_GROUP' AND error_code = 0
        ), last_joins AS (
            SELECT broker, generation, max_by(member, struct(arrived_at, member)) AS waited_for
            FROM joins GROUP BY broker, generation
        ), rejoined AS (
            SELECT s.topic, s.partition, s.from_at, max(j.arrived_at) AS rejoined_at
            FROM placed s JOIN joins j ON same(j, s, broker, generation) AND j.member_id = s.told_id
            GROUP BY s.topic, s.partition, s.from_at
        ), let_go AS (
            SELECT s.*, g.given_up_at, j.rejoined_at,
                   CASE WHEN s.told_old THEN coalesce(g.given_up_at, j.rejoined_at)
                        ELSE j.rejoined_at END AS stopped_at
            FROM placed s LEFT JOIN given_up g ON same(g, s, topic, partition, from_at)
            LEFT JOIN rejoined j ON same(j, s, topic, partition, from_at)
        ), answers AS (
            SELECT member_id, member, api, error_code, arrived_at, processed_at, owned, assigned
            FROM {own_requests}
            WHERE (api = 'SYNC_GROUP' AND error_code = 0 OR api = 'HEARTBEAT' AND error_code = 27
                   OR api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0
                      AND (owned IS NOT NULL OR assigned IS NOT NULL))
        ), answered AS (
            SELECT l.topic, l.partition, l.from_at,
                   max(a.processed_at) FILTER (
                       WHERE a.member_id = l.told_id AND a.processed_at >= l.noticed_at
                         AND a.processed_at <= coalesce(l.stopped_at, l.to_at)
                         AND (a.api = 'HEARTBEAT' OR l.told_old
                              AND NOT coalesce(exists(a.assigned,
                                              p -> same(p, l, topic, partition)), true)))
                       AS heard_at,
                   min(a.arrived_at) FILTER (
                       WHERE a.api = 'CONSUMER_GROUP_HEARTBEAT' AND a.member_id = l.told_id
                         AND l.told_old AND a.arrived_at >= l.given_up_at
                         AND NOT coalesce(exists(a.owned,
                                             p -> same(p, l, topic, partition)), true))
                       AS revoked_at,
                   max(a.processed_at) FILTER (
                       WHERE a.member = l.new_member AND a.processed_at <= l.assigned_at
                         AND a.processed_at >= l.noticed_at
                         AND coalesce(exists(a.assigned,
                                         p -> same(p, l, topic, partition)), false))
                       AS synced_at
            FROM let_go l JOIN answers a
              ON a.member IN (l.old_member, l.new_member) AND a.processed_at >= l.noticed_at
             AND a.arrived_at <= l.to_at
            GROUP BY l.topic, l.partition, l.from_at
        )
        SELECT l.*, o.waited_for, a.synced_at,
               CASE WHEN :protocol <> 'consumer' OR l.told_old THEN a.heard_at
                    ELSE a.synced_at END AS heard_at,
               CASE WHEN :protocol <> 'consumer' THEN l.stopped_at
                    WHEN l.told_old THEN a.revoked_at ELSE a.synced_at END AS revoked_at
        FROM let_go l LEFT JOIN answered a ON same(a, l, topic, partition, from_at)
        LEFT JOIN last_joins o ON same(o, l, broker, generation)
    """
