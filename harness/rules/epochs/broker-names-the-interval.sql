-- The broker names the interval of heartbeats
-- Every answer to a heartbeat of KIP-848 names the group's heartbeat interval: the members' own
-- settings do not count.
-- why: A member that is named a longer interval than its session allows is put out of it.
-- source: KIP-848, ConsumerGroupHeartbeat; group.consumer.heartbeat.interval.ms
-- id: X57 | rows: members | unit: ms | measured: named | low: was named an interval below the
--   group's | high: was named an interval above the group's | protocols: consumer | kind: broker,
--   in passing
--
-- The interval that the members of the group were started with, but for settings of their own.

-- let TIMER_GRID_MS = 500
--   librdkafka's timer has ticks (harness/experiment, LIBRDKAFKA_TIMER_GRID_MS).
WITH due AS (
    SELECT coalesce(max(heartbeat_interval_ms), :heartbeat_ms) AS due_ms FROM {members}
    WHERE role = 'consumer' AND heartbeat_interval_ms <= :heartbeat_ms
      AND heartbeat_interval_ms > :heartbeat_ms - :TIMER_GRID_MS
), named AS (
    SELECT member, due_ms, arrived_at, evidence,
           CAST(get_json_object(detail, '$.heartbeat_interval_ms') AS INT) AS ms
    FROM {consumer_heartbeats} CROSS JOIN due
    WHERE error_code = :NONE AND generation >= 0 AND :client <> 'app'
)
SELECT concat(member, ' (interval)') AS subject, min(arrived_at) AS at,
       max_by(ms, struct(abs(ms - due_ms), arrived_at)) AS measured,
       due_ms AS bound_low, due_ms AS bound_high,
       concat(count(*), IF(count(*) = 1, ' answer', ' answers')) AS note,
       max_by(evidence, struct(abs(ms - due_ms), arrived_at)) AS evidence
FROM named WHERE ms IS NOT NULL GROUP BY member, due_ms
