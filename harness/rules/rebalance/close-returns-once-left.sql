-- close() returns once the member has left
-- A process that closes its member goes on within a second after the coordinator has answered that
-- the member left.
-- why: A process that hangs in close() is killed by its deploy, which then takes that long.
-- source: KafkaConsumer.close; rd_kafka_consumer_close
-- id: X107 | rows: members that closed | unit: ms | measured: after the answer to the leave | high:
--   returned from close() too late | delayed by: member, toxiproxy, broker | kind: in passing,
--   compares clocks
--
-- Members whose process ended as closed. Java waits for brokers that it cannot reach, so a close is
-- not timed where a fault held up heartbeats, or had until a session before.

-- let CLOSED_MS = 1000
--   How long close() may take once the coordinator has answered that the member left: connections
--   are ended, and Java asks each leader to forget what it fetched. Measured in 508 closes: up to
--   0.14 s.

WITH closings AS (
    SELECT m.member, m.ended_at, max(c.event_at) FILTER (WHERE c.event = 'closing') AS closing_at,
           max(c.event_at) FILTER (WHERE c.event = 'closed') AS closed_at
    FROM {members} m LEFT JOIN {client_events} c USING (member)
    WHERE m.role = 'consumer' AND m.client <> 'app' AND m.`end` = 'closed'
    GROUP BY m.member, m.ended_at
), answered AS (
    SELECT c.member, max(r.answered_at) AS left_at,
           min_by(r.evidence, struct(r.answered_at, r.evidence)) AS evidence
    FROM closings c JOIN {own_requests} r
      ON r.member = c.member AND r.arrived_at >= after(-:slack_ms, c.closing_at)
     AND r.error_code = :NONE
     AND (r.api = 'LEAVE_GROUP' OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = c.member, true)
     AND d.from_at <= coalesce(c.closed_at, :ended_at)
     AND d.to_at >= after(-:session_ms, c.closing_at)
    GROUP BY c.member
)
SELECT c.member AS subject, coalesce(c.closed_at, c.closing_at, c.ended_at) AS at,
       ms_between(a.left_at, c.closed_at) AS measured, :CLOSED_MS + :slack_ms AS bound_high,
       IF(c.closed_at IS NULL, 'ended as closed, and its close() had never returned', NULL)
           AS wrong,
       IF(c.closed_at IS NOT NULL AND a.left_at IS NULL,
          'it had no leave to wait for, or a fault held up its answers', NULL) AS excused,
       a.evidence,
       IF(c.closed_at IS NULL, NULL, a.left_at) AS guard_from,
       IF(a.left_at IS NULL, NULL, guard_to(c.closed_at)) AS guard_to
FROM closings c LEFT JOIN answered a USING (member)
