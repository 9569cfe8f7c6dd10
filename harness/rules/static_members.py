"""Static members (KIP-345): who may come back in whose place, and what a process may not do."""

from typing import Final

from harness.experiment import CLASSIC, JAVA_TIMER_MS  # noqa: F401 (a query names it)
from harness.rules.failure_detection import WEIGHED
from harness.rules.rebalance import START_MS  # noqa: F401 (a query names it)
from harness.rules.rule import A_BROKER, A_MEMBER, Groups, Rule

# Replacements of a static member by a process that joined under its instance id. `new` is the first
# join under that instance id that was answered since.
REPLACEMENTS = """
    replacements AS (
        SELECT e.at, e.instance_id, e.member_id, e.evidence, g.rebalancing,
               min(struct(j.processed_at, j.member_id, j.member, j.generation, j.arrived_at,
                          j.assignors)) AS new
        FROM {coordinator_events} e JOIN {group_steps} g ON same(g, e, event, member_id, at)
        LEFT JOIN {joins} j ON same(j, e, broker, instance_id) AND j.member_id <> e.member_id
         AND j.processed_at >= after(-:rounding_ms, e.at)
        WHERE e.`group` = :group AND e.event = 'replaced'
        GROUP BY ALL
    )
"""

# Static members that closed while the run went on, with the stay of theirs that it ended.
CLOSINGS: Final = """
    closings AS (
        SELECT c.member, c.event_at AS at, stay.*
        FROM (
            SELECT c.member, c.event_at,
                   max(struct(m.joined_at, m.member_id, m.stay, m.session_timeout_ms, m.removed_at,
                              m.removed_by)) AS stay
            FROM {client_events} c JOIN {memberships} m
              ON m.member = c.member AND m.instance_id IS NOT NULL AND m.joined_at <= c.event_at
             AND (m.removed_at IS NULL OR m.removed_at >= c.event_at)
            WHERE c.event = 'closing' AND c.event_at < :stopped_at
            GROUP BY c.member, c.event_at
        ) c
    )
"""

# When the sessions of `closed` members ended. Their absence is found out then, unless another
# process took their place before. `broken` is a clause about what happened in the meantime,
# `unclear` about why nothing can be said of it.
SESSIONS_OF_CLOSED: Final = (
    f""", {WEIGHED}"""
    """
    SELECT concat(c.member, ' (close)') AS subject, c.at,
           e.judged_ms AS measured,
           c.session_timeout_ms - :slack_ms AS bound_low,
           c.session_timeout_ms + :slack_ms AS bound_high,
           CASE WHEN broken IS NOT NULL THEN NULL
                WHEN unclear IS NOT NULL THEN unclear
                WHEN removed_by IS NULL
                 AND :stopped_at <= after(c.session_timeout_ms + :slack_ms, c.at)
                THEN 'the run ended before its session did'
                WHEN e.may_be_short OR e.may_be_long THEN e.span END AS unknown,
           CASE WHEN broken IS NOT NULL THEN broken
                WHEN removed_by IS NULL THEN 'was still a member when the run ended'
                WHEN removed_by NOT IN ('evicted', 'replaced')
                THEN clause('was removed otherwise: ', removed_by) END AS wrong,
           IF(removed_by = 'replaced', 'another process took its place', NULL) AS excused,
           coalesce(e.evidence, c.evidence) AS evidence,
           CASE WHEN e.timer_started_at IS NOT NULL
                THEN guard_from(after(c.session_timeout_ms, e.timer_started_at), removed_at)
                END AS guard_from,
           guard_to(removed_at) AS guard_to
    FROM closed c LEFT JOIN weighed e
      ON e.member_id = c.member_id AND e.evicted_at = c.removed_at AND c.removed_by = 'evicted'
"""
)


