"""Static members (KIP-345): who may come back in whose place, and what a process may not do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC, JAVA_TIMER_MS, LIBRDKAFKA_TIMER_GRID_MS
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

_KIP_848 = ("consumer",)

# Replacements of a static member by a process that joined under its instance id, each with the
# member id that this process was given: of that instance id, in the first join answered since.
_REPLACEMENTS = """
    replacements AS (
        SELECT r.broker, r.at, r.instance_id, r.member_id AS old_id, r.rebalancing, r.evidence,
               min_by(j.member_id, j.processed_at) AS new_id,
               min_by(j.member, j.processed_at) AS new_member,
               min_by(j.generation, j.processed_at) AS generation,
               min(j.arrived_at) AS asked_at
        FROM (
            SELECT e.broker, e.at, e.instance_id, e.member_id, e.evidence, g.rebalancing
            FROM {coordinator_events} e JOIN {group_steps} g
              ON g.event = 'replaced' AND g.member_id = e.member_id AND g.at = e.at
            WHERE e.`group` = :group AND e.event = 'replaced'
        ) r
        LEFT JOIN (
            SELECT broker, member_id, client_id AS member, generation, arrived_at, processed_at,
                   instance_id
            FROM {requests} WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
        ) j
          ON j.broker = r.broker AND j.instance_id = r.instance_id AND j.member_id <> r.member_id
         AND j.processed_at >= timestampadd(MILLISECOND, -:rounding_ms, r.at)
        GROUP BY ALL
    )
