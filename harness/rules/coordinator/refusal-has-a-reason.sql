-- Every refusal has a reason
-- A request of a member is refused with COORDINATOR_LOAD_IN_PROGRESS (14),
-- COORDINATOR_NOT_AVAILABLE (15) or NOT_COORDINATOR (16) only while the coordinator changes, and by
-- brokers that do not coordinate the group. UNKNOWN_MEMBER_ID (25) is answered only if the member
-- was out, and to a heartbeat, a sync or a commit of such a member no other error;
-- ILLEGAL_GENERATION (22) only to another generation than the group's; REBALANCE_IN_PROGRESS (27)
-- to a heartbeat or a sync only while the group waits for members, and to a commit between join and
-- assignment; FENCED_MEMBER_EPOCH (110) and STALE_MEMBER_EPOCH (113) only to another epoch than the
-- member's. FENCED_INSTANCE_ID (82) and UNRELEASED_INSTANCE_ID (111) need another process with the
-- instance id, INCONSISTENT_GROUP_PROTOCOL (23) members whose assignors differ,
-- GROUP_MAX_SIZE_REACHED (81) a full group, UNSTABLE_OFFSET_COMMIT (88) a transaction. No other
-- error is an answer to a member that is in order. An OffsetFetch, or a leader's ListOffsets, has
-- an error for a partition of the topic only if that is new, its leader changes, a transaction is
-- open, or the member is out of the group or lacks a right.
-- why: A member that is refused gives up its partitions, repeats its work, or does not learn where
--   to begin. A client retries most of these errors in silence, so what its group waits for remains
--   unseen.
-- source: GroupCoordinatorService; GroupMetadataManager.classicGroupHeartbeat;
--   ClassicGroup.validateMember and validateOffsetCommit; OffsetMetadataManager, fetchOffsets;
--   ReplicaManager, fetchOffset; document 003, OFFSET_FETCH; KIP-345; KIP-447; KIP-848
-- id: X70 | was: X56, X106 | rows: members | unit: requests | measured: refused without a reason |
--   high: was refused without a reason | kind: broker, in passing, compares clocks
--
-- Rules about rights examine other refusals. COORDINATOR_NOT_AVAILABLE (15) is also the answer
-- where the offsets topic cannot be written to, or a write to it has not reached its replicas in
-- time, because a broker is gone or has just come back (CoordinatorRuntime). What a member sends to
-- a transaction is asked of the transaction's coordinator as well.
--
-- Of what a member names (`by_state`), all that was so at any moment between its arrival, less the
-- slack, and its answer is a reason. A broker that loads the group knows the generation that was
-- stored. A commit is for several partitions, each of which may have been given at another epoch.
-- An assignment is there when it is stored, and not with the line that the leader has sent it.
--
-- What refuses an OffsetFetch as a whole, older versions say of each partition. A client that does
-- not read a partition may ask its former leader long after that has changed.

-- let NEW_MS = 1000
--   How much later than the observer sees the leader of a new partition its brokers may know of it.
--   Members that ask 0.6 s after it are answered.

-- let SAYS
{FIRST_ODD} AS wrong, concat(count_if(refused), ' refusals of ', count(*), ' requests') AS note

