-- Without enough in-sync replicas a SyncGroup fails
-- While the offsets topic has too few in-sync replicas, a JoinGroup that need not wait for others
-- is answered. The leader's SyncGroup after it is refused with COORDINATOR_NOT_AVAILABLE (15)
-- within offsets.commit.timeout.ms, before Kafka 4 also with REBALANCE_IN_PROGRESS (27).
-- why: A rebalance ends without an assignment, and starts again until the replica is back.
-- source: GroupMetadataManager.completeClassicGroupJoin and classicGroupSyncToClassicGroup
-- id: X28-joins | rows: JoinGroups and leaders' SyncGroups | unit: ms | measured: to the answer |
--   high: was answered too late | protocols: classic | delayed by: brokers | kind: broker
--
-- JoinGroups that were answered before the time of a write was up, and SyncGroups that give.
--
-- A SyncGroup that is refused at once came too late for its generation: it is not examined.

{CHANGES}
SELECT concat(IF(api = 'JOIN_GROUP', 'JoinGroup', 'SyncGroup'), ' of ', subject) AS subject,
       arrived_at AS at, ms AS measured,
       :commit_timeout_ms + 3 * :slack_ms AS bound_high,
       CASE WHEN api = 'SYNC_GROUP' AND error_code = :NONE THEN 'was accepted'
            WHEN api = 'SYNC_GROUP' AND error_code <> :COORDINATOR_NOT_AVAILABLE
                 AND NOT (:kafka_major < 4 AND error_code = :REBALANCE_IN_PROGRESS)
              OR api = 'JOIN_GROUP' AND error_code NOT IN (:NONE, :MEMBER_ID_REQUIRED)
            THEN clause('was answered with error ', error_code) END AS wrong,
       unknown, evidence, arrived_at AS guard_from, processed_at AS guard_to
FROM changes
WHERE api = 'JOIN_GROUP' AND ms < :commit_timeout_ms - :slack_ms
   OR api = 'SYNC_GROUP' AND size(assignments) > 0
      AND coalesce(ms >= :commit_timeout_ms - :slack_ms
                   OR error_code NOT IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                                         :REBALANCE_IN_PROGRESS), true)