"""


def _back_without_rebalance(t: Tables) -> Frame:
    """Replacements in a stable group; while a rebalance runs, one more member to wait for is new.

    From the replacement until the new process has its partitions, no rebalance may start.
    """
    return t.sql(
        f"""
        WITH {_REPLACEMENTS},
        given AS (
            SELECT member_id, generation, processed_at AS at, answered_at,
                   array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
            FROM {{requests}} WHERE `group` = :group AND api = 'SYNC_GROUP' AND error_code = 0
        ),
        had AS (
            SELECT r.old_id, r.at, max_by(g.parts, g.at) AS parts,
                   max_by(g.generation, g.at) AS generation
            FROM replacements r JOIN given g ON g.member_id = r.old_id AND g.at <= r.at
            GROUP BY r.old_id, r.at
        ),
        got AS (
            SELECT r.old_id, r.at, min_by(g.parts, g.at) AS parts, min(g.answered_at) AS got_at
            FROM replacements r JOIN given g ON g.member_id = r.new_id AND g.at >= r.asked_at
            GROUP BY r.old_id, r.at
        ),
        started AS (
            SELECT r.old_id, r.at, count(e.at) AS starts
            FROM replacements r JOIN got o USING (old_id, at)
            JOIN {{coordinator_events}} e
              ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= r.at
             AND e.at <= o.got_at
            GROUP BY r.old_id, r.at
        ),
        judged AS (
            SELECT r.*, h.parts AS had, h.generation AS generation_before, o.parts AS got,
                   o.got_at, coalesce(s.starts, 0) AS starts
            FROM replacements r LEFT JOIN had h USING (old_id, at)
            LEFT JOIN got o USING (old_id, at)
            LEFT JOIN started s USING (old_id, at)
            WHERE NOT r.rebalancing
        )
        SELECT concat(instance_id, ' (', coalesce(new_member, 'unknown'), ')') AS subject, at,
               CASE WHEN had IS NULL OR new_id IS NULL THEN NULL
                    ELSE starts = 0 AND generation = generation_before
                         AND coalesce(got = had, false) END AS ok,
               timestampdiff(MICROSECOND, asked_at, got_at) / 1e3 AS measured,
               CASE WHEN had IS NULL THEN 'what it had before is not on record'
                    WHEN new_id IS NULL THEN 'no join in its place is on record'
                    WHEN starts > 0 THEN 'a rebalance started'
                    WHEN generation <> generation_before
                    THEN concat('in generation ', generation, ', not ', generation_before)
                    WHEN got IS NULL THEN 'it was never given partitions'
                    WHEN got <> had THEN concat('given ', array_join(got, ' '), ', not ',
                                                array_join(had, ' '))
                    ELSE concat('given ', array_join(got, ' '), ' again') END AS why,
               evidence
        FROM judged
        """
    )


def _close_is_silent(t: Tables) -> Frame:
    """Static members that closed while the run went on.

    Their absence is found out when their session ends, unless another process came in their place.
    """
    return t.sql(
        """
        WITH closings AS (
            SELECT c.member, c.event_at AS at, max_by(s.member_id, s.joined_at) AS member_id,
                   max_by(s.removed_at, s.joined_at) AS removed_at,
                   max_by(s.removed_by, s.joined_at) AS removed_by,
                   any_value(s.session_timeout_ms) AS session_timeout_ms
            FROM {client_events} c JOIN {memberships} s
              ON s.member = c.member AND s.instance_id IS NOT NULL AND s.joined_at <= c.event_at
             AND (s.removed_at IS NULL OR s.removed_at >= c.event_at)
            WHERE c.event = 'closing' AND c.event_at < :stopped_at
            GROUP BY c.member, c.event_at
        ),
        leaves AS (
            SELECT c.member, c.at, count(r.arrived_at) AS leaves
            FROM closings c LEFT JOIN {requests} r
              ON r.api = 'LEAVE_GROUP' AND r.`group` = :group AND r.client_id = c.member
             AND r.arrived_at >= c.at
            GROUP BY c.member, c.at
        ),
        started AS (
            SELECT c.member, c.at, count(e.at) AS starts
            FROM closings c JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= c.at
             AND e.at < coalesce(c.removed_at, :stopped_at)
            GROUP BY c.member, c.at
        ),
        judged AS (
            SELECT c.*, l.leaves, coalesce(s.starts, 0) AS starts, e.silence_ms, e.evidence,
                   e.timer_started_at
            FROM closings c JOIN leaves l USING (member, at)
            LEFT JOIN started s USING (member, at)
            LEFT JOIN {evictions} e ON e.member_id = c.member_id AND c.removed_by = 'evicted'
        )
        SELECT concat(member, ' (close)') AS subject, at,
               CASE WHEN leaves > 0 OR starts > 0 THEN false
                    WHEN removed_by = 'replaced' THEN true
                    WHEN removed_by IS NULL AND :stopped_at
                         <= timestampadd(MILLISECOND, session_timeout_ms + :slack_ms, at)
                    THEN NULL
                    ELSE coalesce(silence_ms BETWEEN session_timeout_ms - :slack_ms
                                                 AND session_timeout_ms + :slack_ms, false)
                    END AS ok,
               silence_ms AS measured, session_timeout_ms - :slack_ms AS bound_low,
               session_timeout_ms + :slack_ms AS bound_high,
               CASE WHEN leaves > 0 THEN 'it said that it left'
                    WHEN starts > 0 THEN 'a rebalance started while its session ran'
                    WHEN removed_by = 'replaced' THEN 'another process came in its place'
                    WHEN removed_by IS NULL THEN 'it was still a member when the run ended'
                    WHEN removed_by <> 'evicted' THEN concat('removed otherwise: ', removed_by)
                    ELSE 'evicted when its session ended, and nobody noticed before' END AS why,
               evidence,
               timestampadd(MILLISECOND, session_timeout_ms - :guard_ms, timer_started_at)
                   AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, removed_at) AS guard_to
        FROM judged
        """
    )


def _falls_silent_past_max_poll(t: Tables) -> Frame:
    """Stalls that outlast max.poll.interval.ms and the session after it.

    The last heartbeat goes out within one interval (kept as well as the client keeps it) before the
    client looks at its limit, and the session counts from there. A client may count from the start
    of a poll, and a stall begins at its end.
    """
    timer_ms = JAVA_TIMER_MS if t.run.client == "java" else LIBRDKAFKA_TIMER_GRID_MS
    return t.sql(
        """
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, e.duration_ms,
                   m.max_poll_interval_ms - :poll_ms - :slack_ms - :heartbeat_ms - :late_ms
                       + m.session_timeout_ms AS low,
                   m.max_poll_interval_ms + :timer_ms + m.session_timeout_ms + :slack_ms AS high
            FROM {client_events} e JOIN {members} m USING (member)
            WHERE e.event = 'stall_started' AND m.instance_id IS NOT NULL AND m.sabotage IS NULL
              AND e.duration_ms
                  > m.max_poll_interval_ms + :timer_ms + m.session_timeout_ms + :slack_ms
        ),
        told AS (
            SELECT s.member, s.at, s.duration_ms, s.low, s.high, count(r.arrived_at) AS leaves
            FROM stalls s LEFT JOIN {requests} r
              ON r.api = 'LEAVE_GROUP' AND r.`group` = :group AND r.client_id = s.member
             AND r.arrived_at > s.at
             AND r.arrived_at <= timestampadd(MILLISECOND, s.duration_ms + 1000, s.at)
            GROUP BY s.member, s.at, s.duration_ms, s.low, s.high
        ),
        ended AS (
            SELECT t.member, t.at, t.low, t.high, t.leaves, min(e.evicted_at) AS evicted_at,
                   min_by(e.evidence, e.evicted_at) AS evidence
            FROM told t LEFT JOIN {evictions} e
              ON e.member = t.member AND e.evicted_at > t.at
             AND e.evicted_at <= timestampadd(MILLISECOND, t.duration_ms + 1000, t.at)
            GROUP BY t.member, t.at, t.low, t.high, t.leaves
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, at, evicted_at) / 1e3 AS ms FROM ended
        )
        SELECT concat(member, ' (stall)') AS subject, at,
               leaves = 0 AND coalesce(ms BETWEEN low AND high, false) AS ok, ms AS measured,
               low AS bound_low, high AS bound_high,
               CASE WHEN leaves > 0 THEN 'it left the group by itself'
                    WHEN ms IS NULL THEN 'it was not evicted'
                    WHEN ms < low THEN 'evicted too early'
                    WHEN ms > high THEN 'evicted too late'
                    ELSE 'fell silent, and was evicted when its session ended' END AS why,
               evidence,
               timestampadd(MILLISECOND, CAST(low AS INT) - :guard_ms, at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, coalesce(evicted_at, at)) AS guard_to
        FROM timed
        """,
        timer_ms=timer_ms,
        late_ms=JAVA_TIMER_MS,
    )


def _old_one_is_fenced(t: Tables) -> Frame:
    """Replaced members whose process still lived: it asked again, or ended later by itself.

    It hears of it by its next request, a heartbeat at the latest. Lines are stamped some
    milliseconds late, so what seems to come just after the replacement may have come before it.
    """
    return t.sql(
        f"""
        WITH {_REPLACEMENTS},
        lived AS (
            SELECT r.old_id, r.at, r.instance_id, r.new_member, r.evidence, s.member
            FROM replacements r JOIN {{memberships}} s ON s.member_id = r.old_id
        ),
        asked AS (
            SELECT l.old_id, l.at, count(q.arrived_at) AS requests,
                   count_if(q.error_code = 82) AS refused,
                   count_if(q.error_code = 0
                            AND q.arrived_at > timestampadd(MILLISECOND, :slack_ms, l.at))
                       AS accepted,
                   min(q.processed_at) FILTER (WHERE q.error_code = 82) AS refused_at,
                   min_by(q.api, q.processed_at) FILTER (WHERE q.error_code = 82) AS api
            FROM lived l LEFT JOIN {{requests}} q
              ON q.member_id = l.old_id AND q.arrived_at > l.at
             AND q.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
            GROUP BY l.old_id, l.at
        ),
        judged AS (
            SELECT l.*, a.requests, a.refused, a.accepted, a.api, m.`end`,
                   timestampdiff(MICROSECOND, l.at, a.refused_at) / 1e3 AS ms, a.refused_at
            FROM lived l JOIN asked a USING (old_id, at)
            JOIN {{members}} m ON m.member = l.member
            WHERE a.requests > 0 OR m.ended_at > l.at
        )
        SELECT concat(member, ' (', instance_id, ')') AS subject, at,
               accepted = 0 AND coalesce(`end` = 'failed', false)
                   AND coalesce(ms <= :heartbeat_ms + :cadence_ms + :slack_ms, false) AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               :heartbeat_ms + :cadence_ms + :slack_ms AS bound_high,
               CASE WHEN accepted > 0 THEN concat(accepted, ' requests of it were accepted still')
                    WHEN ms IS NULL THEN 'no request of it was refused with 82'
                    WHEN coalesce(`end` <> 'failed', true) THEN 'its client went on all the same'
                    ELSE concat('refused with 82 by ', api, ', and its client gave up; ',
                                coalesce(new_member, 'another process'), ' has its place')
                    END AS why,
               evidence, at AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, refused_at) AS guard_to
        FROM judged
        """
    )


# Until when a join may seem to arrive that found a member `o` still there. The join that replaced
# it did, even where it seems later: a request's line is written, and stamped, after its answer.
_SEEN_AS_GONE = """
    timestampadd(MILLISECOND, IF(o.removed_by = 'replaced', :slack_ms, 0), o.removed_at)
