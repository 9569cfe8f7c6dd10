-- One row per partition held, in the columns of `ownership`, without a word from the client.
--
-- A classic member holds what SYNC_GROUP's answer gave it, from when that answer was on the wire.
-- With an eager assignor all of it ends when its next JOIN_GROUP arrives, for it gives up
-- everything before it sends that; with a cooperative one, what the next answer leaves out ends
-- with that answer. A member of KIP-848 holds what it says it owns, from when that heartbeat
-- arrives: it says so once its application has taken up or given up what an answer asked of it.
--
-- A member that was removed has its partitions in its own eyes until it hears of that. Its interval
-- ends with the first sign that it knows: a call of the group that was refused, or its first join
-- under another member id. A refused commit is no such sign: members keep what they have.
--
-- Against the callbacks, over 37 recorded runs and 501 intervals, each of which has its one
-- counterpart here, of the same member id and generation (callback less brokers, in ms: least,
-- median, 99th percentile, greatest):
--
-- | protocol, client        | intervals, runs | starts                | ends                   |
-- |-------------------------|-----------------|-----------------------|------------------------|
-- | eager, librdkafka       | 292, 22         | -24, 0.7, 22, 23      | -94, -0.8, 0, 157      |
-- | eager, java             | 52, 3           | 2.4, 6.0, 48, 48      | -19, -1.7, 0, 0        |
-- | cooperative, librdkafka | 7, 1            | -2.8, 0.7, 2.9, 2.9   | -151, -6.1, 7.4, 7.4   |
-- | cooperative, java       | 57, 4           | -19, 5.5, 118, 118    | -14, -1.3, 61, 61      |
-- | consumer, librdkafka    | 81, 7           | -114, -8.8, -1.1, -1.1| -198, -1.0, 7.3, 7.3   |
-- | consumer, java          | 12, 1           | -4.1, -2.1, -1.7, -1.7| -123, -1.3, -1.1, -1.1 |
--
-- A callback comes from the next poll, of 200 ms at most. These figures leave out 18 ends that
-- differ by more, and have to. 8: a callback takes its time, and the member joins only then; the
-- callback counts from its start. 6: the link was cut, and the member gave up at the end of its
-- session; its next join shows that. 4: the application did not poll, and the client left the group
-- for it; the application heard of it when it polled again.

-- let CALLS
--   By which a client keeps its place in the group: by their answers it knows where it stands.
'JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'LEAVE_GROUP', 'CONSUMER_GROUP_HEARTBEAT'

-- query
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
), placed AS (
    SELECT *, max(IF(holds IS NULL, NULL, generation)) OVER (
        PARTITION BY member_id ORDER BY seen_at {SO_FAR}) AS generation_now
    FROM signs
), steps AS (
    -- A coordinator that was cut off refuses what was sent long ago, and no member waits for it.
    -- What a dead process had sent may be read yet; only its leaving shows how it ended.
    SELECT s.member, s.member_id, s.generation, s.holds, p.ended_at, p.ended_by,
           least(s.at, lead(s.at) OVER w) AS at, row_number() OVER w AS step,
           lead(s.at) OVER w AS next_at, lead(s.how) OVER w AS next_how
    FROM placed s LEFT JOIN {process_ends} p ON p.member = s.member
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
