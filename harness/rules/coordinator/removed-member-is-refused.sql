-- Who is out of the group is not accepted
-- A heartbeat, a sync, a leave or a commit of a member id that left, was evicted, fenced or
-- replaced is refused from then on, until the same id joins anew. A group with members refuses
-- commits without a member id, and does not delete positions that it needs.
-- why: A process that was put out and does not hear of it goes on with partitions of others.
-- source: ClassicGroup.validateMember; KIP-848, Member ID
-- id: X62 | rows: member ids that were out, and clients that were no members | unit: requests |
--   measured: accepted | high: was accepted although it was out of the group | kind: broker, in
--   passing, compares clocks
--
-- A coordinator keeps a removal in its memory until a generation without the member, or an epoch,
-- is stored: a broker that loads the group before that has the member still. One that was paused,
-- or cut off, goes on by itself until it learns that it coordinates the group no more.

WITH loads AS (
    SELECT t.from_at AS at, max(r.processed_at) AS stored_at
    FROM {tenures} t LEFT JOIN {own_requests} r
      ON r.broker = t.broker_before AND r.processed_at < t.from_at AND r.error_code = :NONE
     AND r.api IN ('SYNC_GROUP', 'CONSUMER_GROUP_HEARTBEAT')
    WHERE t.loaded GROUP BY t.from_at
), later AS (
    SELECT m.member, m.member_id, m.removed_at, m.removed_by, m.evidence AS line,
           r.api, r.arrived_at, r.error_code, r.evidence
    FROM {removals} m LEFT JOIN {own_requests} r
      ON r.member_id = m.member_id
     AND r.arrived_at > after(:STAMP_LATE_MS, m.removed_at)
     AND (m.back_at IS NULL OR r.arrived_at < after(-:slack_ms, m.back_at))
     AND (r.api IN ('HEARTBEAT', 'SYNC_GROUP', 'LEAVE_GROUP')
          OR r.api = 'OFFSET_COMMIT' AND r.generation > 0
         OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation <> 0)
    LEFT ANTI JOIN {unsettled} f
      ON NOT f.killed AND f.from_at <= r.arrived_at AND f.to_at >= m.removed_at
    LEFT ANTI JOIN loads l
      ON l.at > after(-:slack_ms, m.removed_at) AND l.at <= after(:slack_ms, r.processed_at)
     AND coalesce(l.stored_at <= m.removed_at, true)
    WHERE m.removed_by <> 'forgotten'
)
SELECT concat(min(member), ' (', member_id, ')') AS subject, removed_at AS at,
       count_if(error_code IN (:NONE, :REBALANCE_IN_PROGRESS)) AS measured, 0 AS bound_high,
       concat(min(removed_by), '; ', count(api), ' requests after it') AS note,
       coalesce(min(IF(error_code IN (:NONE, :REBALANCE_IN_PROGRESS), evidence, NULL)),
                min(line)) AS evidence
FROM later GROUP BY member_id, removed_at
UNION ALL
SELECT concat(r.member, ' (no member)'), min(r.arrived_at),
       count_if(r.error_code = :NONE), 0, concat(count(*), ' requests of no member'),
       min(r.evidence)
FROM {own_requests} r LEFT SEMI JOIN {memberships} m
  ON m.joined_at < after(-:slack_ms, r.arrived_at)
 AND (m.removed_at IS NULL OR m.removed_at > after(:slack_ms, r.processed_at))
LEFT ANTI JOIN {unsettled} f ON NOT f.killed AND r.arrived_at BETWEEN f.from_at AND f.to_at
WHERE r.api = 'OFFSET_DELETE' OR r.api = 'OFFSET_COMMIT' AND r.member_id IS NULL
GROUP BY r.member
