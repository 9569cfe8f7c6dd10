-- A group is described in the state that it is in
-- Whoever asks the coordinator to describe a group of the classic protocol is told the state that
-- it is in: PreparingRebalance until all have joined, CompletingRebalance until its leader has
-- assigned, then Stable, and Empty when it has no members.
-- why: A monitor that reads the group's state sees every rebalance, and no false one.
-- source: document 003, group states; ClassicGroupState
-- id: X55-state | rows: states seen | protocols: classic | delayed by: broker | kind: broker, in
--   passing
--
-- States that the observer was told, beside those that the coordinator's lines give.
--
-- Any that the group was in within the time by which a description may be behind is right.

{SEEN}, changes AS (
    SELECT count(*) AS converted FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
), steps AS (
    SELECT at, CASE event WHEN 'rebalance_started' THEN 'PreparingRebalance'
                          WHEN 'stabilized' THEN 'CompletingRebalance'
                          WHEN 'assignment_received' THEN 'Stable'
                          ELSE 'Empty' END AS state,
           lead(at) OVER (PARTITION BY 1 ORDER BY at, length(evidence), evidence) AS until
    FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('rebalance_started', 'stabilized',
                                         'assignment_received', 'emptied')
), judged AS (
    SELECT s.at, s.state, s.members, count_if(t.state = s.state) AS times,
           count(t.at) AS known,
           array_join(array_sort(collect_set(t.state)), ', ') AS states
    FROM seen s LEFT JOIN steps t
      ON t.at <= after(:guard_ms, s.at)
     AND (t.until IS NULL OR t.until >= after(-:BEHIND_MS, s.at))
    GROUP BY s.at, s.state, s.members
), first AS (
    SELECT min(at) AS at FROM steps
), told AS (
    SELECT j.at, j.state, j.members, j.states,
           CASE WHEN j.times > 0 THEN NULL
                WHEN j.state IN ('Dead', 'Empty') AND (j.states = 'Empty'
                     OR coalesce(f.at >= after(-:BEHIND_MS, j.at), true)) THEN NULL
                WHEN j.known = 0 THEN 'was seen before the group was made'
                ELSE clause('was seen when the group was in ', j.states) END AS wrong
    FROM judged j CROSS JOIN first f CROSS JOIN changes WHERE converted = 0
)
SELECT concat(state, ' with ', members, ' members') AS subject, at, wrong,
       concat('by the coordinator''s log: ', states) AS note,
       IF(wrong IS NULL, NULL, after(-:BEHIND_MS, at)) AS guard_from, at AS guard_to
FROM told