-- query
WITH askers AS (
    SELECT member FROM {members} UNION ALL SELECT 'observer'
), refused AS (
    SELECT r.member, r.member_id, r.instance_id, r.api, r.broker, r.error_code,
           r.arrived_at, r.evidence, after(-:slack_ms, r.arrived_at) AS from_at,
           after(:slack_ms, r.processed_at) AS to_at
    FROM {own_requests} r LEFT SEMI JOIN askers k ON k.member = r.member
    LEFT ANTI JOIN {unsettled} u
      ON u.from_at <= after(:slack_ms, r.processed_at)
     AND u.to_at >= after(-:slack_ms, r.arrived_at)
     AND (r.error_code = :COORDINATOR_NOT_AVAILABLE OR r.api = 'TXN_OFFSET_COMMIT')
    WHERE r.error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS, :MEMBER_ID_REQUIRED,
              :GROUP_AUTHORIZATION_FAILED, :TOPIC_AUTHORIZATION_FAILED)
      AND (r.error_code NOT IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION,
                                :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
           OR r.api IN ('JOIN_GROUP', 'LEAVE_GROUP')
           OR r.api = 'OFFSET_FETCH'
              AND (r.member_id IS NULL OR r.error_code = :UNKNOWN_MEMBER_ID)
           OR r.api = 'CONSUMER_GROUP_HEARTBEAT'
              AND (r.error_code = :STALE_MEMBER_EPOCH OR r.generation <= 0))
      AND (r.member <> 'observer' OR r.api = 'OFFSET_FETCH')
), steady AS (
    SELECT r.member, r.arrived_at, r.evidence, count(t.tenure) AS times
    FROM refused r JOIN {tenures} t
      ON (t.broker = r.broker OR r.api = 'FIND_COORDINATOR')
     AND after(IF(t.loaded OR r.api = 'FIND_COORDINATOR', :session_ms, 0), t.from_at)
         <= r.from_at
     -- A coordinator that resigns knows it before its successor has loaded the group.
     AND (t.next_at IS NULL OR t.next_at > after(:session_ms, r.to_at))
    GROUP BY r.member, r.arrived_at, r.evidence
), rivals AS (
    SELECT r.member, r.arrived_at, r.evidence, count(o.member_id) AS times
    FROM refused r JOIN {own_requests} o
      ON o.instance_id = r.instance_id AND o.member_id <> r.member_id
     AND o.arrived_at <= r.to_at
    GROUP BY r.member, r.arrived_at, r.evidence
), known AS (
    SELECT member_id, joined_at, removed_at, removed_by FROM {memberships}
    UNION ALL
    -- A member that has an id may join with it, until it is taken back or out of the group.
    SELECT g.member_id, after(-:slack_ms, g.at), min(o.at),
           min_by(o.event, struct(o.at, o.event))
    FROM {coordinator_events} g LEFT JOIN {coordinator_events} o
      ON same(o, g, `group`, member_id)
     AND o.event IN ('pending_evicted', 'evicted', 'left', 'replaced')
    WHERE g.`group` = :group AND g.event = 'member_id_given'
    GROUP BY g.member_id, g.at
), inside AS (
    SELECT r.member, r.arrived_at, r.evidence, count(m.member_id) AS times
    FROM refused r JOIN known m
      ON m.member_id = r.member_id AND m.joined_at <= r.from_at
     AND (m.removed_at IS NULL OR m.removed_at > r.to_at
          OR r.api IN ('LEAVE_GROUP', 'CONSUMER_GROUP_HEARTBEAT')
             AND m.removed_by = 'left' AND m.removed_at >= r.from_at)
    LEFT ANTI JOIN {own_requests} l
      ON (l.api = 'LEAVE_GROUP'
          OR l.api = 'CONSUMER_GROUP_HEARTBEAT' AND l.generation < 0)
     AND l.member_id = r.member_id AND l.error_code = :NONE
     AND l.arrived_at <= r.arrived_at
    GROUP BY r.member, r.arrived_at, r.evidence
), offered AS (
    SELECT count(DISTINCT IF(api = 'JOIN_GROUP', array_join(assignors, ','), NULL)) AS kinds,
           count(DISTINCT member_id) AS ids
    FROM {own_requests}
), found AS (
    SELECT r.member, r.arrived_at, r.evidence, r.api, r.error_code,
           CASE WHEN r.error_code IN (:COORDINATOR_LOAD_IN_PROGRESS,
                         :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
                THEN IF(s.times > 0, 'of the coordinator in office', NULL)
                WHEN r.error_code = :GROUP_MAX_SIZE_REACHED
                THEN IF(o.ids < IF(r.api = 'JOIN_GROUP', :group_max_size,
                                   :consumer_max_size),
                        'of a group that never was so large', NULL)
                WHEN r.error_code = :UNKNOWN_MEMBER_ID
                     AND (r.api <> 'OFFSET_FETCH' OR r.member_id IS NOT NULL)
                THEN IF(i.times > 0, 'of a member of the group', NULL)
                WHEN r.error_code IN (:FENCED_INSTANCE_ID, :UNRELEASED_INSTANCE_ID)
                THEN IF(r.member_id IS NOT NULL AND v.times IS NULL,
                        'that no other process had the instance id for', NULL)
                WHEN r.error_code = :INCONSISTENT_GROUP_PROTOCOL
                THEN IF(o.kinds = 1, 'although all offered the same assignors', NULL)
                WHEN r.error_code = :UNSTABLE_OFFSET_COMMIT
                THEN IF(:commit <> 'transaction', 'although no member wrote transactions', NULL)
                -- Of the transaction's coordinator, which aborts what takes too long.
                WHEN r.api = 'TXN_OFFSET_COMMIT' AND r.error_code IN (
                         :INVALID_PRODUCER_EPOCH, :PRODUCER_FENCED)
                THEN NULL
                ELSE 'for which this group gave no reason' END AS odd
    FROM refused r CROSS JOIN offered o
    LEFT JOIN steady s ON same(s, r, member, arrived_at, evidence)
    LEFT JOIN rivals v ON same(v, r, member, arrived_at, evidence)
    LEFT JOIN inside i ON same(i, r, member, arrived_at, evidence)
), asked AS (
    SELECT r.member, r.member_id, r.api, r.broker, r.generation, r.error_code, r.evidence,
           after(-:slack_ms, r.arrived_at) AS from_at, r.arrived_at,
           after(:slack_ms, r.processed_at) AS to_at
    FROM {own_requests} r
    WHERE r.api IN ('HEARTBEAT', 'SYNC_GROUP', 'OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT')
      AND r.member_id IS NOT NULL AND r.generation > 0
      AND r.error_code IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS,
                           :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
), removed AS (
    SELECT r.member_id, r.arrived_at, count(m.removed_at) AS times,
           -- Surely out of the group for as long as it was asked.
           count_if(m.removed_at <= r.from_at AND m.removed_by <> 'forgotten'
                    AND (m.back_at IS NULL OR m.back_at > r.to_at)) AS out
    FROM asked r JOIN {removals} m
      ON m.member_id = r.member_id AND m.removed_at <= r.to_at
    GROUP BY r.member_id, r.arrived_at
), stood AS (
    -- Where the group may have been; all of it is known if that began before.
    SELECT r.member_id, r.arrived_at,
           min(s.at) <= r.from_at
               AND bool_and(s.generation IS NOT DISTINCT FROM r.generation) AS own,
           min(s.at) <= r.from_at
               AND bool_and(coalesce(IF(r.api = 'OFFSET_COMMIT',
                                        s.state NOT IN ('CompletingRebalance', 'Assigned'),
                                        s.state <> 'PreparingRebalance'), false)) AS settled
    FROM asked r JOIN {stages} s
      ON s.broker = r.broker AND s.at <= r.to_at AND coalesce(s.until >= r.from_at, true)
    GROUP BY r.member_id, r.arrived_at, r.from_at
), epochs AS (
    -- The epochs that a member may have had: the last that it was given, or one just then.
    SELECT r.member_id, r.arrived_at,
           max_by(h.member_epoch, h.processed_at) FILTER (WHERE h.processed_at < r.from_at)
               AS epoch,
           count_if(h.arrived_at <= r.to_at AND h.processed_at >= r.from_at
                    AND h.member_epoch <> r.generation) AS changes
    FROM asked r JOIN {consumer_heartbeats} h
      ON h.member_id = r.member_id AND h.arrived_at <= r.to_at AND h.error_code = :NONE
    GROUP BY r.member_id, r.arrived_at
), by_state AS (
    SELECT concat(r.member, ' (', r.member_id, ')') AS subject, r.arrived_at AS at, r.evidence,
           CASE WHEN m.out > 0 AND r.error_code <> :UNKNOWN_MEMBER_ID
                THEN 'of a member that was out of the group'
                WHEN m.times > 0 THEN NULL
                WHEN r.error_code = :UNKNOWN_MEMBER_ID THEN 'that was in the group'
                WHEN r.error_code = :ILLEGAL_GENERATION AND s.own
                THEN 'that named the generation of the group'
                WHEN r.error_code = :REBALANCE_IN_PROGRESS AND s.settled
                THEN IF(r.api = 'OFFSET_COMMIT',
                        'that was not between join and assignment',
                        'while the group was stable')
                WHEN r.error_code IN (:FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
                     AND t.epoch = r.generation AND t.changes = 0
                THEN 'that named its own epoch' END AS why,
           concat('was answered ', r.error_code, ' to a ', r.api, ' ', why) AS odd
    FROM asked r
    LEFT JOIN removed m ON same(m, r, member_id, arrived_at)
    LEFT JOIN stood s ON same(s, r, member_id, arrived_at)
    LEFT JOIN epochs t ON same(t, r, member_id, arrived_at)
), moved AS (
    -- The observer sees a change late, and other brokers learn of it late.
    SELECT partition, after(-:NOTICED_MS, at) AS from_at,
           after(IF(before IS NULL, :NEW_MS, :LEARNS_MS),
                 IF(leader >= 0, at, coalesce(next_at, :ended_at))) AS to_at,
           before IS NOT NULL AS changed
    FROM (SELECT *, lag(leader) OVER w AS before, lead(at) OVER w AS next_at
          FROM {topology} WHERE what = 'partition' AND topic = :topic
          WINDOW w AS (PARTITION BY partition ORDER BY at))
    WHERE leader IS DISTINCT FROM before OR coalesce(leader, -1) < 0
), answers AS (
    SELECT *, after(-:slack_ms, arrived_at) AS from_at, after(:slack_ms, processed_at) AS to_at
    FROM ({LOOKED_UP})
    WHERE topic = :topic AND (api = 'LIST_OFFSETS' OR coalesce(request_error_code, 0) = 0)
), unanswered AS (
    SELECT a.* FROM answers a
    LEFT ANTI JOIN {fault_windows} f
      ON f.breaks = 'rights' AND f.resolved = a.member AND f.injecting_at <= a.to_at
     AND coalesce(f.healed_at >= a.from_at, true)
    LEFT ANTI JOIN moved m
      ON m.partition = a.partition AND m.from_at <= a.to_at
     AND (m.to_at >= a.from_at
          OR m.changed AND a.error_code IN (:NOT_LEADER_OR_FOLLOWER, :FENCED_LEADER_EPOCH,
                                            :UNKNOWN_LEADER_EPOCH))
    WHERE a.error_code NOT IN (:NONE, :GROUP_AUTHORIZATION_FAILED,
                               :TOPIC_AUTHORIZATION_FAILED)
      AND (a.api <> 'OFFSET_FETCH' OR a.error_code NOT IN (
               :COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR,
               :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH,
               :STALE_MEMBER_EPOCH))
      AND (a.error_code <> :UNSTABLE_OFFSET_COMMIT OR :commit <> 'transaction')
), by_partition AS (
    SELECT concat(a.member, ' (answers)') AS subject, a.arrived_at AS at, a.evidence,
           bool_or(coalesce(a.error_code, 0) <> 0) AS refused,
           min(concat('was answered ', o.error_code, ' of partition ', o.partition, ' to a ',
                      o.api)) AS odd
    FROM answers a LEFT SEMI JOIN {members} m ON m.member = a.member
    LEFT JOIN unanswered o ON same(o, a, member, evidence)
    GROUP BY a.member, a.arrived_at, a.evidence
), judged AS (
    SELECT concat(q.member, ' (refusals)') AS subject, q.arrived_at AS at, q.evidence,
           f.error_code IS NOT NULL AS refused,
           concat('was answered ', f.error_code, ' to a ', f.api, ' ', f.odd) AS odd
    FROM {own_requests} q LEFT SEMI JOIN askers k ON k.member = q.member
    LEFT JOIN found f ON same(f, q, member, arrived_at, evidence)
    UNION ALL
    SELECT subject, at, evidence, true, odd FROM by_state
    UNION ALL
    SELECT subject, at, evidence, refused, odd FROM by_partition
)
{ODD_ONES} GROUP BY subject
