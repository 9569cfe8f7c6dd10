-- A join computes its target at once (documented, outdated)
-- The coordinator computes the new target assignment in the heartbeat by which a member joins.
-- why: Where this does not hold, a new member gets its partitions only after a later heartbeat.
-- source: KIP-848, Assignment process (before Kafka 4.3)
-- id: X24-at-once | rows: joins | unit: ms | measured: after the group epoch was bumped |
--   protocols: consumer | contradicted: all | kind: broker
--
-- Joins: whether the target of their epoch was computed before that heartbeat was answered.
--
-- A request's line is stamped late, and its arrival counts back from there: the coordinator's own
-- lines may seem to come first.

WITH joined AS (
    SELECT b.generation, b.at, b.evidence, min(c.at) AS computed_at,
           max(q.processed_at) AS answered_at
    FROM {epoch_bumps} b LEFT JOIN {coordinator_events} c
      ON c.event = 'target_computed' AND c.`group` = :group
     AND c.generation = b.generation AND c.at >= b.at
    LEFT JOIN {consumer_heartbeats} q
      ON q.member_id = b.named AND q.generation = 0 AND q.processed_at >= b.at
     AND q.arrived_at <= after(:slack_ms, b.at)
    WHERE b.event_before = 'member_added'
    GROUP BY ALL
)
SELECT concat('epoch ', generation) AS subject, at,
       ms_between(at, computed_at) AS measured,
       CASE WHEN computed_at IS NOT NULL AND answered_at IS NULL
            THEN 'the answer to the join is not on record' END AS unknown,
       CASE WHEN computed_at IS NULL
            THEN 'was passed over: the next epoch came before its assignment'
            WHEN computed_at > answered_at
            THEN 'was computed by a later heartbeat' END AS wrong,
       evidence
FROM joined
