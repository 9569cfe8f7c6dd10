-- Static members of KIP-848: they leave for now with epoch -2, and are refused while they run.

-- let LEFT_FOR_NOW
--   Stays of static members that left for now (epoch -2), and since when.
gone AS (
    SELECT m.stay, m.member_id, m.instance_id, m.removed_at, m.removed_by,
           min(b.arrived_at) AS at
    FROM {consumer_heartbeats} b JOIN {memberships} m
      ON m.member_id = b.member_id AND m.instance_id IS NOT NULL
     AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
     AND (m.removed_at IS NULL OR b.arrived_at < m.removed_at)
    WHERE b.generation = -2 AND b.error_code = :NONE
    GROUP BY ALL
)

-- let SEEN_AS_GONE = after(IF(o.removed_by = 'replaced', :slack_ms, 0), o.removed_at)
--   Until when a join may seem to arrive that found a member `o` still there, as the join that
--   replaced it did: a request's line is stamped after its answer.
