-- A member that knows no coordinator sends no heartbeats
-- A member that has lost its coordinator sends no heartbeat until a lookup has named a coordinator,
-- and then sends its heartbeats to that broker.
-- why: Only a lookup brings a member back to its group after its coordinator has failed.
-- source: document 000, AbstractCoordinator (HeartbeatThread); document 004, HeartbeatThread
-- id: R05 | rows: losses of the coordinator | unit: heartbeats | measured: while the coordinator
--   was unknown | high: sent heartbeats while it knew no coordinator | protocols: classic
--
-- After its coordinator died, a member's first heartbeat must reach the broker that its last lookup
-- named, or one that a lookup just before named.

{LOOKUPS}{BEREFT}
-- Of events in one moment, a heartbeat comes after a lookup's answer and before a loss.
known AS (
    SELECT member, event, event_at,
           last_value(CASE WHEN event <> 'heartbeat_sent' THEN event END, true)
               OVER (PARTITION BY member
                     ORDER BY event_at, array_position(array('coordinator_found',
                         'heartbeat_sent', 'coordinator_lost'), event) {BEFORE}) AS state
    FROM {client_events}
    WHERE event IN ('coordinator_lost', 'coordinator_found', 'heartbeat_sent')
), by_client AS (
    SELECT member, min(event_at) FILTER (WHERE event = 'coordinator_lost') AS at,
           count_if(event = 'coordinator_lost') AS losses,
           count_if(event = 'heartbeat_sent' AND state = 'coordinator_lost') AS sent
    FROM known GROUP BY member
), by_broker AS (
    SELECT b.*, {LAST_LOOKUP}, count_if(l.arrived_at <= b.heartbeat_at) AS asked
    FROM bereft b LEFT JOIN lookups l
      ON l.member = b.member AND l.error_code = :NONE AND l.arrived_at > b.at
     AND l.arrived_at <= after(:slack_ms, b.heartbeat_at)
    GROUP BY ALL
)
SELECT concat(member, ' (its log)') AS subject, at, sent AS measured, 0 AS bound_high,
       NULL AS too_high, concat('lost its coordinator ', losses, ' times') AS note,
       NULL AS evidence
FROM by_client WHERE losses > 0
UNION ALL
SELECT concat(member, ' after ', fault), heartbeat_at, IF({WAS_NAMED}, 0, 1), 0,
       coalesce(concat('sent a heartbeat to broker-', broker, ' after a lookup named ',
                       'broker-', last.coordinator),
                'sent a heartbeat to another broker without having asked'),
       CASE WHEN asked > 0 THEN concat('asked ', asked, ' times before') END, evidence
FROM by_broker
