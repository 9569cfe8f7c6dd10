-- A dynamic member joins in two steps
-- A dynamic member first gets an id and then joins with it, once each. A static member joins in one
-- step.
-- why: Otherwise a JoinGroup that is sent again because its answer was lost would add a member
--   without a process, and each rebalance would wait for it.
-- source: KIP-394
-- id: X08-members | rows: joins | unit: ms | measured: from the id to the join | protocols: classic
--   | kind: always
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
)
SELECT concat('join of ', member_id) AS subject, first.at AS at,
       ms_between(given_at, first.at) AS measured,
       CASE WHEN given <> 1 OR added <> 1
            THEN clause('was given its id ', given, ' times and added ', added, ' times')
            WHEN given_at > first.at THEN 'was added before it was given its id'
            END AS wrong,
       first.evidence AS evidence
FROM dynamic
UNION ALL
SELECT concat('id of ', member_id), at, NULL,
       clause('was given to ', member, ' and not used; it had, or was given, ', other,
              ' as well'), evidence
FROM unused WHERE other IS NOT NULL
UNION ALL
SELECT concat('join of static ', instance_id), at, NULL,
       IF(sent_back > 0, concat('was sent back for an id ', sent_back, ' times'), NULL),
       evidence
FROM static
