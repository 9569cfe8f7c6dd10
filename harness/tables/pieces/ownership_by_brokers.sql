-- `ownership_by_brokers`: who held which partition, as brokers and processes show it.

-- let CALLS
--   By which a client keeps its place in the group: their answers tell it where it stands.
'JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'LEAVE_GROUP', 'CONSUMER_GROUP_HEARTBEAT'

-- let OWNERSHIP_BY_BROKERS
--   The query of that table, which stands in for `ownership` where members are programs.
WITH calls AS (
    SELECT * FROM {own_requests}
    WHERE member_id IS NOT NULL AND api IN ({CALLS})
), ids AS (
    SELECT member, member_id, max(arrived_at) AS last_at,
           min(arrived_at) FILTER (WHERE api = 'JOIN_GROUP') AS joined_at
    FROM calls GROUP BY member, member_id
), signs AS (
    -- `holds` is all that a member has from then on, null is nothing. `seen_at` orders
    -- them: a line is stamped late, so an answer can seem to come after the next call.
    SELECT member, member_id, generation, 'revoked' AS how, arrived_at AS seen_at,
           answered_at AS at, assigned AS holds
    FROM calls WHERE api = 'SYNC_GROUP' AND error_code = :NONE
    UNION ALL
    SELECT member, member_id, generation, 'revoked', arrived_at, arrived_at, owned
    FROM calls
    WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND generation >= 0 AND owned IS NOT NULL
    UNION ALL
    -- A client is cooperative if all assignors that it offers are, as Kafka Streams' own.
    SELECT member, member_id, NULL, 'revoked', arrived_at, arrived_at, NULL
    FROM calls WHERE api = 'JOIN_GROUP'
                 AND coalesce(exists(assignors, a -> a NOT IN ('cooperative-sticky',
                                                               'stream')), true)
    UNION ALL
    SELECT member, member_id, NULL, 'left', arrived_at, arrived_at, NULL
    FROM calls
    WHERE api = 'LEAVE_GROUP' OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation < 0
    UNION ALL
    SELECT member, member_id, IF(api = 'JOIN_GROUP', NULL, generation), 'lost',
           answered_at, answered_at, NULL
    FROM calls
    WHERE error_code IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION, :FENCED_INSTANCE_ID,
                         :FENCED_MEMBER_EPOCH)
    UNION ALL
    -- A process can have several consumers: an id that is heard of later is not replaced.
    SELECT o.member, o.member_id, NULL, 'lost', min(n.joined_at), min(n.joined_at), NULL
    FROM ids o JOIN ids n ON n.member = o.member AND n.member_id <> o.member_id
                         AND n.joined_at > o.last_at
    GROUP BY o.member, o.member_id
), killed AS (
    SELECT resolved AS member, min(coalesce(injected_at, injecting_at)) AS killed_at
    FROM {fault_windows} WHERE killed GROUP BY resolved
), processes AS (
    SELECT m.member, m.`end` AS ended_by,
           coalesce(m.ended_at, CASE WHEN m.`end` = 'killed' THEN k.killed_at END)
               AS ended_at
    FROM {members} m LEFT JOIN killed k ON k.member = m.member
), placed AS (
    SELECT *, max(IF(holds IS NULL, NULL, generation)) OVER (
        PARTITION BY member_id ORDER BY seen_at {SO_FAR}) AS generation_now
    FROM signs
), steps AS (
    -- A coordinator that was cut off refuses what was sent long ago: nobody waits for that.
    -- What a dead process had sent may be read yet; only its leaving tells how it ended.
    SELECT s.member, s.member_id, s.generation, s.holds, p.ended_at, p.ended_by,
           least(s.at, lead(s.at) OVER w) AS at, row_number() OVER w AS step,
           lead(s.at) OVER w AS next_at, lead(s.how) OVER w AS next_how
    FROM placed s LEFT JOIN processes p ON p.member = s.member
    WHERE (s.how <> 'lost' OR coalesce(s.generation >= s.generation_now, true))
      AND (s.how = 'left' OR coalesce(s.at < p.ended_at, true))
    WINDOW w AS (PARTITION BY s.member_id ORDER BY s.seen_at, s.at, s.how)
), shown AS (
    -- Steps in a row that show a partition have the same `stretch`.
    SELECT s.*, p.topic, p.partition, step - row_number() OVER (
        PARTITION BY member_id, p.topic, p.partition ORDER BY step) AS stretch
    FROM steps s LATERAL VIEW explode(holds) AS p
), held AS (
    SELECT topic, partition, member, member_id, min_by(generation, step) AS generation,
           min(at) AS from_at,
           least(max_by(struct(next_at AS at), step).at, any_value(ended_at)) AS to_at,
           coalesce(max_by(struct(next_how AS how), step).how, any_value(ended_by)) AS how
    FROM shown GROUP BY topic, partition, member, member_id, stretch
)
SELECT h.topic, h.partition, h.member, h.member_id, h.generation, h.from_at, h.to_at,
       IF(h.how = 'left', 'revoked', h.how) AS ended_by, min(s.removed_at) AS removed_at
FROM held h LEFT JOIN {removals} s
  ON s.member_id = h.member_id
 AND (s.removed_at >= h.from_at AND coalesce(s.since_at < h.from_at, true)
      OR s.removed_at < h.from_at AND coalesce(s.back_at > h.from_at, true))
 AND (h.to_at IS NULL OR s.removed_at <= h.to_at)
 -- The line about a member's own leaving can come before its request's.
 AND NOT coalesce(h.how = 'left' AND s.removed_by = 'left', false)
GROUP BY ALL
ORDER BY topic, partition, from_at
