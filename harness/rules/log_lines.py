"""That the lines of a coordinator's log, and what the observer sees, follow on each other."""

from typing import Final

from harness.rules.rule import Party, Rule

# For how long something has to be seen: a broker once seemed dead for less on a busy machine.
GLIMPSE_MS: Final = 1_000
# For how long an answer shows that a broker is alive. Members ask it more often, and the observer.
ALIVE_MS: Final = 5_000


@Rule(
    "X76",
    title="The coordinator's lines follow on each other",
    statement="A coordinator removes a member once, and a member id that never joined only if it "
    "had given it. It assigns to as many members as the generation has. It loads a group once, has "
    "no more to say of one that it has unloaded, nor of anything while it is dead.",
    source="GroupMetadataManager; ClassicGroup",
    unit="lines",
    things="brokers",
    measures="out of turn",
    too_high="logged lines that do not follow on each other",
    matters="The log is what every other judgement starts from: a line that cannot be so shows a "
    "log that is not that of the broker.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def lines_follow() -> str:
    """Each broker's lines about the group, by member id and in order.

    Lines of one moment may come in any order: of a removal and a join, the join may be the other
    process's. What a dying broker still wrote within the slack is no sign of life. A coordinator
    that is cut off removes members by itself, and its successor does so too; one that cannot write
    a removal takes it back, and removes the member again (CoordinatorRuntime, timers).
    """
    return """
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
    """


@Rule(
    "X77",
    title="The cluster is whole where nothing is broken",
    statement="While no broker is broken, every broker is alive, and every partition has a leader "
    "among its in-sync replicas. Before the first fault of a broker, leaders stay, and no replica "
    "falls out of sync.",
    source="Kafka documentation, Replication",
    unit="sights",
    things="brokers and topics",
    measures="otherwise",
    too_high="were seen otherwise while no broker was broken",
    matters="What a group does in a cluster that broke by itself shows nothing about the fault "
    "that was meant.",
    broker=True,
    in_passing=True,
    delayed_by=(Party.BROKER, Party.CONTROLLER),
)
def whole_where_nothing_is_broken() -> str:
    """What the observer saw of brokers and partitions, outside faults of brokers.

    A broker that is back is in sync again within a session. What passed within a second may be a
    question that this machine held up. One that refuses a connection is dead; one that is silent
    need not be: it is not while it answers anybody or writes a line, at least every 5 s, nor while
    it waits for a processor, since only what is alive does that.

    Law: a broker is dead where it refuses the observer, or answers nobody and waits for nothing, be
    it for 5 s of a longer silence.
    """
    return """
        WITH changed AS (
            SELECT *, lead(at) OVER w AS next_at, lag(leader) OVER w AS leader_before,
                   size(lag(isr) OVER w) AS in_sync_before
            FROM {topology} WHERE what IN ('broker', 'partition')
            WINDOW w AS (PARTITION BY what, broker, topic, partition ORDER BY at)
        ), broken AS (
            SELECT min(injecting_at) AS first_at FROM {broker_faults}
        ), at_work AS (
            SELECT broker, answered_at AS at FROM {requests}
            UNION ALL
            SELECT broker, answered_at FROM {fetches}
            UNION ALL
            SELECT broker, at FROM {coordinator_events}
        ), answers AS (
            SELECT c.broker, c.at, coalesce(c.next_at, :stopped_at) AS to_at, a.at AS answered_at,
                   coalesce(lag(a.at) OVER w, c.at) AS before_at
            FROM changed c LEFT JOIN at_work a
              ON a.broker = c.broker AND a.at >= c.at AND a.at <= coalesce(c.next_at, :stopped_at)
            WHERE c.what = 'broker' AND c.detail = 'silent'
            WINDOW w AS (PARTITION BY c.broker, c.at ORDER BY a.at)
        ), silences AS (
            SELECT broker, at, to_at,
                   coalesce(greatest(max(ms_between(before_at, answered_at)),
                                     ms_between(max(answered_at), to_at)) <= :ALIVE_MS, false)
                       AS answered
            FROM answers GROUP BY broker, at, to_at
        ), silent AS (
            SELECT s.broker, s.at, s.answered,
                   ms_between(s.at, s.to_at) - sum(w.waited_ms) < :GLIMPSE_MS AS held_up
            FROM silences s LEFT JOIN {waits} w
              ON w.process = concat('broker-', s.broker) AND w.from_at <= s.to_at
             -- The question that was not answered in time.
             AND w.at >= after(-:GLIMPSE_MS, s.at)
            GROUP BY s.broker, s.at, s.to_at, s.answered
        ), seen AS (
            SELECT t.at, IF(t.what = 'broker', concat('broker-', t.broker), t.topic) AS thing,
                   CASE WHEN t.at < :steady_at OR t.at > :stopped_at
                             OR ms_between(t.at, t.next_at) < :GLIMPSE_MS THEN NULL
                        WHEN s.answered OR s.held_up THEN NULL
                        WHEN s.at IS NOT NULL THEN 'was silent, and answered nobody'
                        WHEN t.what = 'broker' AND NOT t.alive THEN 'was dead'
                        WHEN t.what = 'partition' AND t.leader < 1
                        THEN concat(t.topic, '-', t.partition, ' had no leader')
                        WHEN t.what = 'partition' AND NOT array_contains(t.isr, t.leader)
                        THEN concat(t.topic, '-', t.partition, ' had a leader out of sync')
                        WHEN t.what = 'partition' AND array_max(t.isr) > :brokers
                        THEN concat(t.topic, '-', t.partition, ' was in sync on broker-',
                                    array_max(t.isr), ', which there is not')
                        WHEN t.what = 'partition' AND t.leader <> t.leader_before
                             AND coalesce(b.first_at > t.at, true)
                        THEN concat(t.topic, '-', t.partition, ' had another leader')
                        WHEN t.what = 'partition' AND size(t.isr) < t.in_sync_before
                             AND coalesce(b.first_at > t.at, true)
                        THEN concat(t.topic, '-', t.partition, ' was in sync on ', size(t.isr),
                                    ' brokers, and on ', t.in_sync_before, ' before')
                   END AS odd
            FROM changed t CROSS JOIN broken b
            LEFT JOIN silent s ON t.what = 'broker' AND s.broker = t.broker AND s.at = t.at
            LEFT ANTI JOIN {unsettled} u ON u.from_at <= t.at AND u.to_at >= t.at
        )
        SELECT concat(thing, ' (seen)') AS subject,
               coalesce(min(IF(odd IS NULL, NULL, at)), min(at)) AS at,
               count(odd) AS measured, 0 AS bound_high,
               IF(count(odd) > 0,
                  clause(min(struct(at, odd)) FILTER (WHERE odd IS NOT NULL).odd), NULL)
                   AS wrong,
               concat('seen ', count(*), ' times') AS note,
               -- The observer takes for dead what does not answer it in time.
               after(-3 * :GLIMPSE_MS, min(IF(odd IS NULL, NULL, at))) AS guard_from,
               min(IF(odd IS NULL, NULL, at)) AS guard_to
        FROM seen GROUP BY thing
    """


@Rule(
    "X81",
    title="Log and answers name the same members",
    statement="A member id that a coordinator accepts has a line in a coordinator's log that it "
    "joined, from before. An id in such a line, or in one that gave it, was named in an answer.",
    source="GroupMetadataManager; ClassicGroup.add; KIP-848, Member ID",
    unit="",
    things="member ids",
    matters="Monitoring that reads the log, and an application that asks its client, have to speak "
    "of the same members.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def the_same_members() -> str:
    """Member ids of the coordinators' lines beside those of requests, outside a broker's trouble.

    A line of a join may be stamped just after the answer to it. A static member that takes its own
    place has a line with its former id.
    """
    return """
        WITH lines AS (
            SELECT member_id, min(at) AS at,
                   min(at) FILTER (WHERE event = 'member_added') AS added_at,
                   min_by(evidence, struct(at, evidence)) AS evidence
            FROM {coordinator_events}
            WHERE `group` = :group AND member_id <> ''
              AND event IN ('member_id_given', 'member_added') GROUP BY member_id
        ), heard AS (
            SELECT member_id, min(member) AS member, min(arrived_at) AS at,
                   max(instance_id) AS instance_id,
                   min(processed_at) FILTER (WHERE error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
                       AND api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT',
                                   'CONSUMER_GROUP_HEARTBEAT')) AS accepted_at,
                   min_by(evidence, struct(arrived_at, evidence)) AS evidence
            FROM {own_requests} WHERE member_id IS NOT NULL GROUP BY member_id
        ), compared AS (
            SELECT member_id, h.member, coalesce(l.at, h.at) AS at,
                   coalesce(l.evidence, h.evidence) AS evidence,
                   CASE WHEN h.member_id IS NULL THEN 'is in the log, and in no answer'
                        WHEN h.accepted_at IS NOT NULL AND l.added_at IS NULL
                             AND h.instance_id IS NULL
                        THEN 'was accepted, and the log does not say that it joined'
                        WHEN h.accepted_at < after(-:slack_ms, l.added_at)
                        THEN 'was accepted before it had joined' END AS odd
            FROM lines l FULL OUTER JOIN heard h USING (member_id)
        )
        SELECT concat(coalesce(b.member, 'nobody'), ' (', b.member_id, ', log)') AS subject, b.at,
               IF(b.odd IS NOT NULL, clause(b.odd), NULL) AS wrong, b.evidence
        FROM compared b LEFT ANTI JOIN {unsettled} u
          ON b.odd IS NOT NULL AND u.from_at <= after(:slack_ms, b.at)
         AND u.to_at >= after(-:slack_ms, b.at)
    """
