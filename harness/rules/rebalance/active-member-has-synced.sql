-- Who goes on in a generation has asked for its part of it
-- A member that sends heartbeats and commits in a generation has sent its SyncGroup for it.
-- why: A member that never asks for its part reads what it had before, while the leader may have
--   given it to another one.
-- source: document 001, SyncGroup; AbstractCoordinator.onJoinFollower; rdkafka_cgrp.c
--   (rd_kafka_cgrp_handle_JoinGroup)
-- id: X101 | rows: members that went on | unit: SyncGroups | measured: accepted | low: went on in a
--   generation and never asked for its part of it | protocols: classic | kind: in passing
--
-- Members that were answered in a generation after its leader had assigned, by SyncGroups.
--
-- A client sends it on the connection of its heartbeats, before these, and all that wait are
-- answered as the assignment comes. Where the coordinator changed meanwhile nothing is examined:
-- one that died may have answered and not written so.

WITH went_on AS (
    SELECT r.member, r.member_id, r.generation, min(r.arrived_at) AS at,
           min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
    FROM {own_requests} r JOIN {generations} g
      ON same(g, r, broker, generation) AND in_time_of(g, r.arrived_at)
     AND g.synced_at < after(-:slack_ms, r.arrived_at)
    LEFT SEMI JOIN {joins} j ON same(j, r, member_id, generation)
    WHERE r.api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND r.error_code = :NONE
    GROUP BY r.member, r.member_id, r.generation
)
SELECT concat(w.member, ' in generation ', w.generation) AS subject, w.at,
       count(s.arrived_at) AS measured, 1 AS bound_low, w.evidence
FROM went_on w LEFT JOIN {own_requests} s
  ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND same(s, w, member_id, generation)
GROUP BY w.member, w.member_id, w.generation, w.at, w.evidence
