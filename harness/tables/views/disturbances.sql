-- When a fault held up heartbeats: of its `member`, or of everybody where that is null.

SELECT m.member, f.injecting_at AS from_at, coalesce(f.healed_at, :ended_at) AS to_at
FROM {fault_windows} f LEFT JOIN {members} m ON m.member = f.resolved
WHERE f.disturbs_heartbeats AND f.injecting_at IS NOT NULL
