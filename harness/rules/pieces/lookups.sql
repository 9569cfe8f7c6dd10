-- How a member finds its coordinator, and which broker its heartbeats go to.

-- let NOT_READY = :COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR
--   Answers of a broker that does not coordinate the group, or not yet.

-- let LOOKUPS
WITH lookups AS (
    SELECT member, arrived_at, answered_at, error_code,
           CAST(get_json_object(detail, '$.coordinator') AS INT) AS coordinator
    FROM {own_requests} WHERE api = 'FIND_COORDINATOR'
),

-- let BEREFT
--   Members whose coordinator was killed, each with its first heartbeat to another broker after
--   that. Who sent the dead one no heartbeat in the session before had not lost it.
deaths AS (
    SELECT f.fault, f.injecting_at AS at, f.injected_at AS gone_at,
           max_by(t.broker, struct(t.from_at, t.broker)) AS broker
    FROM {fault_windows} f JOIN {tenures} t ON t.from_at <= f.injecting_at
    WHERE f.killed AND f.broker_gone AND f.took_effect
    GROUP BY f.fault, f.injecting_at, f.injected_at, f.resolved
    HAVING concat('broker-', max_by(t.broker, struct(t.from_at, t.broker))) = f.resolved
), bereft AS (
    SELECT d.fault, d.at, d.gone_at, h.member, min(h.arrived_at) AS heartbeat_at,
           min_by(h.broker, struct(h.arrived_at, h.broker, h.evidence)) AS broker,
           min_by(h.evidence, struct(h.arrived_at, h.broker, h.evidence)) AS evidence
    FROM deaths d JOIN {own_requests} h
      ON h.api = 'HEARTBEAT' AND h.arrived_at > d.at AND h.broker <> d.broker
    LEFT SEMI JOIN {own_requests} b
      ON b.member = h.member AND b.api = 'HEARTBEAT' AND b.broker = d.broker
     AND b.arrived_at <= d.at AND b.arrived_at > after(-:session_ms, d.at)
    GROUP BY d.fault, d.at, d.gone_at, h.member
),

-- let LAST_LOOKUP
--   Of the lookups `l` of a member that sends a heartbeat `b`: the last, and when one named the
--   broker that the heartbeat went to. The line of the one that named it may be stamped late.
max(struct(l.answered_at, l.arrived_at, l.coordinator))
    FILTER (WHERE l.arrived_at <= b.heartbeat_at) AS last,
max(l.answered_at) FILTER (WHERE l.coordinator = b.broker) AS named_at

-- let WAS_NAMED
--   Whether that broker is the one that a member was told of last: of lookups that were answered
--   within the slack of the last one, any can have reached it last.
coalesce(named_at >= after(-:slack_ms, last.answered_at), named_at IS NOT NULL)
