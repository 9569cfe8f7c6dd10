-- The effect of a LeaveGroup depends on the group's state
-- A LeaveGroup does nothing in an empty or unknown group, and starts a rebalance in a Stable or
-- CompletingRebalance group. In a PreparingRebalance group it starts none, and completes the join
-- if the leaving member was the last one missing. A member, or an id that was given out and not
-- used yet, is answered 0; a request with another member's instance id FENCED_INSTANCE_ID (82); any
-- other request UNKNOWN_MEMBER_ID (25). The answer names who was named.
-- why: The partitions of a consumer that closes are taken over at once, not after its session.
-- source: document 003, LEAVE_GROUP; GroupMetadataManager.classicGroupLeaveToClassicGroup; KIP-345
-- id: R29-wire | rows: leaves | unit: ms | measured: from the leave to its effect | protocols:
--   classic | delayed by: probe, toxiproxy, broker | kind: broker
--
-- Administrators remove a static member by its instance id alone. A broker that is not the
-- coordinator, or not ready, answers nothing about the member. What a member is to be answered that
-- is removed otherwise in that moment is not known.

-- let LEAVER = 'array<struct<memberId:string,groupInstanceId:string>>'

WITH leaves AS (
    SELECT p.*, e.at AS left_at, e.evidence
    FROM {probed} p LEFT JOIN {coordinator_events} e
      ON e.event = 'left' AND same(e, p, `group`, member_id)
     AND e.at >= p.sent_at AND e.at <= p.answered_at
    WHERE p.api = 'LEAVE_GROUP'
),
-- Members that have not rejoined.
absent AS (
    SELECT l.call, m.member_id
    FROM leaves l JOIN {probe_members} m
      ON m.`group` = l.`group` AND m.member_id <> l.member_id AND m.from_at < l.left_at
     AND (m.to_at IS NULL OR m.to_at > l.left_at)
    LEFT ANTI JOIN {probe_joins} j
      ON same(j, m, `group`, member_id) AND j.sent_at < l.left_at
     AND j.answered_at > l.left_at
    WHERE l.left_at IS NOT NULL
),
ids AS (
    SELECT `group`, sent_at, get_json_object(answer, '$.memberId') AS member_id
    FROM {probed} WHERE api = 'JOIN_GROUP' AND error_code = :MEMBER_ID_REQUIRED
),
-- Newcomers that were given an id, have not come back with it, and are waited for.
expected AS (
    SELECT l.call, i.member_id
    FROM leaves l JOIN ids i ON i.`group` = l.`group` AND i.sent_at < l.left_at
    LEFT ANTI JOIN {probed} b ON same(b, i, `group`, member_id) AND b.sent_at < l.left_at
    LEFT ANTI JOIN {coordinator_events} e
      ON same(e, i, `group`, member_id) AND e.event = 'pending_evicted' AND e.at < l.left_at
), missing AS (
    SELECT call, count(*) AS missing
    FROM (SELECT * FROM absent UNION ALL SELECT * FROM expected) GROUP BY call
),
-- What comes after another member's leave or join may be the doing of that one.
spans AS (
    SELECT l.call, min(c.at) AS until_at
    FROM leaves l JOIN (
        SELECT `group`, at FROM {coordinator_events} WHERE event IN ('left', 'member_added')
        UNION ALL
        SELECT `group`, sent_at FROM {probed} WHERE api = 'JOIN_GROUP') c
      ON c.`group` = l.`group` AND c.at > coalesce(l.left_at, l.sent_at)
    GROUP BY l.call
), followed AS (
    SELECT l.call,
           min(e.at) FILTER (WHERE e.event = 'rebalance_started') AS started_at,
           min(e.at) FILTER (WHERE e.event IN ('stabilized', 'emptied')) AS completed_at,
           min(e.at) AS at
    FROM leaves l LEFT JOIN spans s USING (call) JOIN {coordinator_events} e
      ON e.`group` = l.`group` AND e.event IN ('rebalance_started', 'stabilized', 'emptied')
     AND e.at >= coalesce(l.left_at, l.sent_at)
     AND (s.until_at IS NULL OR e.at < s.until_at)
     AND e.at <= after(:START_MS + :slack_ms, coalesce(l.left_at, l.answered_at))
    GROUP BY l.call
), unused AS (
    SELECT DISTINCT l.call
    FROM leaves l JOIN ids i ON same(i, l, `group`, member_id) AND i.sent_at < l.sent_at
    LEFT ANTI JOIN {probed} b ON same(b, l, `group`, member_id) AND b.sent_at < l.sent_at
     AND b.api IN ('JOIN_GROUP', 'LEAVE_GROUP') AND b.error_code = :NONE
    LEFT ANTI JOIN {coordinator_events} e
      ON same(e, l, `group`, member_id) AND e.event = 'pending_evicted' AND e.at < l.answered_at
), due AS (
    SELECT l.call,
           CASE WHEN l.error_code IN (:COORDINATOR_LOAD_IN_PROGRESS,
                        :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR) THEN NULL
                WHEN min(m.to_at) IS NOT NULL THEN NULL
                WHEN l.instance_id IS NOT NULL AND l.owner IS NULL
                THEN :UNKNOWN_MEMBER_ID
                WHEN l.instance_id IS NOT NULL AND l.owner <> l.member_id
                THEN :FENCED_INSTANCE_ID
                WHEN l.known OR l.left_at IS NOT NULL OR count(u.call) > 0
                  OR l.instance_id IS NOT NULL AND l.member_id IS NULL THEN :NONE
                ELSE :UNKNOWN_MEMBER_ID END AS code
    FROM leaves l LEFT JOIN unused u ON u.call = l.call
    LEFT JOIN {probe_members} m ON same(m, l, `group`, member_id) AND m.ended_by <> 'left'
     AND m.to_at >= l.sent_at AND m.to_at <= l.answered_at
    GROUP BY l.call, l.error_code, l.instance_id, l.owner, l.member_id, l.known, l.left_at
), judged AS (
    SELECT l.*, d.code,
           array_join(transform(from_json(get_json_object(request, '$.members'), {LEAVER}),
               m -> concat_ws('/', m.memberId, m.groupInstanceId)), ' ') AS named,
           array_join(transform(from_json(get_json_object(answer, '$.members'), {LEAVER}),
               m -> concat_ws('/', m.memberId, m.groupInstanceId)), ' ') AS names,
           -- A member that is removed by its instance id alone may be named by either id.
           l.member_id IS NOT NULL AND get_json_object(answer, '$.errorCode') = '0' AS each,
           CASE WHEN l.left_at IS NULL THEN 'nothing'
                WHEN l.state_before IN ('Stable', 'CompletingRebalance') THEN 'a rebalance'
                WHEN l.state_before = 'PreparingRebalance' AND m.missing IS NULL
                THEN 'the end of the join phase'
                ELSE 'nothing' END AS must,
           CASE WHEN f.started_at IS NOT NULL THEN 'a rebalance'
                WHEN f.completed_at IS NOT NULL THEN 'the end of the join phase'
                ELSE 'nothing' END AS came,
           ms_between(l.left_at, f.at) AS ms
    FROM leaves l JOIN due d USING (call) LEFT JOIN missing m USING (call)
    LEFT JOIN followed f USING (call)
)
SELECT subject, coalesce(left_at, sent_at) AS at, ms AS measured,
       IF(must <> 'nothing', :START_MS + :slack_ms, NULL) AS bound_high,
       CASE WHEN state_before = 'Stable' AND known AND left_at IS NULL
            THEN clause('did not leave the group, answered ', error_code)
            WHEN must <> came
            THEN concat_ws(' in state ', concat('was followed by ', came, ', not by ',
                                                must), state_before)
            WHEN error_code <> code
            THEN clause('was answered ', error_code, ', not ', code)
            WHEN each AND named <> names
            THEN clause('named ', named, ' and was answered of ', names) END AS wrong,
       concat('followed by ', came, ' in state ', state_before, ', answered ', error_code) AS note,
       evidence, IF(must <> 'nothing', left_at, NULL) AS guard_from,
       after(:START_MS + :slack_ms, left_at) AS guard_to
FROM judged
