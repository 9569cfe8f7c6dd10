-- `stop_subjects` with the moments of the rebalance that are on record for each.
--
-- `generation` is the one in which the partition was given to its new owner, `rounds` how many the
-- episode had until then. In the consumer protocol (KIP-848) no member joins: `revoked_at` is when
-- the coordinator heard that the old owner had let go, and `synced_at` when its answer gave the
-- partition to the new one.

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
), last_joins AS (
    SELECT broker, generation, max_by(member, struct(arrived_at, member)) AS waited_for
    FROM {joins} GROUP BY broker, generation
), rejoined AS (
    SELECT broker, generation, member_id, max(arrived_at) AS rejoined_at
    FROM {joins} GROUP BY broker, generation, member_id
), let_go AS (
    SELECT s.*, g.given_up_at, j.rejoined_at,
           CASE WHEN s.follows_old THEN coalesce(g.given_up_at, j.rejoined_at)
                ELSE j.rejoined_at END AS stopped_at
    FROM placed s LEFT JOIN given_up g ON same(g, s, topic, partition, from_at)
    LEFT JOIN rejoined j ON same(j, s, broker, generation) AND j.member_id = s.followed_id
), answers AS (
    SELECT member_id, member, api, error_code, arrived_at, processed_at, owned, assigned
    FROM {own_requests}
    WHERE api = 'SYNC_GROUP' AND error_code = 0 OR api = 'HEARTBEAT' AND error_code = 27
       OR api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0
          AND (owned IS NOT NULL OR assigned IS NOT NULL)
), answered AS (
    SELECT l.topic, l.partition, l.from_at,
           max(a.processed_at) FILTER (
               WHERE a.member_id = l.followed_id AND a.processed_at >= l.noticed_at
                 AND a.processed_at <= coalesce(l.stopped_at, l.to_at)
                 AND (a.api = 'HEARTBEAT' OR l.follows_old
                      AND NOT coalesce(exists(a.assigned,
                                      p -> same(p, l, topic, partition)), true)))
               AS heard_at,
           min(a.arrived_at) FILTER (
               WHERE a.api = 'CONSUMER_GROUP_HEARTBEAT' AND a.member_id = l.followed_id
                 AND l.follows_old AND a.arrived_at >= l.given_up_at
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
       CASE WHEN :protocol <> 'consumer' OR l.follows_old THEN a.heard_at
            ELSE a.synced_at END AS heard_at,
       CASE WHEN :protocol <> 'consumer' THEN l.stopped_at
            WHEN l.follows_old THEN a.revoked_at ELSE a.synced_at END AS revoked_at
FROM let_go l LEFT JOIN answered a ON same(a, l, topic, partition, from_at)
LEFT JOIN last_joins o ON same(o, l, broker, generation)
