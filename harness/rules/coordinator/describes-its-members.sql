-- A group is described with the members that it has
-- Whoever asks the coordinator to describe the group is told of its members, and that it is empty,
-- or that there is no such group, only when it has none.
-- why: With a wrong description, monitoring raises a false alarm, or none.
-- source: document 003, DESCRIBE_GROUPS; KIP-848, ConsumerGroupDescribe
-- id: X55 | rows: descriptions | unit: members | measured: told of | low: tells of fewer members
--   than the group had | high: tells of more members than the group had | delayed by: broker |
--   kind: broker, in passing
--
-- What the observer was told, beside who was in the group by the coordinator's lines.

{SEEN}, changes AS (
    SELECT count(*) AS converted FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
), counted AS (
    SELECT s.at, s.state, s.members,
           count_if(m.joined_at < after(-:BEHIND_MS, s.at)
                    AND (m.removed_at IS NULL OR m.removed_at > after(:guard_ms, s.at)))
               AS surely,
           count(m.member_id) AS perhaps
    FROM seen s LEFT JOIN {memberships} m
      ON m.joined_at <= after(:guard_ms, s.at)
     AND (m.removed_at IS NULL OR m.removed_at >= after(-:BEHIND_MS, s.at))
    GROUP BY s.at, s.state, s.members
)
SELECT concat(state, ' with ', members, ' members') AS subject, at, members AS measured,
       surely AS bound_low, perhaps AS bound_high,
       IF(state IN ('Empty', 'Dead') AND surely > 0,
          clause('was told of a group that was ', lower(state), ' when it had ', surely,
                 ' members'), NULL) AS wrong,
       concat(surely, ' to ', perhaps, ' members by the coordinator''s log') AS note,
       IF(members NOT BETWEEN surely AND perhaps, after(-:BEHIND_MS, at), NULL)
           AS guard_from, at AS guard_to
FROM counted CROSS JOIN changes WHERE converted = 0