@Rule(
    "X02",
    title="A static member back within its session causes no rebalance",
    statement="A process that joins a stable group with the instance id and the assignors of a "
    "member whose session still runs takes that member's place: no rebalance starts, and "
    "generation and partitions stay the same.",
    source="KIP-345; group.instance.id; GroupMetadataManager (a static member of a stable group)",
    unit="ms",
    things="processes that took a static member's place",
    measures="from joining to having the partitions",
    matters="A restart within the session timeout does not stop the other members.",
    protocols=CLASSIC,
)
def back_without_rebalance() -> str:
    """Replacements in a stable group; while a rebalance runs, one more member to wait for is new.

    Until the leader has assigned, a rebalance runs: it may assign to the process that is gone.

    From the replacement until the new process has its partitions, no rebalance may start. Who
    offers other assignors than its former self may change the one that is chosen, and is not
    examined.
    """
    return """
        WITH {REPLACEMENTS},
        offered AS (
            SELECT member_id, max_by(assignors, struct(arrived_at, evidence)) AS assignors
            FROM {joins} GROUP BY member_id
        ), given AS (
            SELECT member_id, generation, processed_at AS at, answered_at,
                   array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
            FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
        ), stable AS (
            SELECT r.at, r.member_id FROM replacements r JOIN {coordinator_events} e
              ON e.`group` = :group AND e.at < r.at
             AND e.event IN ('stabilized', 'assignment_received', 'loaded')
            GROUP BY r.at, r.member_id
            HAVING max_by(e.event, struct(e.at, e.event <> 'stabilized')) <> 'stabilized'
        ), had AS (
            SELECT r.*, max(struct(g.at, g.generation, g.parts)) AS had
            FROM replacements r JOIN stable s ON same(s, r, at, member_id)
            LEFT JOIN given g ON g.member_id = r.member_id AND g.at <= r.at
            LEFT JOIN offered o ON o.member_id = r.member_id
            WHERE NOT r.rebalancing AND coalesce(r.new.assignors = o.assignors, true)
            GROUP BY ALL
        ), got AS (
            SELECT h.*, min(struct(g.at, g.answered_at, g.parts)) AS got
            FROM had h LEFT JOIN given g
              ON g.member_id = h.new.member_id AND g.at >= h.new.arrived_at
            GROUP BY ALL
        ), started AS (
            SELECT g.*, count(e.at) AS starts
            FROM got g LEFT JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= g.at
             AND e.at <= g.got.answered_at
            GROUP BY ALL
        )
        SELECT concat(instance_id, ' (', coalesce(new.member, 'unknown'), ')') AS subject, at,
               ms_between(new.arrived_at, got.answered_at) AS measured,
               CASE WHEN had.parts IS NULL THEN 'what it had before is not on record'
                    WHEN new.member_id IS NULL
                    THEN 'no join in its place is on record' END AS unknown,
               CASE WHEN starts > 0 THEN 'was followed by a rebalance before it had its partitions'
                    WHEN new.generation <> had.generation
                    THEN clause('came back in generation ', new.generation, ', not ',
                                had.generation)
                    WHEN got.parts IS NULL THEN 'was never given partitions'
                    WHEN got.parts <> had.parts
                    THEN clause('was given ', array_join(got.parts, ' '), ', not ',
                                array_join(had.parts, ' ')) END AS wrong,
               concat('given ', array_join(got.parts, ' ')) AS note, evidence
        FROM started
    """


@Rule(
    "R20a-return",
    title="A returning member starts a rebalance (documented, wrong for static members)",
    statement="A process that takes the place of a static member starts a rebalance.",
    source="document 002, rebalance conditions",
    unit="ms",
    things="static members that came back",
    measures="until a rebalance started",
    too_high="came back, and a rebalance started too late",
    matters="The purpose of group.instance.id is a restart without a rebalance.",
    broker=True,
    protocols=CLASSIC,
    contradicted=(Groups(),),
    in_passing=True,
    compares_clocks=True,
    delayed_by=A_BROKER,
)
def return_starts_one() -> str:
    """Replacements of static members while no rebalance was under way; X02 is the contrary."""
    return """
        WITH {REPLACEMENTS}, followed AS (
            SELECT r.instance_id, r.at, r.evidence, min(e.at) AS started_at
            FROM replacements r LEFT JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= r.at
             AND e.at <= after(:START_MS + :slack_ms, r.at)
            WHERE NOT r.rebalancing
            GROUP BY r.instance_id, r.at, r.evidence
        )
        SELECT concat(instance_id, ' came back') AS subject, at,
               ms_between(at, started_at) AS measured, :START_MS + :slack_ms AS bound_high,
               IF(started_at IS NULL, 'no rebalance started after it', NULL) AS wrong, evidence
        FROM followed
    """


@Rule(
    "X03",
    title="A static member closes without leaving the group",
    statement="A static member that closes sends no LeaveGroup. It is evicted when its session "
    "ends, and no rebalance starts before that.",
    source="KIP-345; group.instance.id; rd_kafka_consumer_close",
    unit="ms",
    things="closed static members",
    measures="after the last sign of life",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="Nobody processes its partitions until the session ends, even if it is gone for good.",
    protocols=CLASSIC,
)
def close_is_silent() -> str:
    """Static members that closed while the run went on.

    Law: a rebalance whose reason names another member does not follow from the close.
    """
    return """
        WITH {CLOSINGS},
        leaving AS (
            SELECT c.*, count(r.arrived_at) AS leaves
            FROM closings c LEFT JOIN {own_requests} r
              ON r.api = 'LEAVE_GROUP' AND r.member = c.member AND r.arrived_at >= c.at
            GROUP BY ALL
        ), started AS (
            SELECT l.*, count(e.at) AS starts
            FROM leaving l LEFT JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= l.at
             AND e.at < coalesce(l.removed_at, :stopped_at)
             AND coalesce(nullif(regexp_extract(e.reason,
                     '([-_.\\\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), '')
                     = l.member_id, true)
            GROUP BY ALL
        ), closed AS (
            SELECT *, CASE WHEN leaves > 0 THEN 'sent a LeaveGroup request'
                           WHEN starts > 0 THEN 'was followed by a rebalance while its session ran'
                           END AS broken,
                   CAST(NULL AS STRING) AS unclear, CAST(NULL AS STRING) AS evidence
            FROM started
        )
        {SESSIONS_OF_CLOSED}
    """


