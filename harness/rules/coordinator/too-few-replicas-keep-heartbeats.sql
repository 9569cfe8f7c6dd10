-- Heartbeats are accepted without enough in-sync replicas
-- The coordinator goes on accepting heartbeats while no commit can be made.
-- why: Members keep their partitions while the offsets topic cannot be written to.
-- source: Kafka documentation, Consumer Configs (heartbeat.interval.ms); GroupCoordinator, 3.9
-- id: X28-alive | rows: members | unit: heartbeats | measured: refused | high: had heartbeats
--   refused | protocols: classic | kind: broker

-- let SAYS
concat(count(*), IF(count(*) = 1, ' heartbeat', ' heartbeats'),
       coalesce(concat(', the first refused with error ', {FIRST_ODD}), '')) AS note

-- query
{UNWRITABLE}, judged AS (
    SELECT concat(r.member, ' while ', u.fault) AS subject, r.arrived_at AS at, r.evidence,
           IF(r.error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS), r.error_code, NULL) AS odd
    FROM {own_requests} r JOIN unwritable u
      ON r.processed_at >= u.from_at AND r.arrived_at <= u.to_at
    WHERE r.api = 'HEARTBEAT' AND r.error_code IS NOT NULL
)
{ODD_ONES} GROUP BY subject
