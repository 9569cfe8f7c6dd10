"""Who joins a group, who leads it and who assigns: by the requests of real members."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.described import SEEN  # noqa: F401 (a query names it)
from harness.rules.rebalance import START_MS  # noqa: F401 (a query names it)
from harness.rules.rule import A_BROKER, THE_BROKERS, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# How old an answer may be when the observer notes it: it waits so long for one (_ASK_S).
ASKED_MS: Final = 500


@Rule(
    "R12-all",
    title="Every member of a generation has sent a JoinGroup for it",
    statement="Each member that a generation begins with has sent a JoinGroup for it.",
    source="document 001, JoinGroup phase; document 003, the group's state machine",
    unit="members",
    things="generations",
    measures="with a JoinGroup for it",
    too_low="has members that sent no JoinGroup for it",
    too_high="has fewer members than sent a JoinGroup for it",
    matters="A rebalance waits for all members, so one that sends no JoinGroup holds up the whole "
    "group.",
    broker=True,
    protocols=CLASSIC,  # in KIP-848 nobody joins again: X20-alone
    in_passing=True,
    compares_clocks=True,
)
def everybody_joins() -> str:
    """Generations by the coordinator's line, and who was answered a JoinGroup with each.

    A static member that does not join again is kept all the same.
    """
    return """
        WITH asked AS (
            SELECT g.number, g.broker, g.generation, g.joined_at, g.members, g.evidence,
                   g.since_at, g.until_at, count(DISTINCT j.member_id) AS asked
            FROM {generations} g LEFT JOIN {joins} j ON same(j, g, broker, generation)
             AND in_time_of(g, j.processed_at)
             AND j.arrived_at
                 <= after(IF(j.instance_id IS NULL, :STAMP_LATE_MS, :slack_ms), g.joined_at)
            -- One that dies just then answers nobody.
            LEFT ANTI JOIN {broker_faults} f
              ON f.killed AND f.resolved = concat('broker-', g.broker)
             AND f.injecting_at <= after(:STAMP_LATE_MS, g.joined_at)
             AND coalesce(f.injected_at, f.injecting_at) >= g.joined_at
            WHERE g.event = 'stabilized' AND g.members > 0
            GROUP BY g.number, g.broker, g.generation, g.joined_at, g.members, g.evidence,
                     g.since_at, g.until_at
        ), kept AS (
            SELECT a.number, count(*) AS kept
            FROM asked a JOIN {memberships} m
              ON m.instance_id IS NOT NULL AND m.joined_at <= a.joined_at
             AND (m.removed_at IS NULL OR m.removed_at >= a.joined_at)
            LEFT ANTI JOIN {joins} j
              ON same(j, a, broker, generation) AND j.member_id = m.member_id
             AND in_time_of(a, j.processed_at)
            GROUP BY a.number
        )
        SELECT concat('generation ', a.generation) AS subject, a.joined_at AS at,
               a.asked AS measured, a.members AS bound_low, a.members AS bound_high,
               IF(a.asked + k.kept = a.members,
                  clause(k.kept, ' static members did not join again and were kept'), NULL)
                   AS excused,
               concat('it has ', a.members, ' members') AS note, a.evidence
        FROM asked a LEFT JOIN kept k ON k.number = a.number
    """


@Rule(
    "R12-first",
    title="The first member of an empty group becomes its leader",
    statement="The leader of a group that was empty is the member that was added to it first.",
    source="document 001, choice of the leader; ClassicGroup.add",
    unit="place",
    things="generations of a new group",
    measures="of the leader in the order of arrival",
    too_high="is led by a member that came later",
    matters="The first process to start computes the assignment for all, with its own assignor.",
    broker=True,
    protocols=CLASSIC,
    in_passing=True,
)
def first_leads() -> str:
    """Generations of a group that nobody was in, unless the first of them went before its end.

    A leader whose generation ended before it could assign anything is known by what the
    answers to the JoinGroups say of it.
    """
    return """
        WITH formed AS (
            SELECT number, broker, generation, joined_at,
                   coalesce(leader, array_min(leaders)) AS leader, evidence,
                   lag(joined_at) OVER (ORDER BY number) AS empty_at, members_before, event
            FROM {generations}
        ), added AS (
            SELECT f.number, f.generation, f.joined_at, f.leader, f.evidence, e.member_id,
                   rank() OVER (PARTITION BY f.number ORDER BY e.at) AS place
            FROM formed f JOIN {coordinator_events} e
              ON e.`group` = :group AND e.broker = f.broker AND e.event = 'member_added'
             AND e.at <= f.joined_at AND (f.empty_at IS NULL OR e.at > f.empty_at)
            WHERE f.event = 'stabilized' AND f.leader IS NOT NULL
              AND (f.generation = 1 OR f.members_before = 0)
        ), gone AS (
            SELECT a.number
            FROM added a JOIN {memberships} m
              ON m.member_id = a.member_id AND m.removed_at <= a.joined_at
            WHERE a.place = 1
        )
        SELECT concat('generation ', a.generation) AS subject, a.joined_at AS at,
               a.place AS measured, 1 AS bound_high, concat('led by ', a.leader) AS note, a.evidence
        FROM added a LEFT ANTI JOIN gone g ON g.number = a.number
        WHERE a.member_id = a.leader
    """


@Rule(
    "X101",
    title="Who goes on in a generation has asked for its part of it",
    statement="A member that sends heartbeats and commits in a generation has sent its SyncGroup "
    "for it.",
    source="document 001, SyncGroup; AbstractCoordinator.onJoinFollower; rdkafka_cgrp.c "
    "(rd_kafka_cgrp_handle_JoinGroup)",
    unit="SyncGroups",
    things="members that went on",
    measures="accepted",
    too_low="went on in a generation and never asked for its part of it",
    matters="A member that never asks for its part reads what it had before, while the leader may "
    "have given it to another one.",
    protocols=CLASSIC,
    in_passing=True,
)
def goes_on_with_its_part() -> str:
    """Members that were answered in a generation after its leader had assigned, by SyncGroups.

    A client sends it on the connection of its heartbeats, before these, and all that wait are
    answered as the assignment comes. Where the coordinator changed meanwhile nothing is examined:
    one that died may have answered and not written so.
    """
    return """
        WITH went_on AS (
            SELECT r.member, r.member_id, r.generation, min(r.arrived_at) AS at,
                   min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
            FROM {own_requests} r JOIN {generations} g
              ON same(g, r, broker, generation) AND in_time_of(g, r.arrived_at)
             AND g.synced_at < after(-:slack_ms, r.arrived_at)
            LEFT SEMI JOIN {joins} j ON same(j, r, member_id, generation)
            WHERE r.api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND r.error_code = :NONE
            GROUP BY r.member, r.member_id, r.generation
        )
        SELECT concat(w.member, ' in generation ', w.generation) AS subject, w.at,
               count(s.arrived_at) AS measured, 1 AS bound_low, w.evidence
        FROM went_on w LEFT JOIN {own_requests} s
          ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND same(s, w, member_id, generation)
        GROUP BY w.member, w.member_id, w.generation, w.at, w.evidence
    """


@Rule(
    "R13-members",
    title="Only the leader's SyncGroup carries an assignment",
    statement="A follower's SyncGroup carries no assignment, and the leader's carries that of all "
    "members. Each member is answered with what the leader gave it.",
    source="document 001, SyncGroup; document 003, the group's state machine",
    unit="partitions",
    things="SyncGroups of members",
    measures="assigned by a follower",
    too_high="sent an assignment although it is not the leader",
    matters="The assignor of one client decides for all, so the members of a group have to agree "
    "on it.",
    protocols=CLASSIC,
    in_passing=True,
)
def only_the_leader_assigns() -> str:
    """Accepted SyncGroups of the group's members by who leads, as its own JoinGroup was answered.

    Within a generation the leader has another id once a process has taken its place. A static
    member that took the place of another is not named in what the leader gave.
    """
    return """
        WITH syncs AS (
            SELECT s.*, l.led_by, l.led_by = s.member_id AS leads, coalesce(g.number, 0) AS number
            FROM {own_requests} s JOIN (
                SELECT broker, generation, member_id,
                       max_by(leader, struct(arrived_at, evidence)) AS led_by
                FROM {joins} GROUP BY broker, generation, member_id) l
              ON same(l, s, broker, generation, member_id)
            LEFT JOIN {generations} g
              ON same(g, s, broker, generation) AND in_time_of(g, s.processed_at)
            WHERE s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND s.assignments IS NOT NULL
              AND s.assigned IS NOT NULL
        ), given AS (
            SELECT broker, generation, number,
                   min_by(assignments, struct(arrived_at, evidence)) AS given
            FROM syncs WHERE leads AND size(assignments) > 0 GROUP BY broker, generation, number
        ), compared AS (
            SELECT s.*,
                   array_join(array_sort(transform(
                       filter(g.given, p -> p.member_id = s.member_id),
                       p -> concat(p.topic, '-', p.partition))), ' ') AS given_to_it,
                   array_join(array_sort(transform(
                       s.assigned, p -> concat(p.topic, '-', p.partition))), ' ') AS got
            FROM syncs s LEFT JOIN given g ON same(g, s, broker, generation, number)
        )
        SELECT concat(member, ' in generation ', generation) AS subject, arrived_at AS at,
               IF(leads, NULL, size(assignments)) AS measured, IF(leads, NULL, 0) AS bound_high,
               IF(got <> given_to_it AND NOT (instance_id IS NOT NULL AND given_to_it = ''),
                  clause('got "', got, '" where the leader gave it "', given_to_it, '"'), NULL)
                   AS wrong,
               IF(leads, concat('the leader, which assigned ', size(assignments), ' partitions'),
                  concat('follows ', led_by)) AS note, evidence
        FROM compared
    """


@Rule(
    "R33-answered",
    title="All JoinGroups are answered once the last has joined",
    statement="The coordinator answers all waiting JoinGroups as soon as the last member has "
    "joined.",
    source="document 003, the group's state machine; GroupMetadataManager.completeClassicGroupJoin",
    unit="ms",
    things="JoinGroups",
    measures="from the end of the join phase to the answer",
    too_low="was answered before all had joined",
    too_high="was answered too late after all had joined",
    matters="The slowest member decides when all the others go on.",
    broker=True,
    protocols=CLASSIC,
    in_passing=True,
    delayed_by=THE_BROKERS,
)
def all_are_answered() -> str:
    """JoinGroups that came before a generation began, which is when its line was written."""
    return """
        WITH answered AS (
            SELECT g.generation, g.joined_at, j.member, j.arrived_at, j.processed_at, j.evidence,
                   ms_between(g.joined_at, j.processed_at) AS ms,
                   :START_MS + :slack_ms + :STAMP_LATE_MS AS most_ms
            FROM {generations} g JOIN {joins} j ON same(j, g, broker, generation)
             AND j.arrived_at <= g.joined_at AND in_time_of(g, j.processed_at)
            WHERE g.event = 'stabilized'
        )
        SELECT concat(member, ' for generation ', generation) AS subject, arrived_at AS at,
               ms AS measured, -:slack_ms AS bound_low, most_ms AS bound_high,
               concat('waited for ', CAST(round(ms_between(arrived_at, joined_at)) AS INT), ' ms')
                   AS note, evidence,
               -- A machine that stood still can only have made it longer.
               IF(ms > most_ms, joined_at, NULL) AS guard_from, guard_to(processed_at) AS guard_to
        FROM answered
    """


@Rule(
    "R34-silent",
    title="A member sends no heartbeats while its JoinGroup waits",
    statement="A member sends its first heartbeat after its JoinGroup was answered, and none, nor "
    "another JoinGroup, while a JoinGroup waits for its answer.",
    source="document 004, start of the heartbeat thread; AbstractCoordinator.hasNotJoinedGroup",
    unit="requests",
    things="JoinGroups that waited",
    measures="sent while the JoinGroup waited",
    too_high="sent heartbeats, or joined again, while its JoinGroup waited",
    matters="The waiting request keeps the member alive then, not its heartbeats.",
    protocols=CLASSIC,
    in_passing=True,
)
def silent_while_joining() -> str:
    """Accepted JoinGroups of our own members, from when they came to their answer."""
    return """
        SELECT concat(j.member, ' (join)') AS subject, j.arrived_at AS at,
               count(h.arrived_at) AS measured, 0 AS bound_high,
               concat('waited for ', CAST(round(ms_between(j.arrived_at, j.processed_at)) AS INT),
                      ' ms') AS note, j.evidence
        FROM {joins} j LEFT JOIN {own_requests} h
          ON h.api IN ('HEARTBEAT', 'JOIN_GROUP') AND h.member = j.member
         -- One that was stopped meanwhile reads later what had been sent to it before.
         AND h.broker = j.broker
         AND h.arrived_at > j.arrived_at AND h.arrived_at < j.processed_at
        WHERE ms_between(j.arrived_at, j.processed_at) > 2 * :slack_ms AND :client <> 'app'
        GROUP BY j.member, j.arrived_at, j.processed_at, j.evidence
    """


@Rule(
    "X20-alone",
    title="KIP-848 has no JoinGroup, SyncGroup or group leader",
    statement="Members of a KIP-848 group send only ConsumerGroupHeartbeat: no JoinGroup, "
    "SyncGroup, Heartbeat or LeaveGroup, however often partitions move. So nobody gives a consumer "
    "its member id: it makes one itself, and keeps it for as long as it lives.",
    source="KIP-848, ConsumerGroupHeartbeat; KIP-1082",
    unit="requests",
    things="members",
    measures="of the classic protocol",
    too_high="sent requests of the classic protocol",
    matters="No member computes an assignment, and none has to wait for all the others.",
    protocols=("consumer",),
    in_passing=True,
)
def heartbeats_alone() -> str:
    """What each process sent; a program of somebody else's may have several consumers in it."""
    return """
        WITH sent AS (
            SELECT r.*, api = 'CONSUMER_GROUP_HEARTBEAT' AS modern,
                   IF(api = 'CONSUMER_GROUP_HEARTBEAT' AND m.client <> 'app', r.member_id, NULL)
                       AS own_id
            FROM {own_requests} r LEFT JOIN {members} m ON m.member = r.member
        )
        SELECT concat(member, ' (requests)') AS subject, min(arrived_at) AS at,
               count_if(api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'LEAVE_GROUP'))
                   AS measured, 0 AS bound_high,
               IF(count(DISTINCT own_id) > 1,
                  clause('used ', count(DISTINCT own_id), ' member ids'),
                  NULL) AS wrong,
               concat(count_if(modern), ' ConsumerGroupHeartbeats') AS note,
               IF(count(DISTINCT own_id) > 1,
                  max_by(evidence, struct(arrived_at, evidence)) FILTER (WHERE modern), NULL)
                   AS evidence
        FROM sent GROUP BY member HAVING count_if(modern) > 0
    """


