-- A group is described as it is
-- The coordinator describes the group with its members, and as empty, or as no group, only when it
-- has none. A group of the classic protocol is in PreparingRebalance until all have joined, in
-- CompletingRebalance until its leader has assigned, then Stable, and Empty when it has no members.
-- why: With a wrong description, monitoring raises a false alarm, or none; a monitor that reads the
--   group's state sees every rebalance.
-- source: document 003, DESCRIBE_GROUPS and group states; ClassicGroupState; KIP-848,
--   ConsumerGroupDescribe
-- id: X55 | was: X55-state | rows: descriptions | unit: members | measured: described | low:
--   describes fewer members than the group had | high: describes more members than the group had |
--   delayed by: broker | kind: broker, in passing
--
-- Any state is right that the group was in within the time by which a description may be behind. A
-- coordinator that loads a group with members has it in Stable (GroupMetadataManager.replay).

-- let BEHIND_MS = 1000
--   How long a coordinator may describe a group as it was: it describes what is replicated, and
--   writes an assignment before its answers. In the kept runs it was 0.3 s at most.

-- let AS_DESCRIBED = IF(t.state = 'Assigned', 'Stable', t.state)

-- query
{SEEN}, counted AS (
    SELECT s.at, s.state, s.members,
           count_if(m.joined_at < after(-:BEHIND_MS, s.at)
                    AND (m.removed_at IS NULL OR m.removed_at > after(:guard_ms, s.at))) AS surely,
           count(m.member_id) AS perhaps
    FROM seen s LEFT JOIN {memberships} m
      ON m.joined_at <= after(:guard_ms, s.at)
     AND (m.removed_at IS NULL OR m.removed_at >= after(-:BEHIND_MS, s.at))
    GROUP BY s.at, s.state, s.members
), passed AS (
    SELECT c.*, count_if({AS_DESCRIBED} = c.state OR t.at IS NOT NULL AND t.state IS NULL) AS times,
           count(t.at) AS known,
           array_join(array_sort(collect_set({AS_DESCRIBED})), ', ') AS states
    FROM counted c LEFT JOIN {stages} t
      ON t.at <= after(:guard_ms, c.at)
     AND (t.until IS NULL OR t.until >= after(-:BEHIND_MS, c.at))
    GROUP BY ALL
), judged AS (
    SELECT p.*,
           CASE WHEN state IN ('Empty', 'Dead') AND surely > 0
                THEN clause('was described as ', lower(state), ' when it had ', surely,
                            ' members')
                WHEN :protocol = 'consumer' OR state IN ('Empty', 'Dead') OR times > 0
                THEN NULL
                WHEN known = 0 THEN 'was seen before the group was made'
                ELSE clause('was seen when the group was in ', states) END AS wrong
    FROM passed p
    WHERE NOT EXISTS (SELECT 1 FROM {coordinator_events} e
                      WHERE e.`group` = :group AND e.event IN ('upgraded', 'downgraded'))
)
SELECT concat(state, ' with ', members, ' members') AS subject, at, members AS measured,
       surely AS bound_low, perhaps AS bound_high, wrong,
       clause(surely, ' to ', perhaps, ' members by the coordinator''s log',
              IF(states = '', '', concat(', in ', states))) AS note,
       IF(members NOT BETWEEN surely AND perhaps OR wrong IS NOT NULL,
          after(-:BEHIND_MS, at), NULL) AS guard_from, at AS guard_to
FROM judged
