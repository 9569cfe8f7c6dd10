"""What a coordinator waits for, and for how long: shown by members that are silent on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables


def _leader_assigns(t: Tables) -> Frame:
    """Each follower's answer against what the leader gave; and who is told the members."""
    return t.sql(
        """
        WITH syncs AS (
            SELECT c.*, get_json_object(c.answer, '$.assignment') AS got,
                   from_json(get_json_object(c.request, '$.assignments'),
                             'array<struct<memberId:string,assignment:string>>') AS given
            FROM {calls} c WHERE c.api = 'SYNC_GROUP' AND c.error_code = 0
        ),
        elected AS (
            SELECT `group`, generation, max(leader) AS leader
            FROM {probe_joins} GROUP BY `group`, generation
        ),
        of_leaders AS (
            SELECT s.`group`, s.generation, e.leader, min(s.sent_at) AS sent_at,
                   min(r.arrived_at) AS arrived_at, min_by(s.given, s.sent_at) AS given
            FROM syncs s JOIN elected e
              ON e.`group` = s.`group` AND e.generation = s.generation AND e.leader = s.member_id
            LEFT JOIN {requests} r
              ON r.api = 'SYNC_GROUP' AND r.`group` = s.`group` AND r.member_id = s.member_id
             AND r.generation = s.generation AND r.error_code = 0
            -- Only the first one assigns; a later one is answered what that gave.
            WHERE size(s.given) > 0 GROUP BY s.`group`, s.generation, e.leader
        ),
        of_followers AS (
            SELECT s.*, l.sent_at AS leader_sent_at, l.arrived_at AS leader_arrived_at,
                   r.processed_at, r.evidence,
                   get(filter(l.given, g -> g.memberId IN (s.member_id, m.member_id)), 0)
                       .assignment AS given_to_it,
                   get(filter(s.given, g -> g.memberId = s.member_id), 0).assignment AS own_wish,
                   timestampdiff(MICROSECOND, l.arrived_at, r.processed_at) / 1e3 AS ms
            FROM syncs s JOIN of_leaders l
              ON l.`group` = s.`group` AND l.generation = s.generation AND l.leader <> s.member_id
            -- Who took a static member's place has the part that was given to that.
            LEFT JOIN {probe_members} m
              ON m.`group` = s.`group` AND m.replaced_by = s.member_id
            LEFT JOIN {requests} r
              ON r.api = 'SYNC_GROUP' AND r.`group` = s.`group` AND r.member_id = s.member_id
             AND r.generation = s.generation AND r.error_code = 0
        )
        SELECT concat(step, ' (', `group`, ')') AS subject, answered_at AS at,
               CASE WHEN ms IS NOT NULL THEN
                   ms >= 0 AND answered_at >= leader_sent_at AND got = coalesce(given_to_it, '')
               END AS ok,
               ms AS measured, 0 AS bound_low, CAST(NULL AS DOUBLE) AS bound_high,
               CASE WHEN answered_at < leader_sent_at THEN 'answered before the leader assigned'
                    WHEN got <> coalesce(given_to_it, '')
                    THEN 'it did not get what the leader gave it'
                    WHEN own_wish IS NOT NULL
                    THEN 'it got what the leader gave it, and not what it gave itself'
                    ELSE 'it got what the leader gave it' END AS why,
               evidence
        FROM of_followers
        UNION ALL
        SELECT concat(step, ' (', `group`, ')'), answered_at, told_members = (leader = member_id),
               NULL, NULL, NULL,
               concat(CASE WHEN leader = member_id THEN 'the leader was '
                           ELSE 'a follower was ' END,
                      CASE WHEN told_members THEN 'told the members'
                           ELSE 'not told the members' END), NULL
        FROM {probe_joins}
        -- A static member that takes its place in a stable group is told what its client needs.
        WHERE NOT (instance_id IS NOT NULL AND state_before = 'Stable')
        """
    )


