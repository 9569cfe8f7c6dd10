"""What a coordinator answers to joins, heartbeats and leaves, right and wrong, in every state."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rebalance import START_MS  # noqa: F401 (a query names it)
from harness.rules.rule import A_PROBE, Rule

# What a member that says who it is must be answered: the coordinator looks at its instance id, its
# member id and its generation, in this order (ClassicGroup.validateMember and its callers).
IDENTITY: Final = """
    WHEN instance_id IS NOT NULL AND owner IS NULL THEN :UNKNOWN_MEMBER_ID
    WHEN instance_id IS NOT NULL AND owner <> member_id THEN :FENCED_INSTANCE_ID
    WHEN NOT known THEN :UNKNOWN_MEMBER_ID
    WHEN generation <> generation_now THEN :ILLEGAL_GENERATION
"""
HEARTBEAT_ANSWER: Final = f"""
    CASE WHEN state IS NULL THEN NULL WHEN state = 'Dead' THEN :UNKNOWN_MEMBER_ID {IDENTITY}
         WHEN state = 'PreparingRebalance' THEN :REBALANCE_IN_PROGRESS ELSE :NONE END
"""
# A group that is not there is made by whoever commits as nobody; an empty one takes that as well.
# That it is not there is told since version 9 of OffsetCommit, by the coordinator of Kafka 4
# (OffsetMetadataManager.validateOffsetCommit; the one of 3.9 looks at no version).
COMMIT_ANSWER: Final = f"""
    CASE WHEN state_before IN ('Dead', 'Empty') AND coalesce(generation, -1) < 0 THEN :NONE
         WHEN state IS NULL THEN NULL
         WHEN state = 'Dead' AND :kafka_major >= 4
              AND CAST(get_json_object(request, '$.version') AS INT) >= 9 THEN :GROUP_ID_NOT_FOUND
         WHEN state = 'Dead' THEN :ILLEGAL_GENERATION
         WHEN nobody THEN :UNKNOWN_MEMBER_ID {IDENTITY}
         WHEN state = 'CompletingRebalance' THEN :REBALANCE_IN_PROGRESS ELSE :NONE END
"""
# Columns of an answer against the one that it must be; that is known only if the state is, too.
ANSWERED: Final = """
    CASE WHEN must IS NULL THEN 'the group changed meanwhile'
         WHEN error_code IS NULL THEN 'was not answered' END AS unknown,
    CASE WHEN error_code <> must
         THEN clause('was answered ', error_code, ', not ', must, ', in state ', state_before)
         END AS wrong,
    concat('answered ', error_code, ' in state ', state_before) AS note
