-- Every other refusal has a reason as well
-- A request of a member is refused with COORDINATOR_LOAD_IN_PROGRESS (14),
-- COORDINATOR_NOT_AVAILABLE (15) or NOT_COORDINATOR (16) only while the coordinator changes, and by
-- brokers that do not coordinate the group. A JoinGroup or LeaveGroup is refused with
-- UNKNOWN_MEMBER_ID (25) only if the member was out. FENCED_INSTANCE_ID (82) and
-- UNRELEASED_INSTANCE_ID (111) need another process with the instance id,
-- INCONSISTENT_GROUP_PROTOCOL (23) members whose assignors differ, GROUP_MAX_SIZE_REACHED (81) a
-- full group, UNSTABLE_OFFSET_COMMIT (88) a transaction. No other error is an answer to a member
-- that is in order.
-- why: A client retries most of these errors in silence, so what its group waits for remains
--   unseen.
-- source: GroupCoordinatorService; ClassicGroup.validateMember; KIP-345; KIP-447; KIP-848
-- id: X70 | rows: members | unit: requests | measured: refused without a reason | high: was refused
--   without a reason | kind: broker, in passing, compares clocks
--
-- X56 and rules about rights examine other refusals. COORDINATOR_NOT_AVAILABLE (15) is also the
-- answer where the offsets topic cannot be written to, or a write to it has not reached its
-- replicas in time, because a broker is gone or has just come back (CoordinatorRuntime). What a
-- member sends to a transaction is asked of the transaction's coordinator as well.

-- let SAYS
{FIRST_ODD} AS wrong, concat(count(error_code), ' refusals of ', count(*), ' requests') AS note

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
), judged AS (
    SELECT concat(q.member, ' (refusals)') AS subject, q.arrived_at AS at, q.evidence,
           f.error_code, concat('was answered ', f.error_code, ' to a ', f.api, ' ', f.odd) AS odd
    FROM {own_requests} q LEFT SEMI JOIN askers k ON k.member = q.member
    LEFT JOIN found f ON same(f, q, member, arrived_at, evidence)
)
{ODD_ONES} GROUP BY subject
