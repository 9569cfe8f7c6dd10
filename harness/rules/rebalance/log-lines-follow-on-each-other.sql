-- The coordinator's lines follow on each other
-- A coordinator removes a member once, and a member id that never joined only if it had given it.
-- It assigns to as many members as the generation has, and prepares the next one from the
-- generation that the group is in: after a takeover, from the one that was stored. It loads a group
-- once, has no more to say of one that it has unloaded, nor of anything while it is dead.
-- why: The log is what every other judgement starts from: a line that cannot be so shows a log that
--   is not that of the broker.
-- source: GroupMetadataManager, onLoaded; ClassicGroup
-- id: X76 | was: X95 | rows: brokers | unit: lines | measured: out of turn | high: logged lines
--   that do not follow on each other | kind: broker, in passing, compares clocks
--
-- Lines of one moment may come in any order. An empty group may be forgotten, and begins anew. What
-- a dying broker still wrote within the slack is no sign of life. A coordinator that is cut off
-- removes members by itself, and its successor too; one that cannot write a removal takes it back.

-- let SAYS = {FIRST_ODD} AS wrong, concat(count(*) - count(odd), ' lines') AS note

-- let FORMER = lag(struct(broker, at, event, generation)) OVER w AS former
-- let IN_ORDER = WINDOW w AS (PARTITION BY broker ORDER BY at, length(evidence), evidence)

WITH lines AS (
    SELECT * FROM {coordinator_events} WHERE `group` = :group
), of_members AS (
    SELECT *, {FORMER} FROM lines
    WHERE member_id <> '' AND event IN ('member_id_given', 'member_added', 'evicted',
                                        'left', 'pending_evicted', 'replaced', 'fenced')
    WINDOW w AS (PARTITION BY member_id
                 ORDER BY at, IF(event IN ('member_id_given', 'member_added'), 0, 1), event)
), odd AS (
    SELECT broker, at, evidence, concat(event, ' of ', member_id, ', which was ', former.event,
                                        ' before') AS what
    FROM of_members m
    LEFT ANTI JOIN {unsettled} u ON u.from_at <= m.at AND u.to_at >= m.former.at
    WHERE broker = former.broker
      AND (event IN ('evicted', 'left', 'fenced')
           AND former.event IN ('evicted', 'left', 'fenced')
           OR event = 'pending_evicted' AND former.event = 'member_added')
    UNION ALL
    SELECT broker, at, evidence, concat(event, ' after it had unloaded the group')
    FROM (SELECT *, {FORMER} FROM lines {IN_ORDER})
    WHERE former.event = 'unloaded' AND event NOT IN ('loaded', 'unloaded')
      AND at > after(:slack_ms, former.at)
    UNION ALL
    SELECT l.broker, l.at, l.evidence, 'loaded the group again'
    FROM (SELECT *, {FORMER} FROM lines WHERE event IN ('loaded', 'unloaded') {IN_ORDER}) l
    LEFT ANTI JOIN {broker_faults} f
      ON f.resolved = concat('broker-', l.broker) AND f.injecting_at <= l.at
     AND coalesce(f.healed_at, :ended_at) >= l.former.at
    WHERE l.event = 'loaded' AND l.former.event = 'loaded'
    UNION ALL
    SELECT broker, at, evidence, 'a second start of one rebalance'
    FROM (SELECT *, {FORMER} FROM lines
          WHERE event IN ('rebalance_started', 'stabilized', 'emptied', 'loaded') {IN_ORDER})
    WHERE event = 'rebalance_started' AND former.event = 'rebalance_started'
      AND generation = former.generation
    UNION ALL
    SELECT broker, at, evidence, concat('a rebalance of generation ', generation,
                                        ' when the group was in ', former.generation)
    FROM (SELECT *, lag(struct(until, generation, state)) OVER w AS former FROM {stages} {IN_ORDER})
    WHERE event = 'rebalance_started' AND former.until = at
      AND generation NOT IN (former.generation, IF(former.state = 'Empty', 0, former.generation))
    UNION ALL
    SELECT a.broker, a.at, a.evidence, concat('an assignment for ', a.members,
                                              ' members of ', s.members)
    FROM lines a JOIN {generations} s
      ON same(s, a, broker, generation) AND s.event = 'stabilized' AND s.joined_at <= a.at
     AND in_time_of(s, a.at)
    WHERE a.event = 'assignment_received' AND a.members <> s.members
    UNION ALL
    SELECT l.broker, l.at, l.evidence, concat(l.event, ' while the broker was dead')
    FROM lines l JOIN {broker_faults} d
      ON d.killed AND d.took_effect AND d.resolved = concat('broker-', l.broker)
     AND l.at > after(:slack_ms, d.injected_at) AND l.at < coalesce(d.healing_at, :ended_at)
), judged AS (
    SELECT concat('lines of broker-', broker) AS subject, at, evidence, CAST(NULL AS STRING) AS odd
    FROM lines
    UNION ALL
    SELECT concat('lines of broker-', broker), at, evidence, concat('logged: ', what) FROM odd
)
{ODD_ONES} GROUP BY subject
