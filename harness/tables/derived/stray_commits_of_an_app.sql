-- The same by what the coordinator had given the member: exact, however late a commit comes.
--
-- Law: An accepted commit is of a partition that the coordinator gave its member in the generation
-- that the commit names, or in a later one by then; or, where members need not give up all before
-- they join, in the one before.
--
-- A commit is sent in a generation after the answer that says what it brings, and is accepted in
-- that generation alone: so it does not matter when it comes. A member of KIP-848 may commit in its
-- epoch what it had at any time of it, for it moves on once it has given up what it has to; an
-- answer without an assignment leaves it what it had. Where the answer of the generation is on no
-- record, because it was refused or its line is lost, no member is accused.

-- let EAGER = ('range', 'roundrobin', 'sticky', 'RoundRobinAssigner')
--   With these assignors a member gives up all that it has before it joins again. One whose
--   assignor is none of them may have to give a partition up after it has its next part.

WITH committed AS (
    {COMMITTED}
), syncs AS (
    SELECT member_id, generation, answered_at AS at, assigned,
           lag(assigned) OVER (PARTITION BY member_id ORDER BY arrived_at, answered_at)
               AS before
    FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
), eager AS (
    SELECT DISTINCT member_id, generation FROM {joins}
    WHERE coalesce(protocol_name IN {EAGER}, exists(assignors, a -> a IN {EAGER}), true)
), gained AS (
    SELECT member_id, generation, at, assigned FROM syncs WHERE assigned IS NOT NULL
    UNION ALL
    SELECT s.member_id, s.generation, s.at, s.before
    FROM syncs s LEFT ANTI JOIN eager e ON same(e, s, member_id, generation)
    WHERE s.before IS NOT NULL
    UNION ALL
    SELECT member_id, member_epoch, answered_at, last_value(assigned, true) OVER (
        PARTITION BY member_id ORDER BY arrived_at, answered_at {SO_FAR})
    FROM {own_requests}
    WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE AND member_epoch > 0
), turns AS (
    SELECT member_id, generation,
           lead(min(at)) OVER (PARTITION BY member_id ORDER BY generation) AS next_at
    FROM gained WHERE assigned IS NOT NULL GROUP BY member_id, generation
), given AS (
    SELECT g.member_id, g.generation, p.topic, p.partition, min(g.at) AS at
    FROM gained g LATERAL VIEW explode(assigned) AS p
    GROUP BY g.member_id, g.generation, p.topic, p.partition
), held AS (
    SELECT g.*, t.next_at FROM given g JOIN turns t ON same(t, g, member_id, generation)
)
SELECT c.member, c.topic, c.partition, c.arrived_at AS at
FROM committed c JOIN turns t ON same(t, c, member_id, generation)
LEFT ANTI JOIN held h ON same(h, c, member_id, topic, partition)
 AND h.generation >= c.generation
 AND (h.generation = c.generation OR h.at <= after(:slack_ms, c.arrived_at))
 AND (h.next_at IS NULL OR c.arrived_at <= after(:slack_ms, h.next_at))
