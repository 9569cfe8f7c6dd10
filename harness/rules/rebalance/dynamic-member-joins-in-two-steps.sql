-- A dynamic member joins in two steps
-- A dynamic member that joins without an id is answered MEMBER_ID_REQUIRED (79) with a new id, and
-- then joins with it, once each. An id that is not used is dropped after the session timeout. A
-- static member joins in one step.
-- why: Otherwise a JoinGroup that is sent again because its answer was lost would add a member
--   without a process, and each rebalance would wait for it.
-- source: KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember
-- id: X08-members | was: X08-wire | rows: joins and unused ids | unit: ms | measured: from the id
--   to the join, or to its end | low: was dropped too early | high: was dropped too late |
--   protocols: classic | delayed by: probe, toxiproxy, broker | kind: always
--
-- An id that was given and never came back is no join. But a member of ours that was given one and
-- comes for another did not use it, which only an answer that was lost in a disturbance explains.

WITH asked AS (
    SELECT *, lead(struct(arrived_at, error_code, member_id)) OVER w AS next
    FROM {own_requests} WHERE api = 'JOIN_GROUP'
    WINDOW w AS (PARTITION BY member ORDER BY arrived_at)
), unused AS (
    SELECT a.member, a.member_id, a.arrived_at AS at, a.evidence,
           coalesce(min(m.member_id),
                    max(a.next.member_id) FILTER (
                        WHERE a.next.error_code = :MEMBER_ID_REQUIRED
                          AND a.next.member_id <> a.member_id
                          AND a.next.arrived_at < after(:session_ms, a.answered_at))) AS other
    -- What it is in the group by already.
    FROM asked a LEFT JOIN {memberships} m
      ON m.member = a.member AND m.member_id <> a.member_id
     AND m.joined_at < a.arrived_at
     AND (m.removed_at IS NULL OR m.removed_at > after(:slack_ms, a.arrived_at))
    LEFT ANTI JOIN {own_requests} u
      ON u.member_id = a.member_id AND u.api = 'JOIN_GROUP'
     AND u.error_code <> :MEMBER_ID_REQUIRED
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = a.member, true)
     AND d.from_at <= coalesce(a.next.arrived_at, a.answered_at)
     AND after(:session_ms, d.to_at) >= a.arrived_at
    WHERE a.error_code = :MEMBER_ID_REQUIRED AND a.program IS NULL
    GROUP BY a.member, a.member_id, a.arrived_at, a.evidence
), dynamic AS (
    SELECT member_id, count_if(event = 'member_id_given') AS given,
           count_if(event = 'member_added') AS added,
           min(at) FILTER (WHERE event = 'member_id_given') AS given_at,
           min(struct(at, evidence)) FILTER (WHERE event = 'member_added') AS first
    FROM {coordinator_events} e
    LEFT ANTI JOIN (SELECT DISTINCT member_id FROM {requests}
                    WHERE instance_id IS NOT NULL) s ON s.member_id = e.member_id
    WHERE `group` = :group AND event IN ('member_id_given', 'member_added')
      AND instance_id IS NULL
      -- Joins of a group of KIP-848, by whichever protocol, have one step.
      AND coalesce(reason, '') NOT LIKE '% joins the consumer group %'
    GROUP BY member_id HAVING count_if(event = 'member_added') > 0
), static AS (
    SELECT instance_id, count_if(error_code = :MEMBER_ID_REQUIRED) AS sent_back,
           min(arrived_at) AS at, min(evidence) AS evidence
    FROM {own_requests} WHERE api = 'JOIN_GROUP' AND instance_id IS NOT NULL
    GROUP BY instance_id
), first_steps AS (
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
SELECT concat('join of ', member_id) AS subject, first.at AS at,
       ms_between(given_at, first.at) AS measured, CAST(NULL AS BIGINT) AS bound_low,
       CAST(NULL AS BIGINT) AS bound_high,
       CASE WHEN given <> 1 OR added <> 1
            THEN clause('was given its id ', given, ' times and added ', added, ' times')
            WHEN given_at > first.at THEN 'was added before it was given its id'
            END AS wrong,
       CAST(NULL AS STRING) AS unknown, CAST(NULL AS STRING) AS note, first.evidence AS evidence,
       CAST(NULL AS TIMESTAMP) AS guard_from, CAST(NULL AS TIMESTAMP) AS guard_to
FROM dynamic
UNION ALL
SELECT concat('id of ', member_id), at, NULL, NULL, NULL,
       clause('was given to ', member, ' and not used; it had, or was given, ', other,
              ' as well'), NULL, NULL, evidence, NULL, NULL
FROM unused WHERE other IS NOT NULL
UNION ALL
SELECT concat('join of static ', instance_id), at, NULL, NULL, NULL,
       IF(sent_back > 0, concat('was sent back for an id ', sent_back, ' times'), NULL),
       NULL, NULL, evidence, NULL, NULL
FROM static
UNION ALL
SELECT concat('unused id (', `group`, ')'), coalesce(at, due_at),
       ms, session_ms - :slack_ms, session_ms + answering_ms + :slack_ms,
       IF(at IS NULL, 'was never dropped', NULL),
       IF(at IS NOT NULL AND arrived_at IS NULL, 'its request was not recorded', NULL),
       NULL, evidence, guard_from(due_at, at), at
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
