-- The assignment callback runs after the assignment
-- The callback for assigned partitions runs after the coordinator has answered the member's
-- SyncGroup with its part of the leader's assignment.
-- why: A position that is set in this callback is safe, because no other member reads the partition
--   any more.
-- source: document 001, rebalance listener; ConsumerRebalanceListener, onPartitionsAssigned
-- id: R15-assigned | rows: callbacks for assigned partitions | unit: ms | measured: after the
--   answer to the SyncGroup | low: ran before the coordinator had answered the SyncGroup |
--   protocols: classic | delayed by: member, toxiproxy, broker | kind: in passing

WITH given AS (
    SELECT member, generation, min(processed_at) AS at,
           min_by(evidence, struct(processed_at, evidence)) AS evidence
    FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
    GROUP BY member, generation
)
SELECT concat(c.member, ' in generation ', c.generation) AS subject, c.event_at AS at,
       ms_between(g.at, c.event_at) AS measured, -:STAMP_LATE_MS AS bound_low, g.evidence,

       IF(c.event_at < after(-:STAMP_LATE_MS, g.at), c.event_at, NULL) AS guard_from,
       guard_to(g.at) AS guard_to
FROM {client_events} c JOIN given g ON same(g, c, member, generation)
WHERE c.event = 'assigned'