# Probes' rebalances: from the coordinator's line that one starts to the next that it is joined.
_REBALANCES = """
    WITH lines AS (
        SELECT e.`group`, e.event, e.at, e.reason, e.generation, e.evidence
        FROM {coordinator_events} e
        WHERE e.event IN ('rebalance_started', 'stabilized', 'emptied')
          AND e.`group` IN (SELECT `group` FROM {probe_joins})
    ),
    followed AS (
        SELECT *, lead(at) OVER w AS next_at, lead(event) OVER w AS next_event,
               lead(reason) OVER w AS next_reason
        FROM lines WINDOW w AS (PARTITION BY `group` ORDER BY at)
    )
"""


def _never_synced(t: Tables) -> Frame:
    """Members of a generation that never asked for their part of it."""
    return t.sql(
        _REBALANCES
        + """
        , timeouts AS (
            SELECT f.`group`, f.generation, f.at, f.next_at, f.next_reason, f.evidence,
                   max(j.rebalance_ms) AS timeout_ms
            FROM followed f JOIN {probe_joins} j
              ON j.`group` = f.`group` AND j.generation = f.generation
            WHERE f.event = 'stabilized' GROUP BY ALL
        ),
        silent AS (
            SELECT f.*, j.member_id,
                   timestampadd(MILLISECOND, f.timeout_ms, f.at) AS due_at,
                   coalesce(f.next_reason LIKE 'Removing [%'
                            AND contains(f.next_reason, j.member_id), false) AS removed,
                   timestampdiff(MICROSECOND, f.at, f.next_at) / 1e3 AS ms
            FROM timeouts f JOIN {probe_joins} j
              ON j.`group` = f.`group` AND j.generation = f.generation
            LEFT ANTI JOIN {calls} s
              ON s.api = 'SYNC_GROUP' AND s.`group` = j.`group` AND s.member_id = j.member_id
             AND s.generation = j.generation
        )
        SELECT concat('member without SyncGroup (', `group`, ' generation ', generation, ')')
                   AS subject,
               coalesce(next_at, due_at) AS at,
               removed AND ms >= timeout_ms - :slack_ms AND ms <= timeout_ms + :slack_ms AS ok,
               CASE WHEN removed THEN ms END AS measured, timeout_ms - :slack_ms AS bound_low,
               timeout_ms + :slack_ms AS bound_high,
               CASE WHEN removed THEN next_reason ELSE 'it was not removed' END AS why, evidence,
               timestampadd(MILLISECOND, -:guard_ms, due_at) AS guard_from,
               greatest(next_at, due_at) AS guard_to
        FROM silent
        -- Where something else ended the generation first, nothing was due.
        WHERE removed OR next_at IS NULL AND due_at < :stopped_at
           OR next_at > timestampadd(MILLISECOND, :slack_ms, due_at)
        """
    )


def _parked(t: Tables) -> Frame:
    """Requests that waited for longer than a session; 27 tells a SyncGroup to join again."""
    return t.sql(
        """
        WITH parked AS (
            SELECT c.`group`, c.step, c.sent_at, c.answered_at, c.error_code, m.member_id,
                   m.session_ms, timestampdiff(MICROSECOND, c.sent_at, c.answered_at) / 1e3 AS ms
            FROM {calls} c JOIN {probe_members} m
              ON m.`group` = c.`group` AND m.member_id = c.member_id
            WHERE c.api IN ('JOIN_GROUP', 'SYNC_GROUP')
        )
        SELECT concat(p.step, ' (', p.`group`, ')') AS subject, p.answered_at AS at,
               p.error_code IN (0, 27) AND count(e.at) = 0 AS ok, p.ms AS measured,
               p.session_ms AS bound_low, CAST(NULL AS DOUBLE) AS bound_high,
               CASE WHEN count(e.at) > 0 THEN 'evicted while its request was parked'
                    ELSE concat('answered ', p.error_code) END AS why,
               min(e.evidence) AS evidence
        FROM parked p LEFT JOIN {coordinator_events} e
          ON e.event = 'evicted' AND e.`group` = p.`group` AND e.member_id = p.member_id
         AND e.at BETWEEN p.sent_at AND p.answered_at
        WHERE p.ms > p.session_ms
        GROUP BY p.`group`, p.step, p.sent_at, p.answered_at, p.error_code, p.ms, p.session_ms
        """
    )


