-- One row per JoinGroup of a probe that was accepted, with the id that it was answered.

SELECT `group`, get_json_object(answer, '$.memberId') AS member_id, instance_id, broker,
       CAST(get_json_object(answer, '$.generationId') AS INT) AS generation,
       get_json_object(answer, '$.leader') AS leader,
       get_json_object(answer, '$.members[0].memberId') IS NOT NULL AS told_members,
       CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms,
       CAST(get_json_object(request, '$.rebalanceTimeoutMs') AS INT) AS rebalance_ms,
       get_json_object(request, '$.protocols[0].metadata') AS metadata,
       state_before, sent_at, answered_at, step
FROM {calls} WHERE api = 'JOIN_GROUP' AND error_code = 0
