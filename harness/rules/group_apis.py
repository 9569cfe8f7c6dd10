"""What a coordinator answers to joins, heartbeats and leaves, right and wrong, in every state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# A rebalance that a leave starts is logged by the same event; that took 1 ms at most.
START_MS: Final = 10

# What a member that says who it is must be answered: the coordinator looks at its instance id, its
# member id and its generation, in this order (ClassicGroup.validateMember and its callers).
_IDENTITY: Final = """
    WHEN instance_id IS NOT NULL AND owner IS NULL THEN 25
    WHEN instance_id IS NOT NULL AND owner <> member_id THEN 82
    WHEN NOT known THEN 25
    WHEN generation <> generation_now THEN 22
"""
HEARTBEAT_ANSWER: Final = f"""
    CASE WHEN state IS NULL THEN NULL WHEN state = 'Dead' THEN 25 {_IDENTITY}
         WHEN state = 'PreparingRebalance' THEN 27 ELSE 0 END
"""
# A group that is not there is made by whoever commits as nobody; an empty one takes that as well.
COMMIT_ANSWER: Final = f"""
    CASE WHEN state_before IN ('Dead', 'Empty') AND coalesce(generation, -1) < 0 THEN 0
         WHEN state IS NULL THEN NULL WHEN state = 'Dead' THEN 22 WHEN nobody THEN 25 {_IDENTITY}
         WHEN state = 'CompletingRebalance' THEN 27 ELSE 0 END
"""
# Columns `ok` and `why` of an answer against the one that it must be.
ANSWERED: Final = """
    CASE WHEN must IS NOT NULL AND error_code IS NOT NULL THEN error_code = must END AS ok,
    CASE WHEN must IS NULL THEN 'the group changed meanwhile'
         WHEN error_code = must THEN concat('answered ', error_code, ' in state ', state_before)
         ELSE concat('answered ', error_code, ' and not ', must, ' in state ', state_before)
    END AS why