def _told_to_rejoin(t: Tables) -> Frame:
    """Members whose only signs of life for longer than a session were answered 27."""
    return t.sql(
        """
        WITH signs AS (
            SELECT c.`group`, c.member_id, m.session_ms, c.error_code, c.sent_at,
                   max(CASE WHEN NOT (c.api = 'HEARTBEAT' AND c.error_code = 27)
                            THEN c.answered_at END)
                       OVER (PARTITION BY c.`group`, c.member_id ORDER BY c.sent_at
                             ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS else_at,
                   c.api
            FROM {calls} c JOIN {probe_members} m
              ON m.`group` = c.`group` AND m.member_id = c.member_id
            WHERE c.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
              AND c.answered_at IS NOT NULL AND c.error_code <> 25
        ),
        spans AS (
            SELECT `group`, member_id, session_ms, else_at, max(sent_at) AS last_at,
                   timestampdiff(MICROSECOND, else_at, max(sent_at)) / 1e3 AS ms
            FROM signs WHERE api = 'HEARTBEAT' AND error_code = 27 AND else_at IS NOT NULL
            GROUP BY `group`, member_id, session_ms, else_at
        )
        SELECT concat('heartbeats during a rebalance (', s.`group`, ')') AS subject,
               s.last_at AS at,
               count(e.at) = 0 AS ok, s.ms AS measured, s.session_ms AS bound_low,
               CAST(NULL AS DOUBLE) AS bound_high,
               CASE WHEN count(e.at) = 0 THEN 'it kept its place'
                    ELSE 'it was evicted although it sent heartbeats' END AS why,
               min(e.evidence) AS evidence
        FROM spans s LEFT JOIN {coordinator_events} e
          ON e.event = 'evicted' AND e.`group` = s.`group` AND e.member_id = s.member_id
         AND e.at BETWEEN s.else_at AND timestampadd(MILLISECOND, s.session_ms, s.last_at)
        WHERE s.ms > s.session_ms
        GROUP BY s.`group`, s.member_id, s.session_ms, s.else_at, s.last_at, s.ms
        """
    )


def _stragglers(t: Tables) -> Frame:
    """Members that did not rejoin while a rebalance waited for them to its end."""
    return t.sql(
        _REBALANCES
        + """
        , rebalances AS (
            SELECT f.`group`, f.at AS started_at, f.next_at AS joined_at, f.evidence,
                   timestampdiff(MICROSECOND, f.at, f.next_at) / 1e3 AS ms
            FROM followed f
            WHERE f.event = 'rebalance_started' AND f.next_event = 'stabilized'
        ),
        -- The timeout that each member had told last: that of a later join is for later rebalances.
        present AS (
            SELECT r.`group`, r.started_at, r.joined_at, r.evidence, r.ms, m.member_id,
                   m.instance_id, m.joined_at AS answered_at, m.to_at, m.ended_by,
                   max_by(j.rebalance_ms, j.sent_at) AS rebalance_ms
            FROM rebalances r JOIN {probe_members} m
              ON m.`group` = r.`group` AND m.from_at < r.started_at
             AND (m.to_at IS NULL OR m.to_at > r.started_at)
            JOIN {probe_joins} j
              ON j.`group` = m.`group` AND j.member_id = m.member_id AND j.sent_at < r.started_at
            GROUP BY ALL
        ),
        awaited AS (
            SELECT *, max(rebalance_ms) OVER (PARTITION BY `group`, started_at) AS timeout_ms
            FROM present
        ),
        missing AS (
            SELECT a.*, timestampadd(MILLISECOND, a.timeout_ms, a.started_at) AS due_at,
                   coalesce(a.to_at <= a.joined_at, false) AS removed
            FROM awaited a
            LEFT ANTI JOIN {probe_joins} j
              ON j.`group` = a.`group` AND j.member_id = a.member_id
             AND j.answered_at > a.started_at AND j.sent_at < a.joined_at
            WHERE a.answered_at < a.started_at
              AND NOT coalesce(a.ended_by = 'left' AND a.to_at <= a.joined_at, false)
        )
        SELECT concat(CASE WHEN instance_id IS NULL THEN 'dynamic' ELSE 'static' END,
                      ' straggler (', `group`, ')') AS subject, joined_at AS at,
               (removed = (instance_id IS NULL)) AND ms >= timeout_ms - :slack_ms
                   AND ms <= timeout_ms + :slack_ms AS ok,
               ms AS measured, timeout_ms - :slack_ms AS bound_low,
               timeout_ms + :slack_ms AS bound_high,
               CASE WHEN removed THEN concat('removed: ', ended_by) ELSE 'kept' END AS why,
               evidence, timestampadd(MILLISECOND, -:guard_ms, due_at) AS guard_from,
               greatest(joined_at, due_at) AS guard_to
        FROM missing
        """
    )


