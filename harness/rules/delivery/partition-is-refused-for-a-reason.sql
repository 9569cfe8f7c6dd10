-- No partition of a request is refused without a reason
-- A coordinator answers a member's OffsetFetch, and a leader its ListOffsets, without an error for
-- any partition of the topic, unless the partition is new, its leader changes, a transaction is
-- open, or the member is out of the group or lacks a right.
-- why: A member that does not learn where to begin does not read its partition, and its client asks
--   again in silence.
-- source: document 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets; ReplicaManager,
--   fetchOffset
-- id: X106 | rows: members | unit: answers | measured: with an error for a partition | high: was
--   not answered for a partition | kind: broker, in passing, compares clocks
--
-- X70 is about what refuses an OffsetFetch as a whole, which older versions say of each partition.
-- A client that does not read a partition may ask its former leader long after that has changed.

-- let NEW_MS = 1000
--   How much later than the observer sees the leader of a new partition its brokers may know of it.
--   Members that ask 0.6 s after it are answered.

-- let SAYS = {FIRST_ODD} AS wrong, concat(count(*), ' answers') AS note

WITH moved AS (
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
), odd AS (
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
), judged AS (
    SELECT concat(a.member, ' (answers)') AS subject, a.arrived_at AS at, a.evidence,
           min(concat('was answered ', o.error_code, ' of partition ', o.partition, ' to a ',
                      o.api)) AS odd
    FROM answers a LEFT SEMI JOIN {members} m ON m.member = a.member
    LEFT JOIN odd o ON same(o, a, member, evidence)
    GROUP BY a.member, a.arrived_at, a.evidence
)
{ODD_ONES} GROUP BY subject
