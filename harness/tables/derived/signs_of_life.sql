-- Accepted requests that re-arm a member's session timer, one row each.
--
-- `heard_at` ends the silence before it, `armed_at` starts the next. They differ for JOIN_GROUP and
-- SYNC_GROUP: a member is safe while one of these is parked, and its timer starts anew when it is
-- answered. An OFFSET_COMMIT re-arms when it is validated, long before a slow append lets it be
-- answered, so its arrival counts. (GroupMetadataManager, OffsetMetadataManager 4.3.)
-- `armed_from_at` is the earliest that it can have been: a heartbeat's answer is ready some time
-- after the heartbeat has had its effect (measured: 70 ms on a busy broker, and 4.7 s where it
-- waited for a replica). `armed_by_at` is the latest: a commit waits for a thread of the broker and
-- in the coordinator's own queue first, and no line says for how long (39 ms on a busy machine, and
-- about 160 ms where a program sent 60 commits a second).
--
-- Of a member of KIP-848 only its heartbeats count, and those by their arrival too: an answer waits
-- until whatever the coordinator has written before it is replicated.
--
-- A JoinGroup that was never answered has no line, but where its member is one of the generation
-- (`join_waits`) it is a sign of life as that forms; of a static member it may be one, so it can
-- have armed its timer at any moment since the sign before.

WITH modern AS (
    SELECT DISTINCT member_id FROM {own_requests} WHERE api = 'CONSUMER_GROUP_HEARTBEAT'
), heard AS (
    SELECT r.member_id, broker, api, error_code, generation, arrived_at AS heard_at,
           CASE WHEN api IN ('OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT') THEN arrived_at
                ELSE processed_at END AS armed_at,
           CASE WHEN api IN ('OFFSET_COMMIT', 'HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
                THEN arrived_at ELSE processed_at END AS armed_from_at,
           CASE api WHEN 'CONSUMER_GROUP_HEARTBEAT' THEN arrived_at
                    ELSE processed_at END AS armed_by_at,
           evidence
    FROM {own_requests} r LEFT JOIN modern m ON m.member_id = r.member_id
    WHERE r.member_id IS NOT NULL
      AND (api = 'HEARTBEAT' AND error_code IN (0, 27)
           OR api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = 0
           OR api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0 AND generation >= 0
           OR api = 'OFFSET_COMMIT' AND error_code = 0 AND generation >= 0
              AND m.member_id IS NULL)
), unheard AS (
    SELECT w.member_id, w.broker, w.generation, w.to_at, w.evidence,
           coalesce(max(h.armed_from_at), w.to_at) AS from_at
    FROM {join_waits} w
    LEFT ANTI JOIN {joins} j ON same(j, w, member_id, broker, generation)
    -- Of whom no request is on record, nothing is known.
    LEFT SEMI JOIN {own_requests} r ON r.member_id = w.member_id
    LEFT JOIN heard h
      ON w.instance_id IS NOT NULL AND h.member_id = w.member_id AND h.armed_at <= w.to_at
    WHERE w.generation IS NOT NULL
    GROUP BY w.member_id, w.broker, w.generation, w.to_at, w.evidence
)
SELECT * FROM heard
UNION ALL
SELECT member_id, broker, 'JOIN_GROUP', 0, generation, to_at, to_at, from_at, to_at, evidence
FROM unheard
