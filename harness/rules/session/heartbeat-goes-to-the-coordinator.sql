-- A heartbeat names its member and goes to the coordinator
-- Each heartbeat carries the group, member id and generation, and goes to the broker that the
-- member's last lookup named. A member that is answered that it is unknown joins anew.
-- why: A removed member learns of its removal by its next heartbeat, and only then comes back.
-- source: document 004, sendHeartbeatRequest; GroupMetadataManager.classicGroupHeartbeat
-- id: R35 | rows: member ids per broker | unit: heartbeats | measured: sent | needs: session end |
--   protocols: classic
--
-- librdkafka drops its id when its session ends or its id is unknown
-- (rd_kafka_cgrp_handle_Heartbeat). It joins anew once its application has polled, and sends
-- heartbeats without an id until then. One that closes, or is about to end, need not join anew.
-- What removed members are answered is for X62, X70 and X05.
--
-- A member asks several brokers at once, and a broker that is cut off names itself.

{LOOKUPS}
heartbeats AS (SELECT * FROM {own_requests} WHERE api = 'HEARTBEAT'),
drops AS (
    SELECT member, event_at AS at FROM {client_events} WHERE event = 'session_timed_out'
    UNION ALL
    SELECT member, arrived_at FROM {own_requests}
    WHERE api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND error_code = :UNKNOWN_MEMBER_ID
      AND member_id IS NOT NULL
), dropped AS (
    SELECT DISTINCT h.member, h.arrived_at
    FROM heartbeats h JOIN drops e
      ON e.member = h.member AND e.at <= after(:rounding_ms, h.arrived_at)
    LEFT ANTI JOIN {requests} j
      ON j.client_id = h.member AND j.api = 'JOIN_GROUP'
     AND j.arrived_at >= e.at AND j.arrived_at <= h.arrived_at
    WHERE h.member_id IS NULL
), named AS (
    SELECT member, member_id, broker, min(arrived_at) AS heartbeat_at, count(*) AS heartbeats,
           count_if(member_id IS NULL OR coalesce(generation, -1) < 0) AS nameless,
           min_by(evidence, struct(arrived_at, evidence)) AS evidence
    FROM heartbeats h LEFT ANTI JOIN dropped d ON same(d, h, member, arrived_at)
    GROUP BY member, member_id, broker
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
), unknown AS (
    SELECT h.member, h.arrived_at, h.evidence, min(j.arrived_at) AS joined_at,
           count(g.at) > 0 AS gone
    FROM heartbeats h LEFT JOIN goings g
      ON g.member = h.member AND g.at BETWEEN after(-:session_ms, h.arrived_at)
                                          AND after(:session_ms, h.arrived_at)
    LEFT JOIN {requests} j
      ON j.client_id = h.member AND j.api = 'JOIN_GROUP' AND j.arrived_at > h.arrived_at
    WHERE h.error_code = :UNKNOWN_MEMBER_ID GROUP BY h.member, h.arrived_at, h.evidence
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
       IF(joined_at IS NULL AND NOT gone, 'did not join anew', NULL),
       concat('joined anew ', CAST(round(ms_between(arrived_at, joined_at)) AS INT), ' ms later'),
       evidence
FROM unknown
