-- A heartbeat names its member and goes to the coordinator
-- Each heartbeat carries the group, member id and generation, and goes to the broker that the
-- member's last lookup named. A heartbeat of a removed member, or without a member id, is refused,
-- and the member joins anew.
-- why: A removed member learns of its removal by its next heartbeat, and only then comes back.
-- source: document 004, sendHeartbeatRequest; GroupMetadataManager.classicGroupHeartbeat
-- id: R35 | rows: member ids per broker | unit: heartbeats | measured: sent | needs: session end |
--   protocols: classic
--
-- librdkafka drops its id when its session ends or its id is unknown
-- (rd_kafka_cgrp_handle_Heartbeat). It joins anew once its application has polled, and sends
-- heartbeats without an id until then. One that closes, or is about to end, need not join anew.
--
-- A member asks several brokers at once, and a broker that is cut off names itself. A broker that
-- is just loading the group accepts every heartbeat.

{LOOKUPS}
heartbeats AS (SELECT * FROM {own_requests} WHERE api = 'HEARTBEAT'),
drops AS (
    SELECT member, event_at AS at FROM {client_events} WHERE event = 'session_timed_out'
    UNION ALL
    SELECT member, arrived_at FROM {own_requests}
    WHERE api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND error_code = :UNKNOWN_MEMBER_ID
      AND member_id IS NOT NULL
), dropped AS (
    SELECT h.member, h.arrived_at, max(e.at) AS removed_at
    FROM heartbeats h JOIN drops e
      ON e.member = h.member AND e.at <= after(:rounding_ms, h.arrived_at)
    LEFT ANTI JOIN {requests} j
      ON j.client_id = h.member AND j.api = 'JOIN_GROUP'
     AND j.arrived_at >= e.at AND j.arrived_at <= h.arrived_at
    WHERE h.member_id IS NULL GROUP BY h.member, h.arrived_at
), beats AS (
    SELECT h.member, h.member_id, h.generation, h.broker, h.arrived_at, h.error_code, h.evidence,
           coalesce(r.removed_at, d.removed_at) AS removed_at, d.removed_at IS NOT NULL AS dropped,
           coalesce(r.removed_by = 'replaced', false) AS replaced
    FROM heartbeats h LEFT JOIN {memberships} r ON r.member_id = h.member_id
    LEFT JOIN dropped d ON same(d, h, member, arrived_at)
), named AS (
    SELECT member, member_id, broker, min(arrived_at) AS heartbeat_at, count(*) AS heartbeats,
           count_if(member_id IS NULL OR coalesce(generation, -1) < 0) AS nameless,
           min_by(evidence, struct(arrived_at, evidence)) AS evidence
    FROM beats WHERE NOT dropped GROUP BY member, member_id, broker
), led AS (
    SELECT b.*, {LAST_LOOKUP}
    FROM named b LEFT JOIN lookups l
      ON l.member = b.member AND l.error_code = :NONE
     AND l.arrived_at <= after(:slack_ms, b.heartbeat_at)
    GROUP BY ALL
), goings AS (
    SELECT member, event_at AS at FROM {client_events} WHERE event = 'closing'
    UNION ALL
    SELECT resolved, injecting_at FROM {fault_windows} WHERE ends_member
), late AS (
    SELECT b.*, min(j.arrived_at) AS joined_at, count(g.at) > 0 AS gone
    FROM beats b LEFT JOIN goings g
      ON g.member = b.member AND g.at > b.arrived_at
     AND g.at <= after(:session_ms, b.arrived_at)
    LEFT JOIN {requests} j
      ON j.client_id = b.member AND j.api = 'JOIN_GROUP' AND j.arrived_at > b.arrived_at
    LEFT ANTI JOIN {client_events} c
      ON c.member = b.member AND c.event = 'closing' AND c.event_at <= b.arrived_at
    LEFT ANTI JOIN {tenures} t
      ON t.loaded AND t.broker = b.broker AND b.error_code = :NONE
     AND b.arrived_at > after(-:slack_ms, t.to_at_before)
     AND b.arrived_at <= after(:slack_ms, t.from_at)
    WHERE (b.dropped OR b.arrived_at > b.removed_at)
      AND b.error_code NOT IN ({NOT_READY}, :GROUP_AUTHORIZATION_FAILED)
      -- A line is stamped late: one that was accepted may have come just before.
      AND NOT (b.error_code IN (:NONE, :REBALANCE_IN_PROGRESS) AND NOT b.dropped
               AND b.arrived_at <= after(:slack_ms, b.removed_at))
    GROUP BY ALL
)
SELECT concat(l.member, ' at broker-', l.broker) AS subject, l.heartbeat_at AS at,
       l.heartbeats AS measured,
       CASE WHEN nameless > 0 THEN clause(nameless, ' of its heartbeats name no member')
            WHEN last.coordinator IS NULL AND named_at IS NULL
            THEN 'had not asked for the coordinator'
            WHEN NOT {WAS_NAMED}
            THEN clause('its last lookup named broker-', last.coordinator) END AS wrong,
       CAST(NULL AS STRING) AS note, evidence
FROM led l
UNION ALL
SELECT concat(member, ' after it was removed'), arrived_at, 1,
       -- Whose place another process has taken is fenced for good.
       CASE WHEN error_code <> IF(replaced, :FENCED_INSTANCE_ID, :UNKNOWN_MEMBER_ID)
            THEN concat('was answered with error ', error_code)
            WHEN joined_at IS NULL AND NOT replaced AND NOT gone
            THEN 'did not join anew' END,
       concat('joined anew ', CAST(round(ms_between(arrived_at, joined_at)) AS INT), ' ms later'),
       evidence
FROM late