LEADER_ASSIGNS = Rule(
    id="R13",
    title="The leader assigns, and nobody else",
    statement=(
        "Followers' SyncGroups wait until the leader's brings the assignment, and each gets the "
        "part that the leader gave it, whatever its own says; only the leader is told the members."
    ),
    source="seed 001, SyncGroup; seed 003, the group's state machine",
    unit="ms",
    things="answers to SyncGroup and JoinGroup",
    measures="from the leader's SyncGroup to a follower's part",
    examine=_leader_assigns,
    broker=True,
    protocols=CLASSIC,
)
NEVER_SYNCED = Rule(
    id="X10",
    title="A member that never syncs is removed",
    statement=(
        "A member that joined and sends no SyncGroup is removed one rebalance timeout after the "
        "join was complete, and a rebalance starts."
    ),
    source="KAFKA-9627; GroupMetadataManager.schedulePendingSync",
    unit="ms",
    things="members without SyncGroup",
    measures="from the join to the removal",
    examine=_never_synced,
    broker=True,
    protocols=CLASSIC,
)
PARKED = Rule(
    id="R03-wire",
    title="A parked JoinGroup or SyncGroup is a sign of life",
    statement=(
        "A member whose JoinGroup or SyncGroup the coordinator has not answered yet is not "
        "evicted, however much longer than its session that takes."
    ),
    source="seed 000, GroupCoordinator; ClassicGroupMember.hasSatisfiedHeartbeat",
    unit="ms",
    things="requests parked for longer than a session",
    measures="parked",
    examine=_parked,
    broker=True,
    protocols=CLASSIC,
)
TOLD_TO_REJOIN = Rule(
    id="R08-wire",
    title="A heartbeat answered REBALANCE_IN_PROGRESS counts",
    statement=(
        "A member that goes on sending heartbeats during a rebalance keeps its place beyond its "
        "session, although each is answered REBALANCE_IN_PROGRESS (27)."
    ),
    source="seed 000, GroupCoordinator; seed 003, HEARTBEAT; GroupMetadataManager",
    unit="ms",
    things="members that only sent heartbeats for longer than a session",
    measures="on such heartbeats alone",
    examine=_told_to_rejoin,
    broker=True,
    protocols=CLASSIC,
)
STRAGGLERS = Rule(
    id="X09-wire",
    title="Who does not rejoin in time is removed, unless static",
    statement=(
        "A rebalance waits for the longest rebalance timeout of its members; dynamic members that "
        "have not rejoined then are removed, static ones are kept."
    ),
    source="GroupMetadataManager.completeClassicGroupJoin; KIP-345",
    unit="ms",
    things="members that did not rejoin",
    measures="from the start of the rebalance to its join",
    examine=_stragglers,
    broker=True,
    protocols=CLASSIC,
)
