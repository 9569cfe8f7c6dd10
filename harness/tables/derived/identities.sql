-- One row per member id: whose it was, its instance id, and its session timeout.

SELECT member_id, any_value(member) AS member, max(instance_id) AS instance_id,
       max(session_timeout_ms) AS session_timeout_ms
FROM {memberships} GROUP BY member_id
