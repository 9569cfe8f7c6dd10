-- Partitions are spread evenly
-- The partitions of a topic are spread so that no member has two more than another: three
-- partitions on three members are one each, three on two are two and one. A member for whom none is
-- left is idle.
-- why: The member with the most partitions is the first to fall behind.
-- source: document 002, partition assignment
-- id: R22 | was: R22-each, R22-idle, R22-more | rows: whole assignments | unit: partitions |
--   measured: between the member with the most and the one with the fewest | high: gave a member at
--   least two partitions more than another
--
-- The first round of a cooperative move leaves partitions out on purpose. In KIP-848 each member
-- that the target was computed for counts with what it had been given when all of them had heard of
-- it. One that was gone by then has no part in it; where another has not heard of it, the epoch is
-- not examined.

WITH led AS (
    -- A static member that came back later joined in the same generation, under another id.
    SELECT 'classic' AS protocol, d.joined_at, j.generation, j.member_id,
           count(DISTINCT concat(a.topic, '-', a.partition)) AS size, min(a.at) AS at,
           min(a.evidence) AS evidence, true AS heard
    FROM {joins} j JOIN {generations} d
      ON same(d, j, broker, generation) AND d.event = 'stabilized'
     AND in_time_of(d, j.processed_at)
    JOIN {memberships} m ON m.member_id = j.member_id AND m.joined_at <= d.joined_at
    LEFT JOIN {assignments} a ON same(a, j, broker, generation, member_id)
    GROUP BY d.joined_at, j.generation, j.member_id
), answered AS (
    SELECT d.joined_at, d.generation, m.stay AS member_id, d.completed_at AS at,
           max(struct(b.processed_at, b.evidence, size(b.assigned) AS size))
               FILTER (WHERE b.assigned IS NOT NULL) AS last,
           max(struct(b.processed_at, b.evidence)).evidence AS evidence,
           count_if(b.member_epoch = d.generation) > 0 AS heard
    FROM {rebalances} d
    JOIN {memberships} m ON m.joined_at <= d.joined_at
     AND (m.removed_at IS NULL OR m.removed_at > d.completed_at)
    LEFT JOIN {consumer_heartbeats} b
      ON b.member_id = m.member_id AND b.error_code = :NONE
     AND b.processed_at <= d.completed_at
     AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
    WHERE d.protocol = 'consumer' AND d.completed_at IS NOT NULL
    GROUP BY d.joined_at, d.generation, m.stay, d.completed_at
), sizes AS (
    SELECT protocol, joined_at, generation, min(at) AS at, min(evidence) AS evidence,
           count(*) AS members, sum(size) AS partitions, max(size) - min(size) AS spread,
           array_join(reverse(array_sort(collect_list(size))), '+') AS sizes,
           bool_and(heard) AS heard
    FROM (SELECT * FROM led UNION ALL
          SELECT 'consumer', joined_at, generation, member_id, coalesce(last.size, 0), at,
                 evidence, heard
          FROM answered)
    GROUP BY protocol, joined_at, generation
),
-- A topic may have grown, which the group may know before the observer does.
grown AS (
    SELECT s.*, count(DISTINCT p.partition) AS known
    FROM sizes s LEFT JOIN {topology} p ON p.topic = :topic AND p.at <= s.at
    WHERE s.heard GROUP BY ALL
)
SELECT concat('generation ', generation) AS subject, at, spread AS measured, 1 AS bound_high,
       concat(partitions, ' partitions for ', members, ' members: ', sizes) AS note, evidence
FROM grown WHERE partitions >= greatest(:partitions, known)
