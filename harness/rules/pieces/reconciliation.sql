-- KIP-848: when the coordinator computes targets, gives partitions and takes them.

-- let GIVEN_AND_TAKEN
--   What the coordinator gave and took, by the answers to heartbeats, one row per partition. An
--   answer without an assignment changes nothing. `acked_at` is the first heartbeat, from the
--   answered one on, whose owned partitions leave the taken one out: until then the partition is
--   the member's. A heartbeat that names no owned partitions does not count
--   (CurrentAssignmentBuilder, ownsRevokedPartitions).
WITH stays AS (
    SELECT b.*, m.stay, m.removed_at, m.removed_by,
           CAST(coalesce(max(b.rebalance_timeout_ms) OVER (PARTITION BY b.member_id),
                         :max_poll_ms) AS BIGINT) AS limit_ms
    FROM {consumer_heartbeats} b JOIN {memberships} m
      ON m.member_id = b.member_id AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
     AND (m.until_at IS NULL OR b.arrived_at <= m.until_at)
    WHERE b.error_code = :NONE AND b.generation >= 0
), answers AS (
    SELECT *, lag(assigned) OVER (PARTITION BY stay ORDER BY arrived_at, evidence)
                  AS assigned_before
    FROM stays WHERE assigned IS NOT NULL
), given AS (
    SELECT *, explode(CASE WHEN assigned_before IS NULL THEN assigned
                           ELSE array_except(assigned, assigned_before) END) AS part
    FROM answers
), taken AS (
    SELECT *, explode(array_except(assigned_before, assigned)) AS part FROM answers
), acked AS (
    SELECT t.stay, t.part, t.member, t.arrived_at, t.processed_at, t.removed_at, t.removed_by,
           t.limit_ms, t.evidence, min(s.arrived_at) AS acked_at
    FROM taken t LEFT JOIN stays s
      ON s.stay = t.stay AND s.arrived_at >= t.arrived_at AND s.owned IS NOT NULL
     AND NOT array_contains(s.owned, t.part)
    GROUP BY ALL
)
