-- Heartbeats are accepted without enough in-sync replicas
-- The coordinator goes on accepting heartbeats while no commit can be made.
-- why: Members keep their partitions while the offsets topic cannot be written to.
-- source: Kafka documentation, Consumer Configs (heartbeat.interval.ms); GroupCoordinator, 3.9
-- id: X28-alive | rows: members | unit: heartbeats | measured: refused | high: had heartbeats
--   refused | protocols: classic | kind: broker
--
-- Heartbeats that were answered then; one that came just before waits as well.

{UNWRITABLE},
answered AS (
    SELECT *, error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS) AS refused
    FROM {own_requests} WHERE api = 'HEARTBEAT' AND error_code IS NOT NULL
)
SELECT concat(r.member, ' while ', u.fault) AS subject, u.from_at AS at,
       count_if(r.refused) AS measured, 0 AS bound_high,
       concat(count(*), IF(count(*) = 1, ' heartbeat', ' heartbeats'), coalesce(concat(
           ', the first refused with error ',
           min_by(r.error_code, struct(r.arrived_at, r.evidence))
               FILTER (WHERE r.refused)), '')) AS note
FROM answered r JOIN unwritable u
  ON r.processed_at >= u.from_at AND r.arrived_at <= u.to_at
GROUP BY r.member, u.fault, u.from_at
