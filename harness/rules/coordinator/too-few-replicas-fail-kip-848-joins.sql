-- Without enough in-sync replicas KIP-848 joins fail
-- While the offsets topic has too few in-sync replicas, the join or leave of a KIP-848 member is
-- refused with COORDINATOR_NOT_AVAILABLE (15) within offsets.commit.timeout.ms.
-- why: A deploy stands still meanwhile: new members get no partitions, and the leave of old ones is
--   not noticed.
-- source: KIP-848, Persistence; CoordinatorRuntime, append (Kafka 4)
-- id: X28-members | rows: joins and leaves | unit: ms | measured: to the refusal | high: was
--   refused too late | protocols: consumer | delayed by: brokers | since: 4.0 | kind: broker
--
-- Heartbeats that join or leave, of whatever group; a leave of nobody changes nothing.

{CHANGES}
SELECT concat(IF(generation = 0, 'join', 'leave'), ' of ', subject) AS subject,
       arrived_at AS at, ms AS measured,
       :commit_timeout_ms + 3 * :slack_ms AS bound_high,
       CASE WHEN error_code = :NONE THEN 'was accepted'
            WHEN error_code <> :COORDINATOR_NOT_AVAILABLE
            THEN clause('was answered with error ', error_code) END AS wrong,
       unknown, evidence, arrived_at AS guard_from, processed_at AS guard_to
FROM changes
WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND generation <= 0
  AND coalesce(error_code <> :UNKNOWN_MEMBER_ID, true)
