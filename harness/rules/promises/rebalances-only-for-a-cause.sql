-- The group rebalances only when something happened
-- Every rebalance of the group begins after something was done to the group or to the cluster, at
-- most a session timeout after that is over, or is a step that the assignment before it asks for.
-- why: Rebalances without a cause stop all partitions again and again, and look like load.
-- source: kafka-chaos, programs under test
-- id: P5 | rows: rebalances | clients: app
--
-- Law: A rebalance has a cause if something was done at most a session before, or if it is the next
-- step of a rebalance that has one: some member's assignment lacks what it had, or its time to try
-- for a better one has come.
--
-- Two of the reasons that Kafka's own clients give (ConsumerCoordinator, StreamThread) begin such a
-- step: "need to revoke partitions and re-join", and "triggered followup rebalance scheduled for" a
-- time, of Streams. The others come within a rebalance that is under way, need something that
-- happened, or are the program's own doing. A client that gives no reason is known by its
-- assignment, and one that gives one is not believed where no assignment on record lacks anything.
-- What one step took is no reason for a later one to take it again.

-- let SCHEDULED = followup rebalance scheduled for ([0-9]+)
--   A member of Kafka Streams asks for a rebalance at the time that its assignment named, in
--   milliseconds since 1970; 0 is at once.
-- let REVOKED = need to revoke partitions and re-join
--   a member whose assignment lacks what it had, in the words of Java's client
-- let COOPERATIVE = 'cooperative-sticky', 'stream'
--   assignors that take a partition in one step and give it to another member in the next

WITH causes AS (
    {FAULTS}
    UNION ALL
    -- A program may take its time to start, and then to join.
    SELECT concat('the first join of ', member), after(-:slack_ms, min(joined_at)),
           after(:session_ms + :LATE_MS, min(joined_at))
    FROM {memberships} WHERE member IS NOT NULL GROUP BY member
    UNION ALL
    -- It leaves its group before it is gone.
    SELECT concat('the end of ', m.member), coalesce(min(r.arrived_at), m.ended_at),
           after(:session_ms + :LATE_MS, m.ended_at)
    FROM {members} m LEFT JOIN {own_requests} r
      ON r.member = m.member AND r.arrived_at <= m.ended_at
     AND r.arrived_at >= after(-:BACK_MS, m.ended_at)
     AND (r.api = 'LEAVE_GROUP'
          OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
    WHERE m.role = 'consumer' AND m.ended_at IS NOT NULL
    GROUP BY m.member, m.ended_at
), begun AS (
    SELECT r.generation, r.started_at, r.trigger, r.trigger_member, r.reason, r.evidence,
           r.assignor, least(r.started_at, min(e.first_at)) AS first_at
    FROM {rebalances} r LEFT JOIN {episodes} e ON same(e, r, generation, started_at)
    WHERE r.started_at < :drain_at
    GROUP BY ALL
), caused AS (
    SELECT b.*, max_by(c.what, struct(c.from_at, c.what)) AS what
    FROM begun b LEFT JOIN causes c
      ON c.from_at <= after(:slack_ms, b.first_at) AND c.to_at >= b.first_at
    GROUP BY ALL
), ordered AS (
    SELECT *, lag(generation) OVER w AS of_generation, row_number() OVER w AS number,
           CAST(nullif(regexp_extract(reason, '{SCHEDULED}', 1), '') AS BIGINT) AS due_ms,
           reason LIKE '%{REVOKED}%' AS gives_up
    FROM caused WINDOW w AS (PARTITION BY 1 ORDER BY started_at, generation)
), given AS (
    SELECT generation, assigned,
           lag(assigned) OVER (PARTITION BY member_id ORDER BY generation, processed_at)
               AS assigned_before
    FROM {own_requests}
    WHERE api = 'SYNC_GROUP' AND error_code = :NONE AND assigned IS NOT NULL
), taken AS (
    SELECT o.number, p.topic, p.partition
    FROM ordered o JOIN given g ON g.generation = o.of_generation
    LATERAL VIEW explode(g.assigned_before) AS p
    WHERE o.trigger = 'rejoin' AND NOT array_contains(g.assigned, p)
      AND (o.assignor IN ({COOPERATIVE}) OR o.gives_up OR o.due_ms IS NOT NULL)
    GROUP BY o.number, p.topic, p.partition
), said AS (
    SELECT o.number
    FROM ordered o LEFT ANTI JOIN given g ON g.generation = o.of_generation
    WHERE o.trigger = 'rejoin' AND (o.gives_up OR o.due_ms = 0)
    UNION
    SELECT number FROM ordered
    WHERE trigger = 'rejoin' AND due_ms > 0
      AND due_ms <= unix_micros(after(:slack_ms, started_at)) / 1e3
), chained AS (
    SELECT o.number, sum(IF(s.number IS NULL AND t.number IS NULL, 1, 0)) OVER (
               PARTITION BY 1 ORDER BY o.number) AS chain
    FROM ordered o LEFT JOIN said s USING (number)
    LEFT JOIN (SELECT DISTINCT number FROM taken) t USING (number)
), steps AS (
    SELECT number FROM said
    UNION
    SELECT min(t.number) FROM taken t JOIN chained c USING (number)
    GROUP BY c.chain, t.topic, t.partition
), led_to AS (
    SELECT o.* EXCEPT (what), coalesce(o.what, IF(o.started_at <= :steady_at,
                                                  'the start of the group', NULL)) AS what,
           sum(IF(s.number IS NULL, 1, 0)) OVER (PARTITION BY 1 ORDER BY o.number) AS chain
    FROM ordered o LEFT JOIN steps s USING (number)
), judged AS (
    SELECT *, last_value(what, true) OVER (PARTITION BY chain ORDER BY number {SO_FAR})
               AS after_what
    FROM led_to
)
SELECT concat('generation ', generation) AS subject, started_at AS at,
       IF(after_what IS NULL,
          clause('began though nothing had happened: ', reason), NULL) AS wrong,
       concat(trigger, coalesce(concat(' of ', trigger_member), ''), ', after ', after_what)
           AS note, evidence
FROM judged WHERE started_at > :steady_at
