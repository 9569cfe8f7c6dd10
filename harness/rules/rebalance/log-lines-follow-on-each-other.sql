-- The coordinator's lines follow on each other
-- A coordinator removes a member once, and a member id that never joined only if it had given it.
-- It assigns to as many members as the generation has. It loads a group once, has no more to say of
-- one that it has unloaded, nor of anything while it is dead.
-- why: The log is what every other judgement starts from: a line that cannot be so shows a log that
--   is not that of the broker.
-- source: GroupMetadataManager; ClassicGroup
-- id: X76 | rows: brokers | unit: lines | measured: out of turn | high: logged lines that do not
--   follow on each other | kind: broker, in passing, compares clocks
--
-- Each broker's lines about the group, by member id and in order.
--
-- Lines of one moment may come in any order: of a removal and a join, the join may be the other
-- process's. What a dying broker still wrote within the slack is no sign of life. A coordinator
-- that is cut off removes members by itself, and its successor does so too; one that cannot write a
-- removal takes it back, and removes the member again (CoordinatorRuntime, timers).

WITH lines AS (
    SELECT broker, at, event, member_id, generation, members, evidence
    FROM {coordinator_events} WHERE `group` = :group
), of_members AS (
    SELECT broker, at, event, member_id, evidence, lag(event) OVER w AS before,
           lag(broker) OVER w AS broker_before, lag(at) OVER w AS before_at
    FROM lines
    WHERE member_id <> '' AND event IN ('member_id_given', 'member_added', 'evicted',
                                        'left', 'pending_evicted', 'replaced', 'fenced')
    WINDOW w AS (PARTITION BY member_id
                 ORDER BY at, IF(event IN ('member_id_given', 'member_added'), 0, 1),
                          event)
), loads AS (
    SELECT broker, at, event, evidence, lag(event) OVER w AS before, lag(at) OVER w
               AS before_at
    FROM lines WINDOW w AS (PARTITION BY broker ORDER BY at, length(evidence), evidence)
), dead AS (
    SELECT CAST(substr(resolved, 8) AS INT) AS broker,
           after(:slack_ms, injected_at) AS from_at,
           coalesce(healing_at, :ended_at) AS to_at
    FROM {fault_windows} WHERE broker_gone AND killed AND took_effect
), odd AS (
    SELECT broker, at, evidence, concat(event, ' of ', member_id, ', which was ', before,
                                        ' before') AS what
    FROM of_members m
    LEFT ANTI JOIN {unsettled} u ON u.from_at <= m.at AND u.to_at >= m.before_at
    WHERE broker = broker_before
      AND (event IN ('evicted', 'left', 'fenced')
           AND before IN ('evicted', 'left', 'fenced')
           OR event = 'pending_evicted' AND before = 'member_added')
    UNION ALL
    SELECT broker, at, evidence, concat(event, ' after it had unloaded the group')
    FROM loads WHERE before = 'unloaded' AND event NOT IN ('loaded', 'unloaded')
     AND at > after(:slack_ms, before_at)
    UNION ALL
    SELECT l.broker, l.at, l.evidence, 'loaded the group again'
    FROM (SELECT broker, at, event, evidence, lag(event) OVER w AS before,
                 lag(at) OVER w AS before_at
          FROM lines WHERE event IN ('loaded', 'unloaded')
          WINDOW w AS (PARTITION BY broker ORDER BY at, length(evidence), evidence)) l
    LEFT ANTI JOIN {broker_faults} f
      ON f.resolved = concat('broker-', l.broker) AND f.injecting_at <= l.at
     AND coalesce(f.healed_at, :ended_at) >= l.before_at
    WHERE l.event = 'loaded' AND l.before = 'loaded'
    UNION ALL
    SELECT broker, at, evidence, 'a second start of one rebalance'
    FROM (SELECT broker, at, event, generation, evidence, lag(event) OVER w AS before,
                 lag(generation) OVER w AS generation_before
          FROM lines
          WHERE event IN ('rebalance_started', 'stabilized', 'emptied', 'loaded')
          WINDOW w AS (PARTITION BY broker ORDER BY at, length(evidence), evidence))
    WHERE event = 'rebalance_started' AND before = 'rebalance_started'
      AND generation = generation_before
    UNION ALL
    SELECT a.broker, a.at, a.evidence, concat('an assignment for ', a.members,
                                              ' members of ', s.members)
    FROM lines a JOIN {generations} s
      ON same(s, a, broker, generation) AND s.event = 'stabilized' AND s.joined_at <= a.at
     AND in_time_of(s, a.at)
    WHERE a.event = 'assignment_received' AND a.members <> s.members
    UNION ALL
    SELECT l.broker, l.at, l.evidence, concat(l.event, ' while the broker was dead')
    FROM lines l JOIN dead d
      ON d.broker = l.broker AND l.at > d.from_at AND l.at < d.to_at
), worst AS (
    SELECT broker, count(*) AS times, min(struct(at, evidence, what)) AS first
    FROM odd GROUP BY broker
), brokers AS (
    SELECT broker, min(at) AS at, count(*) AS lines,
           min_by(evidence, struct(at, evidence)) AS evidence
    FROM lines GROUP BY broker
)
SELECT concat('lines of broker-', b.broker) AS subject, coalesce(w.first.at, b.at) AS at,
       coalesce(w.times, 0) AS measured, 0 AS bound_high,
       IF(w.times IS NOT NULL, clause('logged: ', w.first.what), NULL) AS wrong,
       concat(b.lines, ' lines') AS note, coalesce(w.first.evidence, b.evidence) AS evidence
FROM brokers b LEFT JOIN worst w ON w.broker = b.broker
