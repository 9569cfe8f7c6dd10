-- A waiting JoinGroup fails with the write before it
-- A JoinGroup that waits for other members is refused with COORDINATOR_NOT_AVAILABLE (15) after
-- offsets.commit.timeout.ms, if an earlier write of its group lacks a replica.
-- why: The member has to ask again, and the rebalance may lose members that have joined already.
-- source: GroupCoordinatorService.joinGroup; CoordinatorRuntime, append (Kafka 4)
-- id: X28-parked | rows: JoinGroups that wait | unit: ms | measured: to the refusal | low: was
--   refused too early | high: was refused too late | protocols: classic | delayed by: brokers |
--   since: 4.0 | kind: broker
--
-- JoinGroups that waited for as long as a write may take, after one that failed.

{CHANGES}
SELECT concat('JoinGroup of ', subject) AS subject, arrived_at AS at, ms AS measured,
       :commit_timeout_ms - :slack_ms AS bound_low,
       :commit_timeout_ms + 3 * :slack_ms AS bound_high,
       IF(error_code <> :COORDINATOR_NOT_AVAILABLE,
          clause('was answered with error ', error_code), NULL) AS wrong,
       unknown, evidence, arrived_at AS guard_from, processed_at AS guard_to
FROM changes r LEFT SEMI JOIN changes w
  ON w.`group` = r.`group` AND w.api IN ('SYNC_GROUP', 'OFFSET_COMMIT')
 AND w.error_code = :COORDINATOR_NOT_AVAILABLE AND w.arrived_at < r.arrived_at
WHERE r.api = 'JOIN_GROUP' AND r.ms >= :commit_timeout_ms - :slack_ms