@Rule(
    "R33-epochs",
    title="A KIP-848 group is Assigning, then Reconciling, then Stable",
    statement="A KIP-848 group is Assigning from a new group epoch until its target assignment is "
    "computed, then Reconciling until its members have followed it, and then Stable.",
    source="KIP-848, ConsumerGroupDescribe; ConsumerGroup.maybeUpdateGroupState",
    unit="states",
    things="states seen",
    matters="Monitoring that looks for the classic states sees nothing, because none of them is "
    "left.",
    broker=True,
    protocols=("consumer",),
    in_passing=True,
    delayed_by=A_BROKER,
)
def states_of_kip_848() -> str:
    """What the observer was told, beside the coordinator's line before.

    Where the coordinator changed it just then, the answer may be of before or after: it is told
    what has been replicated, and whoever asked for a change is answered no sooner. Its members have
    followed their target where, for longer than from one heartbeat to the next, each partition was
    in a member's hands, no fault held up heartbeats, and the group was not changed. They have not
    where one of them was told the target's epoch, or given a part of it, later than that
    (ConsumerGroupMember.isReconciledTo).
    """
    return """
        {SEEN}, changes AS (
            SELECT e.at, e.event, e.generation, coalesce(max(r.answered_at), e.at) AS told_at
            FROM {coordinator_events} e LEFT JOIN {own_requests} r
              ON r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.arrived_at <= after(:guard_ms, e.at)
             AND r.answered_at >= e.at
            WHERE e.`group` = :group
              AND e.event IN ('epoch_bumped', 'target_computed', 'loaded', 'emptied')
            GROUP BY e.at, e.event, e.generation
        ), told AS (
            SELECT s.at, s.state, s.members,
                   max(struct(c.at, c.event, c.generation)) FILTER (
                       WHERE c.told_at < after(-:guard_ms, s.at)) AS last,
                   coalesce(count_if(c.told_at >= after(-:guard_ms, s.at)), 0) AS changes,
                   coalesce(count_if(c.told_at >= after(-:guard_ms, s.at)
                                     AND c.event <> 'epoch_bumped'), 0) AS targets,
                   coalesce(count_if(c.told_at >= after({FOLLOWED_FOR}, s.at)), 0) AS recent
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
            -- Who was told of the target, or given a part by it, later than the group was seen.
            SELECT t.at, m.member
            FROM told t JOIN targets g ON g.generation = t.last.generation
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
        ), placed AS (
            SELECT t.at, t.state, t.members, t.changes, t.targets,
                   t.last.event AS event, b.member AS behind,
                   t.state = 'Reconciling' AND f.held = :partitions AND t.recent = 0 AS followed
            FROM told t LEFT JOIN followed f ON f.at = t.at LEFT JOIN behind b ON b.at = t.at
        ), judged AS (
            SELECT *,
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
            FROM placed
        )
        SELECT concat(state, ' with ', members, ' members') AS subject, at, wrong,
               IF(changes > 0, 'the coordinator changed the group just then',
                  concat('after ', event)) AS note,
               IF(wrong IS NULL, NULL, after(IF(followed, {FOLLOWED_FOR}, -:ASKED_MS), at))
                   AS guard_from, at AS guard_to
        FROM judged
    """


# From when on the group has to be as it is for its members to have said so, after a moment.
FOLLOWED_FOR: Final = "-(:heartbeat_ms + :cadence_ms + :guard_ms)"
