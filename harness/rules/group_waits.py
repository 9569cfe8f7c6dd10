"""What a coordinator waits for, and for how long: shown by members that are silent on purpose."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_PROBE, Rule


@Rule(
    "R13",
    title="Only the leader assigns partitions",
    statement="A follower's SyncGroup is answered only after the leader's SyncGroup has brought "
    "the assignment. Each member gets what the leader gave it, whatever its own SyncGroup says. "
    "Only the leader is told who the members are.",
    source="document 001, SyncGroup; document 003, the group's state machine",
    unit="ms",
    things="answers to SyncGroup and JoinGroup",
    measures="from the leader's SyncGroup to a follower's answer",
    too_low="was answered before the leader's SyncGroup had arrived",
    matters="The assignor runs in one consumer, so a slow leader keeps all the others waiting.",
    broker=True,
    protocols=CLASSIC,
)
def leader_assigns() -> str:
    """Each answer against what the leader gave, and who is told the members.

    Of followers under test brokers' logs tell both; a static one that took another's place since,
    and a generation whose leader's SyncGroup is on no log, are not examined.
    """
    return """
        WITH brought AS (
            SELECT `group`, member_id, generation, arrived_at, processed_at, evidence
            FROM {requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
        ), syncs AS (
            SELECT c.*, get_json_object(c.answer, '$.assignment') AS got,
                   from_json(get_json_object(c.request, '$.assignments'),
                             'array<struct<memberId:string,assignment:string>>') AS given
            FROM {calls} c WHERE c.api = 'SYNC_GROUP' AND c.error_code = :NONE
        ), elected AS (
            -- Where a static leader's place is taken, its heir is told later that it leads.
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
        ), of_followers AS (
            SELECT s.*, l.sent_at AS leader_sent_at, r.evidence,
                   coalesce(get(filter(l.given, g -> g.memberId IN (s.member_id, m.member_id)), 0)
                                .assignment, '') AS given_to_it,
                   get(filter(s.given, g -> g.memberId = s.member_id), 0).assignment AS own_wish,
                   ms_between(l.arrived_at, r.processed_at) AS ms
            FROM syncs s JOIN of_leaders l
              ON same(l, s, `group`, generation) AND l.leader <> s.member_id
            -- Who took a static member's place has the part that was given to that.
            LEFT JOIN {probe_members} m
              ON m.`group` = s.`group` AND m.replaced_by = s.member_id
            LEFT JOIN brought r ON same(r, s, `group`, member_id, generation)
        ), by_leaders AS (
            SELECT s.*, coalesce(get(filter(l.given, g -> g.memberId = s.member_id), 0)
                                     .assignment, '') AS given_to_it
            FROM syncs s JOIN of_leaders l
              ON same(l, s, `group`, generation) AND l.leader = s.member_id
            -- One without an answer may have assigned something else before.
            LEFT ANTI JOIN {calls} c
              ON c.api = 'SYNC_GROUP' AND c.error_code IS NULL AND c.sent_at < s.sent_at
             AND same(c, s, `group`, member_id, generation)
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
               -:slack_ms AS bound_low,
               CASE WHEN ms IS NULL THEN 'no SyncGroup of it or of the leader is on record'
                    WHEN got IS NULL THEN 'its answer names no assignment' END AS unknown,
               CASE WHEN answered_at < leader_sent_at THEN 'was answered before the leader assigned'
                    WHEN got <> given_to_it THEN 'did not get what the leader gave it' END AS wrong,
               CASE WHEN own_wish IS NOT NULL
                    THEN 'got what the leader gave it, and not what it gave itself' END AS note,
               evidence
        FROM of_followers
        UNION ALL
        SELECT concat(step, ' (', `group`, ')'), answered_at, NULL, NULL,
               IF(got IS NULL, 'its answer names no assignment', NULL),
               IF(got <> given_to_it, 'did not get what it gave itself', NULL), NULL, NULL
        FROM by_leaders
        UNION ALL
        SELECT concat(step, ' (', `group`, ')'), answered_at, NULL, NULL, NULL,
               CASE WHEN leader = member_id AND NOT told_members
                    THEN 'the leader was not told the members'
                    WHEN leader <> member_id AND told_members
                    THEN 'a follower was told the members' END, NULL, NULL
        FROM {probe_joins}
        -- A static member that takes its place in a stable group is told what its client needs.
        WHERE NOT (instance_id IS NOT NULL AND state_before = 'Stable')
        UNION ALL
        SELECT concat(member, ' in generation ', generation), processed_at,
               ms_between(led_at, processed_at), -:slack_ms, NULL,
               CASE WHEN got <> gave THEN 'did not get what the leader gave it' END, NULL, evidence
        FROM own
    """


# Probes' rebalances: from the coordinator's line that one starts to the next that it is joined.
REBALANCES: Final = """
    WITH lines AS (
        SELECT e.`group`, e.event, e.at, e.reason, e.generation, e.evidence
        FROM {coordinator_events} e
        WHERE e.event IN ('rebalance_started', 'stabilized', 'emptied')
          AND e.`group` IN (SELECT `group` FROM {probe_joins})
    ), followed AS (
        SELECT *, lead(at) OVER w AS next_at, lead(event) OVER w AS next_event,
               lead(reason) OVER w AS next_reason, ms_between(at, lead(at) OVER w) AS ms
        FROM lines
        -- The line that a rebalance starts names the generation before it.
        WINDOW w AS (PARTITION BY `group` ORDER BY at, generation,
                     IF(event = 'rebalance_started', 1, 0), evidence)
    )
"""


@Rule(
    "X10",
    title="A member that never syncs is removed",
    statement="A member that joined and sends no SyncGroup is removed one rebalance timeout after "
    "the join was complete, and a rebalance starts.",
    source="KAFKA-9627; GroupMetadataManager.schedulePendingSync",
    unit="ms",
    things="members without SyncGroup",
    measures="from the join to the removal",
    too_low="was removed too early",
    too_high="was removed too late",
    matters="A consumer that hangs between its two requests blocks its partitions for a whole "
    "max.poll.interval.ms, even if its heartbeats go on.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_PROBE,
)
def never_synced() -> str:
    """Members of a generation that never asked for their part of it."""
    return """
        {REBALANCES},
        timeouts AS (
            SELECT f.`group`, f.generation, f.at, f.next_at, f.next_reason, f.ms, f.evidence,
                   max(j.rebalance_ms) AS timeout_ms
            FROM followed f JOIN {probe_joins} j ON same(j, f, `group`, generation)
            WHERE f.event = 'stabilized' GROUP BY ALL
        ), silent AS (
            SELECT f.*, after(f.timeout_ms, f.at) AS due_at,
                   coalesce(f.next_reason LIKE 'Removing [%'
                            AND contains(f.next_reason, j.member_id), false) AS removed
            FROM timeouts f JOIN {probe_joins} j ON same(j, f, `group`, generation)
            LEFT ANTI JOIN {calls} s
              ON s.api = 'SYNC_GROUP' AND same(s, j, `group`, member_id, generation)
        )
        SELECT concat('member without SyncGroup (', `group`, ' generation ', generation, ')')
                   AS subject,
               coalesce(next_at, due_at) AS at, IF(removed, ms, NULL) AS measured,
               timeout_ms - :slack_ms AS bound_low, timeout_ms + :slack_ms AS bound_high,
               IF(removed, NULL, 'was not removed') AS wrong,
               concat('the coordinator''s reason: ', next_reason) AS note, evidence,
               after(-:guard_ms, due_at) AS guard_from, greatest(next_at, due_at) AS guard_to
        FROM silent
        -- Where something else ended the generation first, nothing was due.
        WHERE removed OR next_at IS NULL AND due_at < :stopped_at
           OR next_at > after(:slack_ms, due_at)
    """


@Rule(
    "R03-wire",
    title="A waiting JoinGroup or SyncGroup keeps its member alive",
    statement="A member whose JoinGroup or SyncGroup the coordinator has not answered yet is not "
    "evicted, even if the wait is longer than its session.",
    source="document 000, GroupCoordinator; ClassicGroupMember.hasSatisfiedHeartbeat",
    unit="ms",
    things="requests that waited for longer than a session",
    measures="of waiting",
    matters="A rebalance may last longer than the session timeout without costing waiting members "
    "their place.",
    broker=True,
    protocols=CLASSIC,
)
def parked() -> str:
    """Requests that waited for longer than a session; 27 tells a SyncGroup to join again."""
    return """
        WITH parked AS (
            SELECT c.`group`, c.step, c.sent_at, c.answered_at, c.error_code, m.member_id,
                   m.session_ms, ms_between(c.sent_at, c.answered_at) AS ms
            FROM {calls} c JOIN {probe_members} m ON same(m, c, `group`, member_id)
            WHERE c.api IN ('JOIN_GROUP', 'SYNC_GROUP')
        )
        SELECT concat(p.step, ' (', p.`group`, ')') AS subject, p.answered_at AS at,
               p.ms AS measured, p.session_ms AS bound_low,
               CASE WHEN count(e.at) > 0 THEN 'was evicted while its request was parked'
                    WHEN p.error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS)
                    THEN clause('was answered ', p.error_code) END AS wrong,
               concat('answered ', p.error_code) AS note, min(e.evidence) AS evidence
        FROM parked p LEFT JOIN {coordinator_events} e
          ON e.event = 'evicted' AND same(e, p, `group`, member_id)
         AND e.at BETWEEN p.sent_at AND p.answered_at
        WHERE p.ms > p.session_ms
        GROUP BY p.`group`, p.step, p.sent_at, p.answered_at, p.error_code, p.ms, p.session_ms
    """


@Rule(
    "R08-wire",
    title="Heartbeats alone keep a member during a rebalance",
    statement="A member that goes on sending heartbeats during a rebalance keeps its place beyond "
    "its session, although each heartbeat is answered REBALANCE_IN_PROGRESS (27).",
    source="document 000, GroupCoordinator; document 003, HEARTBEAT; GroupMetadataManager",
    unit="ms",
    things="members that only sent heartbeats for longer than a session",
    measures="with heartbeats alone",
    matters="A member that finishes a long batch while the others rebalance is not dropped, as "
    "long as it rejoins within max.poll.interval.ms.",
    broker=True,
    protocols=CLASSIC,
)
def told_to_rejoin() -> str:
    """Members whose only signs of life for longer than a session were answered 27."""
    return """
        WITH signs AS (
            SELECT c.`group`, c.member_id, m.session_ms, c.sent_at,
                   c.api = 'HEARTBEAT' AND c.error_code = :REBALANCE_IN_PROGRESS AS told,
                   max(CASE WHEN NOT (c.api = 'HEARTBEAT'
                                      AND c.error_code = :REBALANCE_IN_PROGRESS)
                            THEN c.answered_at END)
                       OVER (PARTITION BY c.`group`, c.member_id ORDER BY c.sent_at, c.api, c.step
                             {SO_FAR}) AS else_at
            FROM {calls} c JOIN {probe_members} m ON same(m, c, `group`, member_id)
            WHERE c.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
              AND c.answered_at IS NOT NULL AND c.error_code <> :UNKNOWN_MEMBER_ID
        ), spans AS (
            SELECT `group`, member_id, session_ms, else_at, max(sent_at) AS last_at,
                   ms_between(else_at, max(sent_at)) AS ms
            FROM signs WHERE told AND else_at IS NOT NULL
            GROUP BY `group`, member_id, session_ms, else_at
        )
        SELECT concat('heartbeats during a rebalance (', s.`group`, ')') AS subject,
               s.last_at AS at, s.ms AS measured, s.session_ms AS bound_low,
               IF(count(e.at) > 0, 'their member was evicted in spite of them', NULL) AS wrong,
               min(e.evidence) AS evidence
        FROM spans s LEFT JOIN {coordinator_events} e
          ON e.event = 'evicted' AND same(e, s, `group`, member_id)
         AND e.at BETWEEN s.else_at AND after(s.session_ms, s.last_at)
        WHERE s.ms > s.session_ms
        GROUP BY s.`group`, s.member_id, s.session_ms, s.else_at, s.last_at, s.ms
    """


@Rule(
    "X09-wire",
    title="A late member is removed, unless it is static",
    statement="A rebalance waits for the longest rebalance timeout of its members, and as long "
    "again if no member has rejoined by then. Dynamic members that have not rejoined are then "
    "removed, and static ones are kept.",
    source="GroupMetadataManager.completeClassicGroupJoin; KIP-345",
    unit="ms",
    things="members that did not rejoin",
    measures="from the start of the rebalance to its join",
    too_low="was not waited for long enough",
    too_high="was waited for too long",
    matters="A static member that hangs keeps its partitions, and nobody reads them until its "
    "session ends.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_PROBE,
)
def stragglers() -> str:
    """Members that did not rejoin while a rebalance waited for them to its end.

    One that nobody has rejoined when the time is over begins it anew: the first join decides how
    often. One within the slack of such a moment may have come before it or after.
    """
    return """
        {REBALANCES},
        -- The timeout that each member had asked for last: that of a later join is for later
        -- rebalances.
        present AS (
            SELECT r.`group`, r.at AS started_at, r.next_at AS joined_at, r.evidence, r.ms,
                   m.member_id, m.instance_id, m.joined_at AS answered_at, m.to_at, m.ended_by,
                   max(struct(j.sent_at, j.rebalance_ms)).rebalance_ms AS rebalance_ms
            FROM followed r JOIN {probe_members} m
              -- A line names the millisecond, and the join that it follows came within that.
              ON m.`group` = r.`group` AND m.from_at < after(1, r.at)
             AND (m.to_at IS NULL OR m.to_at > r.at)
            JOIN {probe_joins} j ON same(j, m, `group`, member_id) AND j.sent_at < after(1, r.at)
            WHERE r.event = 'rebalance_started' AND r.next_event = 'stabilized'
            GROUP BY ALL
        ), awaited AS (
            SELECT *, max(rebalance_ms) OVER (PARTITION BY `group`, started_at) AS timeout_ms,
                   coalesce(to_at <= joined_at, false) AS gone
            FROM present
        ), rejoined AS (
            SELECT r.`group`, r.at AS started_at, min(j.sent_at) AS first_at
            FROM followed r JOIN {probe_joins} j
              ON j.`group` = r.`group` AND j.answered_at > r.at AND j.generation > r.generation
             AND j.sent_at < r.next_at
            WHERE r.event = 'rebalance_started' GROUP BY r.`group`, r.at
        ), timed AS (
            SELECT a.*, a.timeout_ms * (1 + greatest(0, floor(
                       (ms_between(a.started_at, f.first_at) - :slack_ms) / a.timeout_ms)))
                       AS least_ms,
                   a.timeout_ms * (1 + greatest(0, floor(
                       (ms_between(a.started_at, f.first_at) + :slack_ms) / a.timeout_ms)))
                       AS most_ms
            FROM awaited a JOIN rejoined f ON same(f, a, `group`, started_at)
        ), missing AS (
            SELECT a.*, after(a.least_ms, a.started_at) AS due_at FROM timed a
            LEFT ANTI JOIN {probe_joins} j ON same(j, a, `group`, member_id)
             AND j.answered_at > a.started_at AND j.sent_at < after(1, a.joined_at)
            WHERE a.answered_at < a.started_at AND NOT (gone AND a.ended_by = 'left')
              -- Who is turned away had come, and the old coordinator waits for it no longer.
              AND NOT coalesce(a.ended_by = 'turned_away'
                               AND a.to_at <= after(:slack_ms, a.joined_at), false)
        )
        SELECT concat(IF(instance_id IS NULL, 'dynamic', 'static'), ' straggler (', `group`, ')')
                   AS subject,
               joined_at AS at, ms AS measured, least_ms - :slack_ms AS bound_low,
               most_ms + :slack_ms AS bound_high,
               CASE WHEN gone AND instance_id IS NOT NULL
                    THEN clause('was removed (', ended_by, ') and should have been kept')
                    WHEN NOT gone AND instance_id IS NULL
                    THEN 'was kept and should have been removed' END AS wrong,
               concat(IF(gone, concat('removed: ', ended_by), 'kept'),
                      IF(most_ms > timeout_ms, '; nobody had rejoined in time', '')) AS note,
               evidence, after(-:guard_ms, due_at) AS guard_from,
               greatest(joined_at, due_at) AS guard_to
        FROM missing
    """
