-- Without enough in-sync replicas what is written fails in time
-- While the offsets topic has too few in-sync replicas, no commit is accepted, nor the leader's
-- SyncGroup, nor the join or leave of a KIP-848 member: each is refused, and within
-- offsets.commit.timeout.ms. From Kafka 4 on what has to wait for a write before it fails with it,
-- with COORDINATOR_NOT_AVAILABLE (15): a heartbeat, and a JoinGroup that waits for other members. A
-- JoinGroup that need not wait is answered.
-- why: A commit that does not fail in time holds up its consumer. A heartbeat that waits for a
--   replica may cost a healthy member its session, and a rebalance ends without an assignment.
-- source: offsets.commit.timeout.ms; min.insync.replicas; KIP-848, Persistence; CoordinatorRuntime,
--   append (Kafka 4); GroupMetadataManager.completeClassicGroupJoin and
--   classicGroupSyncToClassicGroup; GroupCoordinatorService.joinGroup
-- id: X28 | was: X28-waits, X28-members, X28-joins, X28-parked | rows: requests | unit: ms |
--   measured: to the answer | high: was answered too late | delayed by: brokers | kind: broker
--
-- A commit that was accepted as a broker died may have come before, and one that waits while the
-- broker comes back may be made after all. A leave that is answered UNKNOWN_MEMBER_ID changes
-- nothing. A JoinGroup has waited for a write only where one of its group failed before, and a
-- SyncGroup that is refused at once came too late for its generation. An answer that times out has
-- been through three queues, each of which may take the slack: the broker's, the coordinator's, and
-- that again.

{UNWRITABLE}, asked AS (
    SELECT r.*, ms_between(arrived_at, processed_at) AS ms,
           ms_between(arrived_at, processed_at) >= :commit_timeout_ms - :slack_ms AS timed_out,
           CASE api WHEN 'OFFSET_COMMIT' THEN 'commit' WHEN 'HEARTBEAT' THEN 'heartbeat'
                    WHEN 'JOIN_GROUP' THEN 'JoinGroup' WHEN 'SYNC_GROUP' THEN 'SyncGroup'
                    ELSE IF(generation = 0, 'join', 'leave') END AS what
    FROM {requests} r JOIN unwritable u
      ON r.arrived_at >= IF(r.error_code = :NONE OR r.api = 'HEARTBEAT',
                            u.from_at, u.injecting_at)
     AND (after(:commit_timeout_ms, r.arrived_at) <= u.to_at
          OR r.api = 'JOIN_GROUP' AND r.processed_at <= u.to_at
          OR r.api = 'HEARTBEAT' AND r.arrived_at <= u.to_at)
), failed AS (
    SELECT `group`, min(arrived_at) AS at FROM asked
    WHERE what IN ('SyncGroup', 'commit') AND error_code = :COORDINATOR_NOT_AVAILABLE
    GROUP BY `group`
)
SELECT concat(what, ' of ', IF(what IN ('commit', 'heartbeat'),
                               coalesce(program, client_id), r.`group`),
              ' ', date_format(arrived_at, 'HH:mm:ss.SSS')) AS subject,
       arrived_at AS at, ms AS measured, :commit_timeout_ms + 3 * :slack_ms AS bound_high,
       IF(error_code IS NULL, 'was answered without an error code', NULL) AS unknown,
       CASE WHEN error_code = :NONE AND what IN ('commit', 'SyncGroup', 'join', 'leave')
            THEN 'was accepted'
            WHEN CASE WHEN what = 'commit' THEN false
                      WHEN what = 'heartbeat'
                      THEN error_code NOT IN (:NONE, :COORDINATOR_NOT_AVAILABLE,
                                              :REBALANCE_IN_PROGRESS)
                      WHEN what = 'JoinGroup' AND NOT timed_out
                      THEN error_code NOT IN (:NONE, :MEMBER_ID_REQUIRED)
                      WHEN what = 'SyncGroup' AND :kafka_major < 4
                      THEN error_code NOT IN (:COORDINATOR_NOT_AVAILABLE,
                                              :REBALANCE_IN_PROGRESS)
                      ELSE error_code <> :COORDINATOR_NOT_AVAILABLE END
            THEN clause('was answered with error ', error_code) END AS wrong,
       IF(error_code <> :NONE, concat('answered with error ', error_code), NULL) AS note,
       evidence, arrived_at AS guard_from, processed_at AS guard_to
FROM asked r LEFT JOIN failed f ON f.`group` = r.`group`
WHERE CASE what WHEN 'commit' THEN r.`group` = :group
                WHEN 'heartbeat'
                THEN api = 'HEARTBEAT' AND r.`group` = :group AND :kafka_major >= 4
                WHEN 'JoinGroup'
                THEN NOT timed_out OR :kafka_major >= 4 AND f.at < r.arrived_at
                WHEN 'SyncGroup'
                THEN size(assignments) > 0
                     AND coalesce(timed_out OR error_code NOT IN (
                         :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS), true)
                ELSE api = 'CONSUMER_GROUP_HEARTBEAT' AND generation <= 0
                     AND coalesce(error_code <> :UNKNOWN_MEMBER_ID, true) END