""".strip()

# Static members of KIP-848 that said they would be back (epoch -2), each with what it had last; and
# each bump of the group epoch, with the member that the coordinator named in the line before.
_LEFT_FOR_NOW = """
    beats AS (
        SELECT * FROM {requests}
        WHERE `group` = :group AND api = 'CONSUMER_GROUP_HEARTBEAT' AND member_id IS NOT NULL
    ),
    given AS (
        SELECT member_id, processed_at AS at, answered_at,
               array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
        FROM beats WHERE error_code = 0 AND assigned IS NOT NULL
    ),
    gone AS (
        SELECT m.stay, m.member_id, m.instance_id, m.removed_at, m.removed_by,
               min(b.arrived_at) AS at
        FROM beats b JOIN {memberships} m
          ON m.member_id = b.member_id AND m.instance_id IS NOT NULL
         AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
         AND (m.removed_at IS NULL OR b.arrived_at < m.removed_at)
        WHERE b.generation = -2 AND b.error_code = 0
        GROUP BY ALL
    ),
    had AS (
        SELECT o.stay, max_by(g.parts, g.at) AS had
        FROM gone o LEFT JOIN given g ON g.member_id = o.member_id AND g.at <= o.at
        GROUP BY o.stay
    ),
    bumps AS (
        SELECT at, named FROM (
            SELECT event, at, lag(member_id) OVER (PARTITION BY 1 ORDER BY at) AS named
            FROM {coordinator_events} WHERE `group` = :group
        ) WHERE event = 'epoch_bumped'
    )