@Rule(
    "X04",
    title="A static member that does not poll stops its heartbeats",
    statement="A static member whose application does not poll for max.poll.interval.ms does not "
    "leave. It stops its heartbeats, and is evicted one session timeout later.",
    source="KIP-345; max.poll.interval.ms",
    unit="ms",
    things="stalls longer than max.poll.interval.ms plus the session",
    measures="from the last poll to the eviction",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="The partitions of a stuck static member stand still for both timeouts together.",
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def falls_silent_past_max_poll() -> str:
    """Stalls that outlast max.poll.interval.ms and the session after it.

    The last heartbeat goes out within one interval (kept as well as the client keeps it) before the
    client looks at its limit, and the session counts from there. A client may count from the start
    of a poll, and a stall begins at its end.
    """
    return """
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, e.duration_ms,
                   m.max_poll_interval_ms - :poll_ms - :slack_ms - :heartbeat_ms - :cadence_ms
                       + m.session_timeout_ms AS low,
                   CAST(m.max_poll_interval_ms AS BIGINT) + :timer_late_ms + m.session_timeout_ms
                       + :slack_ms AS high
            FROM {client_events} e JOIN {members} m USING (member)
            WHERE e.event = 'stall_started' AND m.instance_id IS NOT NULL AND m.sabotage IS NULL
        ), leaving AS (
            SELECT s.*, count(r.arrived_at) AS leaves
            FROM stalls s LEFT JOIN {own_requests} r
              ON r.api = 'LEAVE_GROUP' AND r.member = s.member AND r.arrived_at > s.at
             AND r.arrived_at <= after(s.duration_ms + 1000, s.at)
            WHERE s.duration_ms > s.high
            GROUP BY ALL
        ), ended AS (
            SELECT l.*, min(struct(e.evicted_at, e.evidence)) AS eviction,
                   coalesce(min(e.evicted_at), after(l.high, l.at)) AS ended_at
            FROM leaving l LEFT JOIN {evictions} e
              ON e.member = l.member AND e.evicted_at > l.at
             AND e.evicted_at <= after(l.duration_ms + 1000, l.at)
            GROUP BY ALL
        )
        SELECT concat(member, ' (stall)') AS subject, at,
               ms_between(at, eviction.evicted_at) AS measured, low AS bound_low,
               high AS bound_high,
               CASE WHEN leaves > 0 THEN 'left the group by itself'
                    WHEN eviction.evicted_at IS NULL THEN 'was not evicted' END AS wrong,
               eviction.evidence, guard_from(after(low, at), ended_at) AS guard_from,
               guard_to(ended_at) AS guard_to
        FROM ended
    """


@Rule(
    "X05",
    title="The older of two members with one instance id is fenced",
    statement="When a second process joins with the instance id of a live member, the first one "
    "is refused with FENCED_INSTANCE_ID at its next request, and its client gives up for good.",
    source="KIP-345; FENCED_INSTANCE_ID",
    unit="ms",
    things="live members that were replaced",
    measures="until it was refused",
    too_high="was refused too late",
    matters="A group.instance.id that is used twice by mistake stops the process that was there "
    "first.",
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def old_one_is_fenced() -> str:
    """Replaced members whose process still lived: it asked again, or ended later by itself.

    One that was replaced by itself, having thrown its id away when its own session ended, is no
    second process.

    It hears of it by its next request, a heartbeat at the latest. Lines are stamped some
    milliseconds late, so what seems to come just after the replacement may have come before it.
    """
    return """
        WITH {REPLACEMENTS},
        asked AS (
            SELECT r.at, r.instance_id, r.new, r.evidence, s.member, m.`end`, m.ended_at,
                   count(q.arrived_at) AS requests,
                   count_if(q.error_code = :NONE AND q.arrived_at > after(:slack_ms, r.at))
                       AS accepted,
                   min(struct(q.processed_at, q.api))
                       FILTER (WHERE q.error_code = :FENCED_INSTANCE_ID) AS refused
            FROM replacements r JOIN {memberships} s ON s.member_id = r.member_id
            JOIN {members} m ON m.member = s.member
            LEFT JOIN {requests} q
              ON q.member_id = r.member_id AND q.arrived_at > r.at
             AND q.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
            GROUP BY ALL
        )
        SELECT concat(member, ' (', instance_id, ')') AS subject, at,
               ms_between(at, refused.processed_at) AS measured,
               :heartbeat_ms + :cadence_ms + :slack_ms AS bound_high,
               CASE WHEN accepted > 0
                    THEN clause('had requests accepted after it was replaced: ', accepted)
                    WHEN refused.processed_at IS NULL
                    THEN 'was never refused with FENCED_INSTANCE_ID'
                    WHEN coalesce(`end` <> 'failed', true) THEN 'its client went on' END AS wrong,
               concat('refused by ', refused.api, '; ',
                      coalesce(new.member, 'another process'), ' took its place') AS note,
               evidence, at AS guard_from, guard_to(refused.processed_at) AS guard_to
        FROM asked
        WHERE (requests > 0 OR ended_at > at) AND coalesce(new.member <> member, true)
    """
