-- A member that is in order is not refused
-- The coordinator refuses a heartbeat, a sync or a commit only with a reason: UNKNOWN_MEMBER_ID
-- (25) to a member that it removed, and no other error to that, ILLEGAL_GENERATION (22) to another
-- generation than the group's, REBALANCE_IN_PROGRESS (27) to a heartbeat or a sync while it waits
-- for members, and to a commit between join and assignment, and FENCED_MEMBER_EPOCH (110) or
-- STALE_MEMBER_EPOCH (113) to another epoch than the member's.
-- why: A member that is refused gives up its partitions, or repeats its work: each refusal without
--   a reason is a standstill without one.
-- source: ClassicGroup.validateMember and validateOffsetCommit;
--   GroupMetadataManager.classicGroupHeartbeat; KIP-848
-- id: X56 | rows: members | unit: requests | measured: refused without a reason | high: was refused
--   without a reason | kind: broker, in passing, compares clocks
--
-- What was so at any moment between its arrival, less the slack, and its answer is a reason. A
-- broker that loads the group knows the generation that was stored. A commit is for several
-- partitions, each of which may have been given at another epoch. An assignment is there when it is
-- stored, and not with the line that the leader has sent it.

-- let SAYS
{FIRST_ODD} AS wrong, concat(count(*), IF(count(*) = 1, ' refusal', ' refusals')) AS note

-- query
WITH refused AS (
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
    FROM refused r JOIN {removals} m
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
    FROM refused r JOIN {stages} s
      ON s.broker = r.broker AND s.at <= r.to_at AND coalesce(s.until >= r.from_at, true)
    GROUP BY r.member_id, r.arrived_at, r.from_at
), epochs AS (
    -- The epochs that a member may have had: the last that it was given, or one just then.
    SELECT r.member_id, r.arrived_at,
           max_by(h.member_epoch, h.processed_at) FILTER (WHERE h.processed_at < r.from_at)
               AS epoch,
           count_if(h.arrived_at <= r.to_at AND h.processed_at >= r.from_at
                    AND h.member_epoch <> r.generation) AS changes
    FROM refused r JOIN {consumer_heartbeats} h
      ON h.member_id = r.member_id AND h.arrived_at <= r.to_at AND h.error_code = :NONE
    GROUP BY r.member_id, r.arrived_at
), judged AS (
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
    FROM refused r
    LEFT JOIN removed m ON same(m, r, member_id, arrived_at)
    LEFT JOIN stood s ON same(s, r, member_id, arrived_at)
    LEFT JOIN epochs t ON same(t, r, member_id, arrived_at)
)
{ODD_ONES} GROUP BY subject
