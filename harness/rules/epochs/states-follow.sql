-- A KIP-848 group is Assigning, then Reconciling, then Stable
-- A KIP-848 group is Assigning from a new group epoch until its target assignment is computed, then
-- Reconciling until its members have followed it, and then Stable.
-- why: Monitoring that looks for the classic states sees nothing, because none of them is left.
-- source: KIP-848, ConsumerGroupDescribe; ConsumerGroup.maybeUpdateGroupState
-- id: R33-epochs | rows: states seen | unit: states | protocols: consumer | delayed by: broker |
--   kind: broker, in passing
--
-- Where the coordinator changed the group just then, the answer may be of before or after: it
-- describes what has been replicated. The members have followed their target where, for longer than
-- from one heartbeat to the next, each partition was in a member's hands, no fault held up
-- heartbeats, and the group was not changed. They have not where one of them was given the target's
-- epoch, or a part of it, later than that (ConsumerGroupMember.isReconciledTo).

-- let FOLLOWED_FOR = -(:heartbeat_ms + :cadence_ms + :guard_ms)
--   How long the group has to be as it is for its members to have said so.
-- let ASKED_MS = 500
--   How old an answer may be when the observer notes it (_ASK_S).

{SEEN}, changes AS (
    SELECT e.at, e.event, e.generation, coalesce(max(r.answered_at), e.at) AS known_at
    FROM {coordinator_events} e LEFT JOIN {own_requests} r
      ON r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.arrived_at <= after(:guard_ms, e.at)
     AND r.answered_at >= e.at
    WHERE e.`group` = :group
      AND e.event IN ('epoch_bumped', 'target_computed', 'loaded', 'emptied')
    GROUP BY e.at, e.event, e.generation
), described AS (
    SELECT s.at, s.state, s.members,
           max(struct(c.at, c.event, c.generation)) FILTER (
               WHERE c.known_at < after(-:guard_ms, s.at)) AS last,
           count_if(c.known_at >= after(-:guard_ms, s.at)) AS changes,
           count_if(c.known_at >= after(-:guard_ms, s.at)
                    AND c.event <> 'epoch_bumped') AS targets,
           count_if(c.known_at >= after({FOLLOWED_FOR}, s.at)) AS recent
    FROM seen s LEFT JOIN changes c ON c.at <= s.at
    GROUP BY s.at, s.state, s.members
), followed AS (
    SELECT s.at, count(DISTINCT struct(o.topic, o.partition)) AS held
    FROM seen s JOIN {ownership} o
      ON o.from_at <= after({FOLLOWED_FOR}, s.at)
     AND (o.to_at IS NULL OR o.to_at > after(:guard_ms, s.at)) AND o.removed_at IS NULL
    LEFT ANTI JOIN {disturbances} d
      ON d.from_at <= s.at AND d.to_at >= after({FOLLOWED_FOR}, s.at)
    WHERE s.state = 'Reconciling' GROUP BY s.at
), targets AS (
    -- Those that were written: one that could not be is undone, and its epoch used again.
    SELECT c.generation, min(c.at) AS at FROM {coordinator_events} c
    LEFT SEMI JOIN {consumer_heartbeats} b
      ON b.error_code = :NONE AND b.member_epoch >= c.generation AND b.processed_at >= c.at
    WHERE c.`group` = :group AND c.event = 'target_computed'
    GROUP BY c.generation HAVING count(*) = 1
), beats AS (
    SELECT member_id, generation, member_epoch, processed_at,
           size(array_except(assigned, lag(assigned) OVER (
               PARTITION BY member_id, assigned IS NULL
               ORDER BY arrived_at, evidence))) > 0 AS gives
    FROM {consumer_heartbeats} WHERE error_code = :NONE
), lagging AS (
    -- Members that were given the target's epoch, or a part of it, later than the group was seen.
    SELECT t.at, m.member
    FROM described t JOIN targets g ON g.generation = t.last.generation
    JOIN {memberships} m
      ON m.joined_at < g.at
     AND (m.removed_at IS NULL OR m.removed_at > after(:STAMP_LATE_MS, t.at))
    JOIN beats b ON b.member_id = m.member_id
    WHERE t.state = 'Stable' AND t.last.event = 'target_computed'
    GROUP BY t.at, t.last.generation, m.member, m.stay
    HAVING count_if(b.processed_at <= after(:STAMP_LATE_MS, t.at)
                    AND b.member_epoch >= t.last.generation) = 0
        OR count_if(b.processed_at > after(:STAMP_LATE_MS, t.at)
                    AND b.member_epoch = t.last.generation AND b.gives) > 0
), behind AS (
    SELECT at, min(member) AS member FROM lagging GROUP BY at
), judged AS (
    SELECT t.*, t.last.event AS event, b.member AS behind,
           t.state = 'Reconciling' AND f.held = :partitions AND t.recent = 0 AS followed,
           CASE WHEN state NOT IN ('Dead', 'Empty', 'Assigning', 'Reconciling', 'Stable')
                THEN 'is no state of a KIP-848 group'
                -- A new epoch just then makes no target.
                WHEN state IN ('Reconciling', 'Stable') AND event = 'epoch_bumped'
                     AND targets = 0
                THEN 'was seen before the target of a new epoch was computed'
                WHEN changes > 0 THEN NULL
                WHEN state = 'Assigning' AND event = 'target_computed'
                THEN 'was seen though its target had been computed'
                WHEN behind IS NOT NULL
                THEN clause('was seen before ', behind, ' had followed the target')
                WHEN followed
                THEN 'was seen though the members had followed their target' END AS wrong
    FROM described t LEFT JOIN followed f ON f.at = t.at LEFT JOIN behind b ON b.at = t.at
)
SELECT concat(state, ' with ', members, ' members') AS subject, at, wrong,
       IF(changes > 0, 'the coordinator changed the group just then',
          concat('after ', event)) AS note,
       IF(wrong IS NULL, NULL, after(IF(followed, {FOLLOWED_FOR}, -:ASKED_MS), at))
           AS guard_from, at AS guard_to
FROM judged
