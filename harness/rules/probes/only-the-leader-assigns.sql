-- Only the leader assigns partitions
-- A follower's SyncGroup is answered only after the leader's SyncGroup has brought the assignment.
-- Each member gets what the leader gave it, whatever its own SyncGroup says. Only the leader is
-- answered with the members.
-- why: The assignor runs in one consumer, so a slow leader keeps all the others waiting.
-- source: document 001, SyncGroup; document 003, the group's state machine
-- id: R13 | rows: answers to SyncGroup and JoinGroup | unit: ms | measured: from the leader's
--   SyncGroup to a follower's answer | low: was answered before the leader's SyncGroup had arrived
--   | protocols: classic | kind: broker
--
-- Of followers under test, brokers' logs show both answers; a static one that took another's place
-- since, and a generation whose leader's SyncGroup is on no log, are not examined.

WITH brought AS (
    SELECT `group`, member_id, generation, arrived_at, processed_at, evidence
    FROM {requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
), syncs AS (
    SELECT c.*, get_json_object(c.answer, '$.assignment') AS got,
           from_json(get_json_object(c.request, '$.assignments'),
                     'array<struct<memberId:string,assignment:string>>') AS given
    FROM {calls} c WHERE c.api = 'SYNC_GROUP' AND c.error_code = :NONE
), elected AS (
    -- Where a static leader's place is taken, its heir hears later that it leads.
    SELECT `group`, generation, min_by(leader, struct(answered_at, leader)) AS leader
    FROM {probe_joins} GROUP BY `group`, generation
), of_leaders AS (
    SELECT s.`group`, s.generation, e.leader, min(s.sent_at) AS sent_at,
           min(r.arrived_at) AS arrived_at,
           min_by(s.given, struct(s.sent_at, s.step)) AS given
    FROM syncs s JOIN elected e
      ON same(e, s, `group`, generation) AND e.leader = s.member_id
    LEFT JOIN brought r ON same(r, s, `group`, member_id, generation)
    -- Only the first one assigns; a later one is answered what that gave.
    WHERE size(s.given) > 0 GROUP BY s.`group`, s.generation, e.leader
), answered AS (
    SELECT s.*, l.sent_at AS leader_sent_at, l.leader = s.member_id AS leads, r.evidence,
           coalesce(get(filter(l.given, g -> g.memberId IN (s.member_id, m.member_id)), 0)
                        .assignment, '') AS given_to_it,
           get(filter(s.given, g -> g.memberId = s.member_id), 0).assignment AS own_wish,
           ms_between(l.arrived_at, r.processed_at) AS ms
    FROM syncs s JOIN of_leaders l ON same(l, s, `group`, generation)
    -- The heir of a static member has the part that was given to that.
    LEFT JOIN {probe_members} m ON m.`group` = s.`group` AND m.replaced_by = s.member_id
    LEFT JOIN brought r
      ON same(r, s, `group`, member_id, generation) AND l.leader <> s.member_id
    -- A leader's SyncGroup without an answer may have assigned something else before.
    LEFT ANTI JOIN {calls} c
      ON l.leader = s.member_id AND c.api = 'SYNC_GROUP' AND c.error_code IS NULL
     AND c.sent_at < s.sent_at AND same(c, s, `group`, member_id, generation)
), own_syncs AS (
    SELECT s.*, coalesce(g.number, 0) AS number, g.synced_at
    FROM {own_requests} s LEFT JOIN {generations} g
      ON same(g, s, broker, generation) AND in_time_of(g, s.processed_at)
    WHERE s.api = 'SYNC_GROUP' AND s.error_code = :NONE
), own_leads AS (
    SELECT broker, generation, number, min_by(member_id, arrived_at) AS leader,
           min(arrived_at) AS at, min_by(assignments, arrived_at) AS assignments
    FROM own_syncs WHERE size(assignments) > 0 GROUP BY broker, generation, number
), own AS (
    SELECT s.member, s.generation, s.processed_at, s.evidence,
           -- The leader's request may be stamped late, the coordinator's line of it is not.
           least(l.at, s.synced_at) AS led_at,
           array_join(array_sort(transform(
               filter(l.assignments, a -> a.member_id = s.member_id),
               a -> concat(a.topic, '-', a.partition))), ' ') AS gave,
           coalesce(array_join(array_sort(transform(s.assigned,
               a -> concat(a.topic, '-', a.partition))), ' '), '') AS got
    FROM own_syncs s JOIN own_leads l
      ON same(l, s, broker, generation, number) AND l.leader <> s.member_id
    WHERE s.instance_id IS NULL OR exists(l.assignments, a -> a.member_id = s.member_id)
)
SELECT concat(step, ' (', `group`, ')') AS subject, answered_at AS at, ms AS measured,
       IF(leads, NULL, -:slack_ms) AS bound_low,
       CASE WHEN ms IS NULL AND NOT leads
            THEN 'no SyncGroup of it or of the leader is on record'
            WHEN got IS NULL THEN 'its answer names no assignment' END AS unknown,
       CASE WHEN answered_at < leader_sent_at AND NOT leads
            THEN 'was answered before the leader assigned'
            WHEN got <> given_to_it
            THEN clause('did not get what ', IF(leads, 'it gave itself', 'the leader gave it'))
            END AS wrong,
       CASE WHEN own_wish IS NOT NULL AND NOT leads
            THEN 'got what the leader gave it, and not what it gave itself' END AS note,
       evidence
FROM answered
UNION ALL
SELECT concat(step, ' (', `group`, ')'), answered_at, NULL, NULL, NULL,
       CASE WHEN leader = member_id AND NOT told_members
            THEN 'the leader was not answered with the members'
            WHEN leader <> member_id AND told_members
            THEN 'a follower was answered with the members' END, NULL, NULL
FROM {probe_joins}
-- A static member that takes its place in a stable group is answered what its client needs.
WHERE NOT (instance_id IS NOT NULL AND state_before = 'Stable')
UNION ALL
SELECT concat(member, ' in generation ', generation), processed_at,
       ms_between(led_at, processed_at), -:slack_ms, NULL,
       CASE WHEN got <> gave THEN 'did not get what the leader gave it' END, NULL, evidence
FROM own
