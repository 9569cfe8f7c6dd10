-- A dynamic member gets an id before it joins
-- A dynamic member that joins without an id is answered MEMBER_ID_REQUIRED (79) with a new id. An
-- id that is not used is dropped after the session timeout. A static member joins at once.
-- why: Clients that try to join again and again do not fill the group with dead members.
-- source: KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember
-- id: X08-wire | rows: joins and unused ids | unit: ms | measured: from the first step to the end
--   of an unused id | low: was dropped too early | high: was dropped too late | protocols: classic
--   | delayed by: probe, toxiproxy, broker | kind: broker

WITH first_steps AS (
    SELECT *, get_json_object(answer, '$.memberId') AS given,
           CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms
    FROM {probed}
    WHERE api = 'JOIN_GROUP' AND member_id IS NULL
      AND error_code NOT IN (:INVALID_SESSION_TIMEOUT, :GROUP_MAX_SIZE_REACHED)
), waited AS (
    SELECT f.`group`, f.given, f.session_ms, f.answered_at,
           after(f.session_ms, f.answered_at) AS due_at,
           min_by(struct(p.sent_at, p.api, p.error_code, p.subject), p.call) AS back
    FROM first_steps f LEFT JOIN {probed} p
      ON p.`group` = f.`group` AND p.member_id = f.given
    WHERE f.error_code = :MEMBER_ID_REQUIRED GROUP BY ALL
), dropped AS (
    SELECT w.*, r.arrived_at, e.at, e.evidence, ms_between(r.arrived_at, e.at) AS ms,
           coalesce(ms_between(r.arrived_at, r.processed_at), 0) AS answering_ms
    FROM waited w
    LEFT JOIN {requests} r ON r.`group` = w.`group` AND r.member_id = w.given
         AND r.api = 'JOIN_GROUP' AND r.error_code = :MEMBER_ID_REQUIRED
    LEFT JOIN {coordinator_events} e ON e.`group` = w.`group` AND e.member_id = w.given
         AND e.event = 'pending_evicted'
)
SELECT concat('unused id (', `group`, ')') AS subject, coalesce(at, due_at) AS at,
       ms AS measured, session_ms - :slack_ms AS bound_low,
       session_ms + answering_ms + :slack_ms AS bound_high,
       IF(at IS NULL, 'was never dropped', NULL) AS wrong,
       IF(at IS NOT NULL AND arrived_at IS NULL, 'its request was not recorded', NULL) AS unknown,
       CAST(NULL AS STRING) AS note, evidence, guard_from(due_at, at) AS guard_from,
       at AS guard_to
FROM dropped
WHERE (back.sent_at IS NULL OR back.sent_at > after(:slack_ms, due_at))
  AND due_at < after(-1000, :stopped_at)
UNION ALL
SELECT subject, sent_at, NULL, NULL, NULL,
       CASE WHEN (instance_id IS NULL) <> (error_code = :MEMBER_ID_REQUIRED)
            THEN clause('was answered ', error_code, ' as a ',
                        IF(instance_id IS NULL, 'dynamic', 'static'), ' member')
            WHEN instance_id IS NULL AND coalesce(given, '') = '' THEN 'was given no id' END,
       NULL, NULL, NULL, NULL, NULL
FROM first_steps
UNION ALL
SELECT back.subject, back.sent_at, NULL, NULL, NULL,
       CASE WHEN (back.sent_at < due_at) = (back.error_code = :UNKNOWN_MEMBER_ID)
            THEN concat('was answered ', back.error_code, ' with an id given ',
                        ms_between(answered_at, back.sent_at), ' ms before') END,
       IF(back.sent_at BETWEEN after(-:slack_ms, due_at) AND after(:slack_ms, due_at),
          'came when its id was due to be dropped', NULL),
       concat('came ', ms_between(answered_at, back.sent_at), ' ms after its id was given'),
       NULL, NULL, NULL
FROM dropped WHERE back.api = 'JOIN_GROUP'