"""


def _back_without_epoch(t: Tables) -> Frame:
    """The first to join under the instance id of a member that had left for now.

    From that leaving until the new process has its partitions no group epoch may be bumped because
    of the two. Who asks an unready coordinator asks again.
    """
    return t.sql(
        f"""
        WITH {_LEFT_FOR_NOW},
        asked AS (
            SELECT o.stay, o.member_id AS old_id, o.at AS gone_at, o.instance_id, o.removed_by,
                   min_by(struct(b.arrived_at AS at, b.member_id AS id, b.client_id AS member,
                                 b.error_code, b.processed_at, b.evidence), b.arrived_at) AS new,
                   any_value(o.removed_at) AS removed_at
            FROM gone o JOIN beats b
              ON b.instance_id = o.instance_id AND b.member_id <> o.member_id
             AND b.generation = 0 AND b.arrived_at > o.at AND b.error_code NOT IN (14, 15, 16)
             AND (o.removed_at IS NULL OR b.arrived_at < {_SEEN_AS_GONE})
            GROUP BY o.stay, o.member_id, o.at, o.instance_id, o.removed_by
        ),
        got AS (
            SELECT a.stay, min_by(g.parts, g.at) AS got, min(g.answered_at) AS got_at
            FROM asked a JOIN given g ON g.member_id = a.new.id AND g.at >= a.new.at
            GROUP BY a.stay
        ),
        bumped AS (
            SELECT a.stay, count_if(coalesce(e.named IN (a.old_id, a.new.id), true)) AS bumps,
                   count(e.at) AS changes
            FROM asked a JOIN got o USING (stay)
            JOIN bumps e ON e.at >= a.gone_at AND e.at <= o.got_at
            GROUP BY a.stay
        ),
        judged AS (
            SELECT a.*, h.had, o.got, o.got_at, coalesce(b.bumps, 0) AS bumps,
                   coalesce(b.changes, 0) AS changes,
                   coalesce(a.removed_by = 'replaced', false) AS replaced
            FROM asked a JOIN had h USING (stay)
            LEFT JOIN got o USING (stay) LEFT JOIN bumped b USING (stay)
        )
        SELECT concat(instance_id, ' (', new.member, ')') AS subject, new.at,
               CASE WHEN NOT replaced AND removed_at <= new.processed_at THEN NULL
                    WHEN new.error_code <> 0 OR NOT replaced THEN false
                    WHEN had IS NULL OR got <> had AND changes > bumps THEN NULL
                    ELSE bumps = 0 AND coalesce(got = had, false) END AS ok,
               timestampdiff(MICROSECOND, new.at, got_at) / 1e3 AS measured,
               CASE WHEN NOT replaced AND removed_at <= new.processed_at
                    THEN 'the session ended meanwhile'
                    WHEN new.error_code <> 0 THEN concat('refused with error ', new.error_code)
                    WHEN NOT replaced THEN 'it took nobody''s place'
                    WHEN had IS NULL THEN 'what it had before is not on record'
                    WHEN got IS NULL THEN 'it was never given partitions'
                    WHEN bumps > 0 THEN 'the group epoch was bumped'
                    WHEN got <> had
                    THEN concat('given ', array_join(got, ' '), ', not ', array_join(had, ' '),
                                IF(changes > 0, ', but others came or went', ''))
                    ELSE concat('given ', array_join(got, ' '), ' again') END AS why,
               new.evidence
        FROM judged
        """
    )


def _close_leaves_for_now(t: Tables) -> Frame:
    """Static members that closed while the run went on: how they said so, and what it changed.

    The session runs on from the last heartbeat before; nothing is to change because of them until
    it ends, or another process comes.
    """
    return t.sql(
        f"""
        WITH {_LEFT_FOR_NOW},
        closings AS (
            SELECT c.member, c.event_at AS at, m.stay, m.member_id, m.session_timeout_ms,
                   m.removed_at, m.removed_by,
                   max_by(b.generation, b.arrived_at) AS epoch,
                   max_by(b.error_code, b.arrived_at) AS error_code,
                   max_by(b.evidence, b.arrived_at) AS evidence
            FROM {{client_events}} c JOIN {{memberships}} m
              ON m.member = c.member AND m.instance_id IS NOT NULL AND m.joined_at <= c.event_at
             AND (m.removed_at IS NULL OR m.removed_at >= c.event_at)
            LEFT JOIN beats b ON b.member_id = m.member_id AND b.arrived_at >= c.event_at
            WHERE c.event = 'closing' AND c.event_at < :stopped_at
            GROUP BY ALL
        ),
        bumped AS (
            SELECT o.stay, count(e.at) AS bumps
            FROM gone o JOIN bumps e
              ON e.at >= o.at AND e.at < coalesce(o.removed_at, :stopped_at)
             AND coalesce(e.named = o.member_id, true)
            GROUP BY o.stay
        ),
        judged AS (
            SELECT c.*, coalesce(b.bumps, 0) AS bumps, v.silence_ms, v.timer_started_at,
                   coalesce(v.evidence, c.evidence) AS shown
            FROM closings c LEFT JOIN bumped b USING (stay)
            LEFT JOIN {{evictions}} v
              ON v.member_id = c.member_id AND v.evicted_at = c.removed_at
             AND c.removed_by = 'evicted'
        )
        SELECT concat(member, ' (close)') AS subject, at,
               CASE WHEN coalesce(epoch <> -2, true) OR bumps > 0 THEN false
                    WHEN error_code <> 0 THEN NULL
                    WHEN removed_by = 'replaced' THEN true
                    WHEN removed_by IS NULL AND :stopped_at
                         <= timestampadd(MILLISECOND, session_timeout_ms + :slack_ms, at)
                    THEN NULL
                    ELSE coalesce(silence_ms BETWEEN session_timeout_ms - :slack_ms
                                                 AND session_timeout_ms + :slack_ms, false)
                    END AS ok,
               silence_ms AS measured, session_timeout_ms - :slack_ms AS bound_low,
               session_timeout_ms + :slack_ms AS bound_high,
               CASE WHEN epoch IS NULL THEN 'it said nothing'
                    WHEN epoch <> -2 THEN concat('its last heartbeat had epoch ', epoch)
                    WHEN bumps > 0 THEN 'the group epoch was bumped while its session ran'
                    WHEN error_code <> 0
                    THEN concat('its goodbye was answered with error ', error_code)
                    WHEN removed_by = 'replaced' THEN 'another process came in its place'
                    WHEN removed_by IS NULL THEN 'it was still a member when the run ended'
                    WHEN removed_by <> 'evicted' THEN concat('removed otherwise: ', removed_by)
                    ELSE 'evicted when its session ended, and nobody noticed before' END AS why,
               shown AS evidence,
               timestampadd(MILLISECOND, session_timeout_ms - :guard_ms, timer_started_at)
                   AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, removed_at) AS guard_to
        FROM judged
        """
    )


def _new_one_is_refused(t: Tables) -> Frame:
    """Joins under the instance id of a member that has neither said it leaves nor been removed.

    The owner may be alive or dead: the coordinator cannot tell. `ms` is its silence at that time.
    What an unready coordinator answers (14 to 16) says nothing.
    """
    return t.sql(
        f"""
        WITH beats AS (
            SELECT * FROM {{requests}}
            WHERE `group` = :group AND api = 'CONSUMER_GROUP_HEARTBEAT' AND member_id IS NOT NULL
        ),
        met AS (
            SELECT j.member_id, j.client_id AS member, j.instance_id, j.error_code, j.arrived_at,
                   j.processed_at, j.evidence, o.member AS owner, o.member_id AS owner_id,
                   o.removed_at, o.removed_by
            FROM beats j JOIN {{memberships}} o
              ON o.instance_id = j.instance_id AND o.member_id <> j.member_id
             AND o.joined_at <= j.arrived_at
             AND (o.removed_at IS NULL OR j.arrived_at < {_SEEN_AS_GONE})
            WHERE j.generation = 0 AND j.instance_id IS NOT NULL
              AND j.error_code NOT IN (14, 15, 16)
        ),
        owned AS (
            SELECT m.member_id, m.arrived_at, count_if(b.generation = -2
                       AND b.arrived_at <= m.processed_at) AS released,
                   max(b.processed_at) FILTER (WHERE b.arrived_at <= m.arrived_at) AS seen_at,
                   count_if(b.arrived_at > m.arrived_at AND b.error_code IN (25, 82, 110, 111)
                            AND coalesce(b.arrived_at < m.removed_at, true)) AS refusals
            FROM met m JOIN beats b ON b.member_id = m.owner_id
            GROUP BY m.member_id, m.arrived_at
        ),
        judged AS (
            SELECT m.*, o.refusals, p.`end`,
                   m.removed_at <= m.processed_at AND m.removed_by <> 'replaced' AS going,
                   timestampdiff(MICROSECOND, o.seen_at, m.arrived_at) / 1e3 AS ms
            FROM met m JOIN owned o USING (member_id, arrived_at)
            LEFT JOIN {{members}} p ON p.member = m.member
            WHERE o.released = 0
        )
        SELECT concat(member, ' (', instance_id, ')') AS subject, arrived_at AS at,
               CASE WHEN going THEN NULL
                    ELSE error_code = 111 AND refusals = 0
                         AND coalesce(`end` = 'failed', false) END AS ok,
               ms AS measured,
               CASE WHEN going THEN 'its owner was removed meanwhile'
                    WHEN error_code = 0 THEN concat('let in, while ', owner, ' had it')
                    WHEN error_code <> 111 THEN concat('answered with error ', error_code)
                    WHEN refusals > 0 THEN concat(owner, ' was refused as well')
                    WHEN coalesce(`end` <> 'failed', true) THEN 'its client went on all the same'
                    ELSE concat('refused with 111, for ', owner, ' has it; its client gave up')
                    END AS why,
               evidence
        FROM judged
        """
    )


BACK_WITHOUT_REBALANCE = Rule(
    id="X02",
    title="A static member that is back in time causes no rebalance",
    statement=(
        "A process that joins a stable group under the instance id of a member whose session still "
        "runs takes its place: no rebalance, the same generation, the same partitions."
    ),
    source="KIP-345; group.instance.id",
    unit="ms",
    things="processes in the place of another",
    measures="from joining to having the partitions",
    examine=_back_without_rebalance,
    protocols=CLASSIC,
)
CLOSE_IS_SILENT = Rule(
    id="X03",
    title="A static member closes without a word",
    statement=(
        "A static member that closes sends no LeaveGroup; it is evicted when its session ends, and "
        "no rebalance starts before that."
    ),
    source="KIP-345; group.instance.id; rd_kafka_consumer_close",
    unit="ms",
    things="closed static members",
    measures="after the last sign of life",
    examine=_close_is_silent,
    protocols=CLASSIC,
)
MAX_POLL_SILENT = Rule(
    id="X04",
    title="A static member that does not poll falls silent",
    statement=(
        "A static member whose application does not poll for max.poll.interval.ms does not leave: "
        "it stops its heartbeats, and is evicted one session timeout later."
    ),
    source="KIP-345; max.poll.interval.ms",
    unit="ms",
    things="stalls past both limits",
    measures="from the last poll to the eviction",
    examine=_falls_silent_past_max_poll,
    protocols=CLASSIC,
)
DUPLICATE_FENCED = Rule(
    id="X05",
    title="Of two with one instance id the older is fenced",
    statement=(
        "If a second process joins under the instance id of a live member, the first is refused "
        "with FENCED_INSTANCE_ID by its next request, and its client gives up for good."
    ),
    source="KIP-345; FENCED_INSTANCE_ID",
    unit="ms",
    things="members replaced alive",
    measures="until it was refused",
    examine=_old_one_is_fenced,
    protocols=CLASSIC,
)
BACK_WITHOUT_EPOCH = Rule(
    id="X02-epoch",
    title="A static member that left for now comes back to what it had",
    statement=(
        "In KIP-848 a process that joins under the instance id of a member which left for now "
        "takes its place: no new group epoch, the same partitions."
    ),
    source="KIP-848, Static membership; group.instance.id",
    unit="ms",
    things="processes in the place of another",
    measures="from joining to having the partitions",
    examine=_back_without_epoch,
    protocols=_KIP_848,
)
CLOSE_LEAVES_FOR_NOW = Rule(
    id="X03-epoch",
    title="A static member closes with epoch -2",
    statement=(
        "A static member of KIP-848 that closes says that it leaves for now, by epoch -2: nothing "
        "changes until another takes its place, or its session ends."
    ),
    source="KIP-848, Static membership; ConsumerGroupHeartbeatRequest.MemberEpoch",
    unit="ms",
    things="closed static members",
    measures="after the last sign of life",
    examine=_close_leaves_for_now,
    protocols=_KIP_848,
)
NEW_ONE_REFUSED = Rule(
    id="X05-unreleased",
    title="Of two with one instance id the newer is refused in KIP-848",
    statement=(
        "Who joins under the instance id of a member that has neither left for now nor been "
        "removed is refused with UNRELEASED_INSTANCE_ID, and its client gives up for good."
    ),
    source="KIP-848, Static membership; UNRELEASED_INSTANCE_ID",
    unit="ms",
    things="joins under an id in use",
    measures="after the owner's last heartbeat",
    examine=_new_one_is_refused,
    protocols=_KIP_848,
)
