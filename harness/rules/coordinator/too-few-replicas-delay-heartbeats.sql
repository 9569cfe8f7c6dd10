-- A heartbeat waits for the writes before it
-- A heartbeat is answered once everything written before it is replicated, or is refused with
-- COORDINATOR_NOT_AVAILABLE (15) after offsets.commit.timeout.ms.
-- why: A heartbeat that waits for a replica may cost a healthy member its session.
-- source: CoordinatorRuntime, append (Kafka 4); offsets.commit.timeout.ms
-- id: X28-waits | rows: heartbeats | unit: ms | measured: to the answer | high: was answered too
--   late | protocols: classic | delayed by: brokers | since: 4.0 | kind: broker
--
-- Every heartbeat of that time, with the same allowance for queues as for commits.

{TIMED}
SELECT r.subject, r.arrived_at AS at, r.ms AS measured,
       :commit_timeout_ms + 3 * :slack_ms AS bound_high,
       IF(r.error_code NOT IN (:NONE, :COORDINATOR_NOT_AVAILABLE, :REBALANCE_IN_PROGRESS),
          clause('was answered with error ', r.error_code), NULL) AS wrong,
       IF(r.error_code IS NULL, 'was answered without an error code', NULL) AS unknown,
       IF(r.error_code <> :NONE, concat('answered with error ', r.error_code), NULL)
           AS note,
       r.evidence, r.arrived_at AS guard_from, r.processed_at AS guard_to
FROM timed r JOIN unwritable u
  ON r.arrived_at >= u.from_at AND r.arrived_at <= u.to_at
WHERE r.api = 'HEARTBEAT'