"""


def answers(t: Tables, api: str, must: str, where: str = "true") -> Frame:
    """Every call of one API against the error code that `must` (a query's expression) gives."""
    return t.sql(
        f"""
        WITH judged AS (SELECT *, {must} AS must FROM {{probed}} WHERE api = '{api}' AND {where})
        SELECT subject, sent_at AS at, {ANSWERED} FROM judged
        """
    )


def _session_range(t: Tables) -> Frame:
    return t.sql(
        """
        WITH asked AS (
            SELECT *, CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms
            FROM {probed} WHERE api = 'JOIN_GROUP'
        ),
        judged AS (
            SELECT *, session_ms BETWEEN 6000 AND 1800000 AS inside FROM asked
        )
        SELECT subject, sent_at AS at, inside <> (error_code = 26) AS ok, session_ms AS measured,
               CASE WHEN inside THEN 6000 END AS bound_low,
               CASE WHEN inside THEN 1800000 END AS bound_high,
               concat('a session timeout of ', session_ms, ' ms was answered ', error_code) AS why
        FROM judged
        """
    )


def _two_steps(t: Tables) -> Frame:
    """First steps, second steps, and ids that nobody came back with."""
    return t.sql(
        """
        WITH first_steps AS (
            SELECT p.*, get_json_object(p.answer, '$.memberId') AS given,
                   CAST(get_json_object(p.request, '$.sessionTimeoutMs') AS INT) AS session_ms
            FROM {probed} p
            WHERE api = 'JOIN_GROUP' AND member_id IS NULL AND error_code NOT IN (26, 81)
        ),
        waited AS (
            SELECT f.`group`, f.given, f.subject, f.session_ms, f.answered_at,
                   min(p.sent_at) AS back_at, min_by(p.error_code, p.sent_at) AS error_code,
                   min_by(p.api, p.sent_at) AS api, min_by(p.subject, p.sent_at) AS back
            FROM first_steps f LEFT JOIN {probed} p
              ON p.`group` = f.`group` AND p.member_id = f.given
            WHERE f.error_code = 79 GROUP BY ALL
        ),
        dropped AS (
            SELECT w.*, r.arrived_at, r.processed_at, e.at, e.evidence,
                   timestampdiff(MICROSECOND, r.arrived_at, e.at) / 1e3 AS ms,
                   timestampdiff(MICROSECOND, r.arrived_at, r.processed_at) / 1e3 AS answering_ms,
                   timestampadd(MILLISECOND, w.session_ms, w.answered_at) AS due_at
            FROM waited w
            LEFT JOIN {requests} r ON r.`group` = w.`group` AND r.member_id = w.given
                 AND r.api = 'JOIN_GROUP' AND r.error_code = 79
            LEFT JOIN {coordinator_events} e ON e.`group` = w.`group` AND e.member_id = w.given
                 AND e.event = 'pending_evicted'
        )
        SELECT subject, sent_at AS at,
               CASE WHEN instance_id IS NULL
                    THEN error_code = 79 AND coalesce(length(given), 0) > 0
                    ELSE error_code <> 79 END AS ok,
               CAST(NULL AS DOUBLE) AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               CAST(NULL AS DOUBLE) AS bound_high, concat('answered ', error_code) AS why,
               CAST(NULL AS STRING) AS evidence, CAST(NULL AS TIMESTAMP) AS guard_from,
               CAST(NULL AS TIMESTAMP) AS guard_to
        FROM first_steps
        UNION ALL
        SELECT back, back_at,
               CASE WHEN back_at < timestampadd(MILLISECOND, -:slack_ms, due_at)
                    THEN error_code <> 25
                    WHEN back_at > timestampadd(MILLISECOND, :slack_ms, due_at)
                    THEN error_code = 25 END,
               NULL, NULL, NULL,
               concat('it came back ', timestampdiff(MILLISECOND, answered_at, back_at),
                      ' ms after it was given its id and was answered ', error_code),
               NULL, NULL, NULL
        FROM dropped WHERE api = 'JOIN_GROUP'
        UNION ALL
        SELECT concat('unused id (', `group`, ')'), coalesce(at, due_at),
               CASE WHEN at IS NULL OR arrived_at IS NOT NULL
                    THEN coalesce(ms >= session_ms - :slack_ms
                                  AND ms <= session_ms + answering_ms + :slack_ms, false) END,
               ms, session_ms - :slack_ms, session_ms + coalesce(answering_ms, 0) + :slack_ms,
               CASE WHEN at IS NULL THEN 'its id was never dropped'
                    ELSE 'its id was dropped' END,
               evidence, timestampadd(MILLISECOND, -:guard_ms, due_at), at
        FROM dropped
        WHERE (back_at IS NULL OR back_at > timestampadd(MILLISECOND, :slack_ms, due_at))
          AND due_at < timestampadd(MILLISECOND, -1000, :stopped_at)
        """
    )


def _heartbeats(t: Tables) -> Frame:
    return answers(t, "HEARTBEAT", HEARTBEAT_ANSWER)


def _duplicates(t: Tables) -> Frame:
    """Everything that the older and the newer owner of an instance id say after the change."""
    return t.sql(
        """
        SELECT p.subject, p.sent_at AS at,
               CASE WHEN p.member_id = m.member_id THEN p.error_code = 82
                    ELSE p.error_code NOT IN (25, 82) END AS ok,
               concat(CASE WHEN p.member_id = m.member_id THEN 'the older' ELSE 'the newer' END,
                      ' was answered ', p.error_code) AS why
        FROM {probe_members} m JOIN {probed} p
          ON p.`group` = m.`group` AND p.instance_id = m.instance_id
         AND p.member_id IN (m.member_id, m.replaced_by) AND p.sent_at > m.replaced_at
        WHERE m.replaced_by IS NOT NULL
          -- A rejoin after leaving is no duplicate.
          AND m.ended_by = 'replaced'
        """
    )


def _full_group(t: Tables) -> Frame:
    return t.sql(
        """
        SELECT subject, sent_at AS at,
               (error_code = 81) = (NOT known AND size >= :group_max_size) AS ok,
               size + CASE WHEN error_code NOT IN (81) AND NOT known THEN 1 ELSE 0 END AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, :group_max_size AS bound_high,
               concat('answered ', error_code, ' with ', size, ' members there') AS why
        FROM {probed}
        WHERE api = 'JOIN_GROUP' AND error_code <> 26
          -- Only a group that is or was full says anything.
          AND `group` IN (SELECT `group` FROM {probed} WHERE size >= :group_max_size)
        """
    )


def _leaves(t: Tables) -> Frame:
    """What a leave starts or completes, by the state that it met."""
    return t.sql(
        """
        WITH leaves AS (
            SELECT p.*, e.at AS left_at, e.evidence
            FROM {probed} p LEFT JOIN {coordinator_events} e
              ON e.event = 'left' AND e.`group` = p.`group` AND e.member_id = p.member_id
             AND e.at >= p.sent_at AND e.at <= p.answered_at
            WHERE p.api = 'LEAVE_GROUP'
        ),
        -- Members that have not rejoined.
        absent AS (
            SELECT l.call, m.member_id
            FROM leaves l JOIN {probe_members} m
              ON m.`group` = l.`group` AND m.member_id <> l.member_id AND m.from_at < l.left_at
             AND (m.to_at IS NULL OR m.to_at > l.left_at)
            LEFT ANTI JOIN {probe_joins} j
              ON j.`group` = m.`group` AND j.member_id = m.member_id AND j.sent_at < l.left_at
             AND j.answered_at > l.left_at
            WHERE l.left_at IS NOT NULL
        ),
        -- Newcomers that were given an id, have not come back with it, and are waited for.
        expected AS (
            SELECT l.call, get_json_object(p.answer, '$.memberId') AS member_id
            FROM leaves l JOIN {probed} p
              ON p.`group` = l.`group` AND p.api = 'JOIN_GROUP' AND p.error_code = 79
             AND p.sent_at < l.left_at
            LEFT ANTI JOIN {probed} b
              ON b.`group` = l.`group` AND b.sent_at < l.left_at
             AND b.member_id = get_json_object(p.answer, '$.memberId')
            LEFT ANTI JOIN {coordinator_events} e
              ON e.`group` = l.`group` AND e.event = 'pending_evicted' AND e.at < l.left_at
             AND e.member_id = get_json_object(p.answer, '$.memberId')
        ),
        missing AS (
            SELECT call, count(*) AS missing
            FROM (SELECT * FROM absent UNION ALL SELECT * FROM expected) GROUP BY call
        ),
        -- What comes after somebody else's leave or join may be the doing of that one.
        causes AS (
            SELECT `group`, at FROM {coordinator_events} WHERE event IN ('left', 'member_added')
            UNION ALL
            SELECT `group`, sent_at FROM {probed} WHERE api = 'JOIN_GROUP'
        ),
        spans AS (
            SELECT l.call, min(c.at) AS until_at
            FROM leaves l JOIN causes c
              ON c.`group` = l.`group` AND c.at > coalesce(l.left_at, l.sent_at)
            GROUP BY l.call
        ),
        followed AS (
            SELECT l.call,
                   min(e.at) FILTER (WHERE e.event = 'rebalance_started') AS started_at,
                   min(e.at) FILTER (WHERE e.event IN ('stabilized', 'emptied')) AS completed_at,
                   min(e.at) AS at
            FROM leaves l LEFT JOIN spans s USING (call) JOIN {coordinator_events} e
              ON e.`group` = l.`group` AND e.event IN ('rebalance_started', 'stabilized', 'emptied')
             AND e.at >= coalesce(l.left_at, l.sent_at)
             AND (s.until_at IS NULL OR e.at < s.until_at)
             AND e.at <= timestampadd(MILLISECOND, :start_ms + :slack_ms,
                                      coalesce(l.left_at, l.answered_at))
            GROUP BY l.call
        ),
        judged AS (
            SELECT l.*, coalesce(m.missing, 0) AS missing, f.started_at, f.completed_at,
                   CASE WHEN l.left_at IS NULL THEN 'nothing'
                        WHEN l.state_before IN ('Stable', 'CompletingRebalance') THEN 'rebalance'
                        WHEN l.state_before <> 'PreparingRebalance' THEN 'nothing'
                        WHEN coalesce(m.missing, 0) > 0 THEN 'nothing'
                        ELSE 'completion' END AS must,
                   CASE WHEN f.started_at IS NOT NULL THEN 'rebalance'
                        WHEN f.completed_at IS NOT NULL THEN 'completion'
                        ELSE 'nothing' END AS came,
                   timestampdiff(MICROSECOND, l.left_at, f.at) / 1e3 AS ms
            FROM leaves l LEFT JOIN missing m USING (call) LEFT JOIN followed f USING (call)
        )
        SELECT subject, coalesce(left_at, sent_at) AS at,
               CASE WHEN state_before = 'Stable' AND known AND left_at IS NULL THEN false
                    ELSE must = came END AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               CASE WHEN must <> 'nothing' THEN :start_ms + :slack_ms END AS bound_high,
               concat(came, ' followed in state ', state_before, ', answered ', error_code,
                      CASE WHEN must <> came THEN concat(', but must be ', must) ELSE '' END)
                   AS why,
               evidence, CASE WHEN must <> 'nothing' THEN left_at END AS guard_from,
               timestampadd(MILLISECOND, :start_ms + :slack_ms, left_at) AS guard_to
        FROM judged
        """,
        start_ms=START_MS,
    )


SESSION_RANGE = Rule(
    id="R17",
    title="Session timeouts are accepted from 6 s to 30 min",
    statement=(
        "A join with a session timeout below 6,000 or above 1,800,000 ms is refused with "
        "INVALID_SESSION_TIMEOUT (26), any other is not."
    ),
    source="seed 002, session.timeout.ms; group.min.session.timeout.ms and group.max…",
    unit="ms",
    things="joins",
    measures="asked for",
    examine=_session_range,
    broker=True,
    protocols=CLASSIC,
)
TWO_STEPS = Rule(
    id="X08-wire",
    title="A dynamic member joins in two steps",
    statement=(
        "A dynamic member that joins without an id is given one with MEMBER_ID_REQUIRED (79); the "
        "id is dropped when its session timeout passes before it is used. A static member joins at "
        "once."
    ),
    source="KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    unit="ms",
    things="joins and unused ids",
    measures="from the first step to the end of an unused id",
    examine=_two_steps,
    broker=True,
    protocols=CLASSIC,
)
HEARTBEATS = Rule(
    id="R35-wire",
    title="A heartbeat is held against group, instance, member and generation",
    statement=(
        "A heartbeat of an unknown member or group is answered UNKNOWN_MEMBER_ID (25), of another "
        "generation ILLEGAL_GENERATION (22), of an instance id that another member has "
        "FENCED_INSTANCE_ID (82); a right one 0, or REBALANCE_IN_PROGRESS (27) while members are "
        "waited for."
    ),
    source="seed 004, heartbeat request; GroupMetadataManager.classicGroupHeartbeat; KIP-345",
    unit="error code",
    things="heartbeats",
    measures="",
    examine=_heartbeats,
    broker=True,
    protocols=CLASSIC,
)
DUPLICATES = Rule(
    id="X05-wire",
    title="Of two members with one instance id the older is fenced",
    statement=(
        "When a second member joins with the group.instance.id of a live one, whatever the older "
        "one says afterwards is answered FENCED_INSTANCE_ID (82), and the newer one has its place."
    ),
    source="KIP-345; ClassicGroup.validateMember",
    unit="error code",
    things="calls after the change",
    measures="",
    examine=_duplicates,
    broker=True,
    protocols=CLASSIC,
)
FULL_GROUP = Rule(
    id="X15",
    title="A full group takes nobody more",
    statement=(
        "A join that would make a group larger than group.max.size is answered "
        "GROUP_MAX_SIZE_REACHED (81); those who are in stay."
    ),
    source="group.max.size; KIP-389",
    unit="members",
    things="joins to a group that is or was full",
    measures="with it",
    examine=_full_group,
    broker=True,
    protocols=CLASSIC,
)
LEAVES = Rule(
    id="R29-wire",
    title="What a leave starts depends on the group's state",
    statement=(
        "A LeaveGroup does nothing in an empty or unknown group; in a stable or completing one it "
        "starts a rebalance; while members are waited for it starts none, and completes the join "
        "if the one that leaves was the last one missing."
    ),
    source="seed 003, LEAVE_GROUP",
    unit="ms",
    things="leaves",
    measures="from the leave to what it starts",
    examine=_leaves,
    broker=True,
    protocols=CLASSIC,
)