"""


def answers(api: str, must: str, where: str = "true") -> str:
    """Every call of one API against the error code that `must` (a query's expression) gives."""
    return f"""
        WITH judged AS (SELECT *, {must} AS must FROM {{probed}} WHERE api = '{api}' AND {where})
        SELECT subject, sent_at AS at, {ANSWERED} FROM judged
    """


# What is known of a group once a commit as nobody was accepted where there was none: it is there.
CREATED: Final = """
    UNION ALL
    SELECT concat('after it: ', j.subject), j.answered_at, CAST(NULL AS STRING),
           IF(j.state_after = 'Dead', 'there was still no group', NULL), CAST(NULL AS STRING)
    FROM judged j LEFT ANTI JOIN {calls} d
      ON d.api = 'DELETE_GROUPS' AND d.`group` = j.`group`
     AND d.sent_at > after(-:DELETED_MS, j.sent_at)
     AND d.sent_at < after(:DELETED_MS, j.answered_at)
    WHERE j.nobody AND j.state_before = 'Dead' AND j.state_after IS NOT NULL
      AND j.error_code = :NONE
"""
# A delete that was asked for so shortly before or after may be in force when the state is read.
DELETED_MS: Final = 5_000


@Rule(
    "R17",
    title="Session timeouts are accepted from 6 s to 30 min",
    statement="A JoinGroup with a session timeout below 6,000 ms or above 1,800,000 ms is refused "
    "with INVALID_SESSION_TIMEOUT (26). No other JoinGroup is refused so.",
    source="document 002, session.timeout.ms; group.min.session.timeout.ms and group.max…",
    unit="ms",
    things="joins",
    measures="requested",
    matters="A consumer whose session.timeout.ms is outside this range never joins its group.",
    broker=True,
    protocols=CLASSIC,
)
def session_timeouts_in_range() -> str:
    """Joins of scripts, refused or not, and those of members that were let in."""
    return """
        WITH asked AS (
            SELECT *, CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms
            FROM {probed} WHERE api = 'JOIN_GROUP'
        )
        SELECT subject, sent_at AS at, session_ms AS measured,
               CASE WHEN (session_ms BETWEEN :session_least_ms AND :session_most_ms)
                         = (error_code = :INVALID_SESSION_TIMEOUT)
                    THEN clause('was answered ', error_code, ' to a session timeout of ',
                                session_ms, ' ms') END AS wrong,
               CAST(NULL AS STRING) AS evidence
        FROM asked
        UNION ALL
        SELECT concat(member, ' (', member_id, ')'), first.arrived_at, first.session_timeout_ms,
               IF(first.fine, NULL, clause('was let in with a session timeout of ',
                                           first.session_timeout_ms, ' ms')),
               first.evidence
        FROM (SELECT member, member_id,
                     min(struct(session_timeout_ms BETWEEN :session_least_ms AND :session_most_ms
                                    AS fine,
                                arrived_at, session_timeout_ms, evidence)) AS first
              FROM {joins} WHERE session_timeout_ms IS NOT NULL GROUP BY member, member_id)
    """


@Rule(
    "X08-wire",
    title="A dynamic member gets an id before it joins",
    statement="A dynamic member that joins without an id is answered MEMBER_ID_REQUIRED (79) with "
    "a new id. An id that is not used is dropped after the session timeout. A static member joins "
    "at once.",
    source="KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    unit="ms",
    things="joins and unused ids",
    measures="from the first step to the end of an unused id",
    too_low="was dropped too early",
    too_high="was dropped too late",
    matters="Clients that try to join again and again do not fill the group with dead members.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_PROBE,
)
def two_steps() -> str:
    """First steps, second steps, and ids that nobody came back with."""
    return """
        WITH first_steps AS (
            SELECT *, get_json_object(answer, '$.memberId') AS given,
                   CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms
            FROM {probed}
            WHERE api = 'JOIN_GROUP' AND member_id IS NULL
              AND error_code NOT IN (:INVALID_SESSION_TIMEOUT, :GROUP_MAX_SIZE_REACHED)
        ), waited AS (
            SELECT f.`group`, f.given, f.session_ms, f.answered_at,
                   after(f.session_ms, f.answered_at) AS due_at,
                   min_by(struct(p.sent_at, p.api, p.error_code, p.subject), p.call) AS back
            FROM first_steps f LEFT JOIN {probed} p
              ON p.`group` = f.`group` AND p.member_id = f.given
            WHERE f.error_code = :MEMBER_ID_REQUIRED GROUP BY ALL
        ), dropped AS (
            SELECT w.*, r.arrived_at, e.at, e.evidence, ms_between(r.arrived_at, e.at) AS ms,
                   coalesce(ms_between(r.arrived_at, r.processed_at), 0) AS answering_ms
            FROM waited w
            LEFT JOIN {requests} r ON r.`group` = w.`group` AND r.member_id = w.given
                 AND r.api = 'JOIN_GROUP' AND r.error_code = :MEMBER_ID_REQUIRED
            LEFT JOIN {coordinator_events} e ON e.`group` = w.`group` AND e.member_id = w.given
                 AND e.event = 'pending_evicted'
        )
        SELECT subject, sent_at AS at, CAST(NULL AS DOUBLE) AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, CAST(NULL AS DOUBLE) AS bound_high,
               CASE WHEN (instance_id IS NULL) <> (error_code = :MEMBER_ID_REQUIRED)
                    THEN clause('was answered ', error_code, ' as a ',
                                IF(instance_id IS NULL, 'dynamic', 'static'), ' member')
                    WHEN instance_id IS NULL AND coalesce(given, '') = ''
                    THEN 'was given no id' END AS wrong,
               CAST(NULL AS STRING) AS unknown, CAST(NULL AS STRING) AS note,
               CAST(NULL AS STRING) AS evidence, CAST(NULL AS TIMESTAMP) AS guard_from,
               CAST(NULL AS TIMESTAMP) AS guard_to
        FROM first_steps
        UNION ALL
        SELECT back.subject, back.sent_at, NULL, NULL, NULL,
               CASE WHEN (back.sent_at < due_at) = (back.error_code = :UNKNOWN_MEMBER_ID)
                    THEN concat('was answered ', back.error_code, ' with an id given ',
                                ms_between(answered_at, back.sent_at), ' ms before') END,
               IF(back.sent_at BETWEEN after(-:slack_ms, due_at) AND after(:slack_ms, due_at),
                  'came when its id was due to be dropped', NULL),
               concat('came ', ms_between(answered_at, back.sent_at),
                      ' ms after its id was given'),
               NULL, NULL, NULL
        FROM dropped WHERE back.api = 'JOIN_GROUP'
        UNION ALL
        SELECT concat('unused id (', `group`, ')'), coalesce(at, due_at),
               ms, session_ms - :slack_ms, session_ms + answering_ms + :slack_ms,
               IF(at IS NULL, 'was never dropped', NULL),
               IF(at IS NOT NULL AND arrived_at IS NULL, 'its request was not recorded', NULL),
               NULL, evidence, guard_from(due_at, at), at
        FROM dropped
        WHERE (back.sent_at IS NULL OR back.sent_at > after(:slack_ms, due_at))
          AND due_at < after(-1000, :stopped_at)
    """


@Rule(
    "R35-wire",
    title="A heartbeat is checked against group, member and generation",
    statement="A heartbeat of an unknown member or group is answered UNKNOWN_MEMBER_ID (25), one "
    "of another generation ILLEGAL_GENERATION (22), and one with another member's instance id "
    "FENCED_INSTANCE_ID (82). A correct heartbeat is answered 0, or REBALANCE_IN_PROGRESS (27) "
    "while the group waits for members to rejoin.",
    source="document 004, heartbeat request; GroupMetadataManager.classicGroupHeartbeat; KIP-345",
    unit="error code",
    things="heartbeats",
    matters="The answer decides whether a consumer goes on, joins again or has to stop for good.",
    broker=True,
    protocols=CLASSIC,
)
def heartbeats() -> str:
    return answers("HEARTBEAT", HEARTBEAT_ANSWER)


@Rule(
    "X05-wire",
    title="The older of two static members gets FENCED_INSTANCE_ID",
    statement="When a second member joins with the group.instance.id of a live one, every later "
    "request of the older one is answered FENCED_INSTANCE_ID (82), and the newer one has its "
    "place.",
    source="KIP-345; ClassicGroup.validateMember",
    unit="error code",
    things="requests after the second join",
    matters="The first of two processes that share a group.instance.id by mistake has to stop.",
    broker=True,
    protocols=CLASSIC,
)
def older_is_fenced() -> str:
    """Every call of the older and the newer owner of an instance id after the change."""
    return """
        WITH calls AS (
            SELECT p.*, IF(p.member_id = m.member_id, 'older', 'newer') AS owner_is
            FROM {probe_members} m JOIN {probed} p ON same(p, m, `group`, instance_id)
             AND p.member_id IN (m.member_id, m.replaced_by) AND p.sent_at > m.replaced_at
            -- A rejoin after leaving is no duplicate.
            WHERE m.replaced_by IS NOT NULL AND m.ended_by = 'replaced'
        )
        SELECT subject, sent_at AS at,
               CASE WHEN owner_is = 'older' AND error_code <> :FENCED_INSTANCE_ID
                      OR owner_is = 'newer'
                         AND error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID)
                    THEN clause('was answered ', error_code, ' as the ', owner_is, ' member')
                    END AS wrong,
               concat('answered ', error_code, ' as the ', owner_is, ' member') AS note
        FROM calls
    """


@Rule(
    "X15",
    title="A full group accepts no further member",
    statement="A join that would make a group larger than group.max.size is answered "
    "GROUP_MAX_SIZE_REACHED (81). The members of a Stable or CompletingRebalance group stay. "
    "While a group waits for members only those that have rejoined count, and any further join is "
    "refused, even that of a former member.",
    source="group.max.size; KIP-389; GroupMetadataManager.acceptJoiningMember",
    unit="members",
    things="joins to a group that is or was full",
    measures="including the new one",
    too_high="made the group too large",
    matters="A surplus consumer fails at once; in a rebalance that may be one that was there long "
    "before.",
    broker=True,
    protocols=CLASSIC,
)
def full_group() -> str:
    """Joins by the state that they met: who counts there, and who is in already.

    A member counts in a group that prepares from when its JoinGroup is parked.
    """
    return """
        WITH full_groups AS (
            -- Only a group that is or was full says anything.
            SELECT DISTINCT `group` FROM {probed} WHERE size >= :group_max_size
        ), met AS (
            SELECT p.call, count(w.member_id) AS awaiting,
                   coalesce(bool_or(w.member_id = p.member_id), false) AS awaits
            FROM {probed} p LEFT JOIN {probe_joins} w
              ON w.`group` = p.`group` AND w.sent_at < p.sent_at AND w.answered_at > p.sent_at
            WHERE p.api = 'JOIN_GROUP' GROUP BY p.call
        ), counted AS (
            SELECT p.*, p.error_code = :GROUP_MAX_SIZE_REACHED AS refused,
                   p.state_before = 'PreparingRebalance' AS preparing,
                   IF(p.state_before = 'PreparingRebalance', m.awaits, p.known) AS is_in,
                   IF(p.state_before = 'PreparingRebalance', m.awaiting, p.size) AS counting
            FROM {probed} p JOIN met m USING (call)
            WHERE p.api = 'JOIN_GROUP' AND p.error_code <> :INVALID_SESSION_TIMEOUT
              AND p.`group` IN (SELECT `group` FROM full_groups)
        )
        SELECT subject, sent_at AS at, counting + IF(refused OR is_in, 0, 1) AS measured,
               :group_max_size AS bound_high,
               CASE WHEN NOT refused THEN NULL
                    WHEN is_in THEN 'was refused, though it is a member'
                    WHEN counting < :group_max_size
                    THEN clause('was refused, though the group had ', counting,
                                IF(preparing, ' members that had joined again', ' members'))
                    END AS wrong,
               IF(is_in OR refused, 'made the group no larger', NULL) AS excused,
               concat('answered ', error_code, ' with ', counting,
                      IF(preparing, ' members that had joined', ' members in the group')) AS note
        FROM counted
    """


LEAVER: Final = "'array<struct<memberId:string,groupInstanceId:string>>'"


@Rule(
    "R29-wire",
    title="The effect of a LeaveGroup depends on the group's state",
    statement="A LeaveGroup does nothing in an empty or unknown group, and starts a rebalance in "
    "a Stable or CompletingRebalance group. In a PreparingRebalance group it starts none, and "
    "completes the join if the leaving member was the last one missing. A member, or an id that "
    "was given out and not used yet, is answered 0; a request with another member's instance id "
    "FENCED_INSTANCE_ID (82); any other request UNKNOWN_MEMBER_ID (25). The answer names who was "
    "named.",
    source="document 003, LEAVE_GROUP; GroupMetadataManager.classicGroupLeaveToClassicGroup; "
    "KIP-345",
    unit="ms",
    things="leaves",
    measures="from the leave to its effect",
    matters="The partitions of a consumer that closes are taken over at once, not after its "
    "session.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_PROBE,
)
def leaves() -> str:
    """What a leave starts or completes, by the state that it met, and what it is answered.

    A leave by the instance id alone is the way in which administrators remove a static member. What
    a broker answers that is not the coordinator, or not ready, is none about the member; nor is it
    known what a member is to be answered that is removed otherwise in that moment.
    """
    return """
        WITH leaves AS (
            SELECT p.*, e.at AS left_at, e.evidence
            FROM {probed} p LEFT JOIN {coordinator_events} e
              ON e.event = 'left' AND same(e, p, `group`, member_id)
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
              ON same(j, m, `group`, member_id) AND j.sent_at < l.left_at
             AND j.answered_at > l.left_at
            WHERE l.left_at IS NOT NULL
        ),
        -- Newcomers that were given an id, have not come back with it, and are waited for.
        expected AS (
            SELECT l.call, get_json_object(p.answer, '$.memberId') AS member_id
            FROM leaves l JOIN {probed} p
              ON p.`group` = l.`group` AND p.sent_at < l.left_at
             AND p.api = 'JOIN_GROUP' AND p.error_code = :MEMBER_ID_REQUIRED
            LEFT ANTI JOIN {probed} b
              ON b.`group` = l.`group` AND b.sent_at < l.left_at
             AND b.member_id = get_json_object(p.answer, '$.memberId')
            LEFT ANTI JOIN {coordinator_events} e
              ON e.`group` = l.`group` AND e.event = 'pending_evicted' AND e.at < l.left_at
             AND e.member_id = get_json_object(p.answer, '$.memberId')
        ), missing AS (
            SELECT call, count(*) AS missing
            FROM (SELECT * FROM absent UNION ALL SELECT * FROM expected) GROUP BY call
        ),
        -- What comes after somebody else's leave or join may be the doing of that one.
        spans AS (
            SELECT l.call, min(c.at) AS until_at
            FROM leaves l JOIN (
                SELECT `group`, at FROM {coordinator_events} WHERE event IN ('left', 'member_added')
                UNION ALL
                SELECT `group`, sent_at FROM {probed} WHERE api = 'JOIN_GROUP') c
              ON c.`group` = l.`group` AND c.at > coalesce(l.left_at, l.sent_at)
            GROUP BY l.call
        ), followed AS (
            SELECT l.call,
                   min(e.at) FILTER (WHERE e.event = 'rebalance_started') AS started_at,
                   min(e.at) FILTER (WHERE e.event IN ('stabilized', 'emptied')) AS completed_at,
                   min(e.at) AS at
            FROM leaves l LEFT JOIN spans s USING (call) JOIN {coordinator_events} e
              ON e.`group` = l.`group` AND e.event IN ('rebalance_started', 'stabilized', 'emptied')
             AND e.at >= coalesce(l.left_at, l.sent_at)
             AND (s.until_at IS NULL OR e.at < s.until_at)
             AND e.at <= after(:START_MS + :slack_ms, coalesce(l.left_at, l.answered_at))
            GROUP BY l.call
        ), unused AS (
            SELECT DISTINCT l.call
            FROM leaves l JOIN {probed} p
              ON p.`group` = l.`group` AND p.sent_at < l.sent_at
             AND p.api = 'JOIN_GROUP' AND p.error_code = :MEMBER_ID_REQUIRED
             AND get_json_object(p.answer, '$.memberId') = l.member_id
            LEFT ANTI JOIN {probed} b
              ON b.`group` = l.`group` AND b.sent_at < l.sent_at AND b.member_id = l.member_id
             AND b.api IN ('JOIN_GROUP', 'LEAVE_GROUP') AND b.error_code = :NONE
            LEFT ANTI JOIN {coordinator_events} e
              ON e.`group` = l.`group` AND e.event = 'pending_evicted' AND e.at < l.answered_at
             AND e.member_id = l.member_id
        ), due AS (
            SELECT l.call,
                   CASE WHEN l.error_code IN (:COORDINATOR_LOAD_IN_PROGRESS,
                                :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR) THEN NULL
                        WHEN min(m.to_at) IS NOT NULL THEN NULL
                        WHEN l.instance_id IS NOT NULL AND l.owner IS NULL
                        THEN :UNKNOWN_MEMBER_ID
                        WHEN l.instance_id IS NOT NULL AND l.owner <> l.member_id
                        THEN :FENCED_INSTANCE_ID
                        WHEN l.known OR l.left_at IS NOT NULL OR count(u.call) > 0
                          OR l.instance_id IS NOT NULL AND l.member_id IS NULL THEN :NONE
                        ELSE :UNKNOWN_MEMBER_ID END AS code
            FROM leaves l LEFT JOIN unused u ON u.call = l.call
            LEFT JOIN {probe_members} m ON same(m, l, `group`, member_id) AND m.ended_by <> 'left'
             AND m.to_at >= l.sent_at AND m.to_at <= l.answered_at
            GROUP BY l.call, l.error_code, l.instance_id, l.owner, l.member_id, l.known, l.left_at
        ), judged AS (
            SELECT l.*, d.code,
                   array_join(transform(from_json(get_json_object(request, '$.members'), {LEAVER}),
                       m -> concat_ws('/', m.memberId, m.groupInstanceId)), ' ') AS named,
                   array_join(transform(from_json(get_json_object(answer, '$.members'), {LEAVER}),
                       m -> concat_ws('/', m.memberId, m.groupInstanceId)), ' ') AS told_of,
                   -- Who is removed by the instance id alone may be told by either id.
                   l.member_id IS NOT NULL AND get_json_object(answer, '$.errorCode') = '0' AS each,
                   CASE WHEN l.left_at IS NULL THEN 'nothing'
                        WHEN l.state_before IN ('Stable', 'CompletingRebalance') THEN 'a rebalance'
                        WHEN l.state_before = 'PreparingRebalance' AND m.missing IS NULL
                        THEN 'the end of the join phase'
                        ELSE 'nothing' END AS must,
                   CASE WHEN f.started_at IS NOT NULL THEN 'a rebalance'
                        WHEN f.completed_at IS NOT NULL THEN 'the end of the join phase'
                        ELSE 'nothing' END AS came,
                   ms_between(l.left_at, f.at) AS ms
            FROM leaves l JOIN due d USING (call) LEFT JOIN missing m USING (call)
            LEFT JOIN followed f USING (call)
        )
        SELECT subject, coalesce(left_at, sent_at) AS at, ms AS measured,
               IF(must <> 'nothing', :START_MS + :slack_ms, NULL) AS bound_high,
               CASE WHEN state_before = 'Stable' AND known AND left_at IS NULL
                    THEN clause('did not leave the group, answered ', error_code)
                    WHEN must <> came
                    THEN concat_ws(' in state ', concat('was followed by ', came, ', not by ',
                                                        must), state_before)
                    WHEN error_code <> code
                    THEN clause('was answered ', error_code, ', not ', code)
                    WHEN each AND named <> told_of
                    THEN clause('named ', named, ' and was answered of ', told_of) END AS wrong,
               concat('followed by ', came, ' in state ', state_before, ', answered ', error_code)
                   AS note,
               evidence, IF(must <> 'nothing', left_at, NULL) AS guard_from,
               after(:START_MS + :slack_ms, left_at) AS guard_to
        FROM judged
    """
