-- Who gets how many partitions, and which: by the assignors of clients and of the broker.

-- let STICKY
--   Members of a sticky assignor that stay through an assignment: what they had, and have still.
WITH chosen AS (
    SELECT broker, generation, max(protocol_name) AS assignor, CAST(NULL AS INT) AS members
    FROM {joins} GROUP BY broker, generation
    UNION ALL
    SELECT broker, generation, assignor, members FROM {epochs}
), sticky AS (
    -- A classic generation that ended before its leader had assigned anything is none.
    SELECT g.broker, g.generation, g.joined_at, g.members, g.evidence, c.assignor,
           IF(c.assignor = 'uniform', g.generation_before,
              lag(g.generation) OVER (PARTITION BY 1 ORDER BY g.joined_at))
               AS generation_before
    FROM {generations} g JOIN chosen c ON same(c, g, broker, generation)
    WHERE (c.assignor = 'uniform' OR c.assignor = 'cooperative-sticky' AND g.answered > 0)
      AND g.members > 0 AND :client <> 'app'
), targets AS (
    SELECT broker, generation, lead(at) OVER (PARTITION BY 1 ORDER BY at) AS next_at
    FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
), followed AS (
    -- Members that reached the epoch of a target, or whose SyncGroup was accepted. A member
    -- that reached a later one instead never had it.
    SELECT DISTINCT coalesce(member_epoch, generation) AS generation, member_id
    FROM {requests}
    WHERE `group` = :group AND error_code = 0
      AND api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
), unsure AS (
    -- An answer while the next target was computed may have been about that one.
    SELECT DISTINCT t.broker, t.generation
    FROM targets t JOIN {requests} r
      ON r.`group` = :group AND r.error_code = 0 AND r.assigned IS NOT NULL
     AND r.api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
     AND coalesce(r.member_epoch, r.generation) <= t.generation
     AND r.arrived_at < t.next_at AND r.processed_at >= t.next_at
), sure AS (
    SELECT s.* FROM sticky s LEFT ANTI JOIN unsure u
      ON u.broker = s.broker AND u.generation IN (s.generation, s.generation_before)
), given AS (
    SELECT partition, min(generation) AS generation
    FROM {assignments} WHERE topic = :topic GROUP BY partition
), known AS (
    -- A leader's metadata may be older than the growth of a topic, so only partitions that
    -- were given count.
    SELECT s.generation, s.joined_at,
           greatest(:partitions, count(DISTINCT g.partition)) AS partitions
    FROM sure s LEFT JOIN given g ON g.generation <= s.generation
    GROUP BY s.generation, s.joined_at
), compared AS (
    SELECT s.broker, s.generation, s.joined_at, s.members, s.evidence, b.member_id, b.member,
           b.instance_id, count(*) AS had, count(a.partition) AS kept
    FROM sure s JOIN {assignments} b ON b.generation = s.generation_before
    -- It is in the group still; one that left and came back was given nothing before.
    JOIN {memberships} m
      ON m.member_id = b.member_id AND m.joined_at <= s.joined_at
     AND m.joined_at <= after(:slack_ms, b.at)
     AND (m.removed_at IS NULL OR m.removed_at > s.joined_at)
    JOIN followed f ON same(f, b, generation, member_id)
    LEFT JOIN {assignments} a
      ON a.generation = s.generation AND same(a, b, member_id, topic, partition)
    WHERE b.topic = :topic GROUP BY ALL
)
