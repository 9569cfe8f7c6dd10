"""Who is taken for dead, when, and by whom: sessions, heartbeats, and the limit between polls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# session.timeout.ms where nobody sets it, since Kafka 3.0 and librdkafka 1.7.0.
DEFAULT_SESSION_MS: Final = 45_000


def evicted_on_time(t: Tables) -> Frame:
    """Evictions, and members that should have been evicted while their coordinator worked.

    A member may also be removed while a rebalance is under way already; then no second one starts.
    """
    return t.sql(
        """
        WITH evicted AS (
            SELECT e.*, s.rebalancing,
                   timestampdiff(MICROSECOND, s.at, s.next_start_at) / 1e3 AS start_ms
            FROM {evictions} e JOIN {group_steps} s
              ON s.event = 'evicted' AND s.member_id = e.member_id AND s.at = e.evicted_at
        )
        SELECT concat(coalesce(member, member_id), ' (eviction)') AS subject, evicted_at AS at,
               CASE WHEN timer_started_at IS NULL THEN NULL
                    ELSE silence_ms BETWEEN session_timeout_ms - :slack_ms
                                        AND session_timeout_ms + :slack_ms
                         AND (rebalancing OR coalesce(start_ms <= :slack_ms, false)) END AS ok,
               silence_ms AS measured, session_timeout_ms - :slack_ms AS bound_low,
               session_timeout_ms + :slack_ms AS bound_high,
               CASE WHEN timer_started_at IS NULL THEN 'no sign of life before it is on record'
                    WHEN silence_ms < session_timeout_ms - :slack_ms THEN 'evicted too early'
                    WHEN silence_ms > session_timeout_ms + :slack_ms THEN 'evicted too late'
                    WHEN NOT rebalancing AND coalesce(start_ms > :slack_ms, true)
                    THEN 'no rebalance started with it'
                    ELSE concat('last heard by ', last_seen_api) END AS why,
               evidence,
               timestampadd(MILLISECOND, session_timeout_ms - :guard_ms, timer_started_at)
                   AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, evicted_at) AS guard_to
        FROM evicted
        UNION ALL
        SELECT concat(coalesce(member, member_id), ' (silence)'), to_at, false, ms,
               session_timeout_ms, session_timeout_ms + :slack_ms,
               'silent for longer than its session, and not evicted', NULL,
               timestampadd(MILLISECOND, session_timeout_ms - :guard_ms, from_at),
               timestampadd(MILLISECOND, session_timeout_ms + :slack_ms, from_at)
        FROM {silences}
        WHERE ms > session_timeout_ms + :slack_ms AND ended_by IN ('sign', 'end')
        """
    )


def _rearmed(t: Tables) -> Frame:
    return t.sql(
        """
        SELECT concat(coalesce(any_value(member), member_id), ' (', member_id, ')') AS subject,
               max_by(to_at, struct(ms, to_at)) AS at,
               bool_and(CASE ended_by WHEN 'evicted' THEN ms >= session_timeout_ms - :slack_ms
                                      ELSE ms < session_timeout_ms + :slack_ms END) AS ok,
               coalesce(max(ms) FILTER (WHERE ended_by <> 'evicted'), max(ms)) AS measured,
               CAST(NULL AS DOUBLE) AS bound_low,
               max(session_timeout_ms) + :slack_ms AS bound_high,
               CASE WHEN count_if(ended_by = 'evicted'
                                  AND ms < session_timeout_ms - :slack_ms) > 0
                    THEN 'evicted although its session had not run out'
                    WHEN count_if(ended_by = 'evicted') > 0
                    THEN 'evicted once its session had run out, and never before'
                    ELSE concat('longest of ', count(*), ' silences') END AS why,
               timestampadd(MILLISECOND, max(session_timeout_ms) - :guard_ms,
                            max_by(from_at, struct(ms, to_at)))
                   AS guard_from,
               max_by(to_at, struct(ms, to_at)) AS guard_to
        FROM {silences} GROUP BY member_id
        """
    )


# Each time-out of a client's session, with when the application was told that its assignment is
# lost, if it was. librdkafka decides on a thread of its own and tells by callback from poll: so it
# has a second from when the application could poll, which it cannot while it waits for the answer
# to a commit or works on a batch.
TIME_OUTS = """
    busy AS (
        SELECT member, asked_at AS from_at, answered_at AS to_at FROM {commits}
        WHERE how IN ('sync', 'revoke', 'interval')
        UNION ALL
        SELECT member, polled_at, processed_at FROM {deliveries}
    ),
    told AS (
        SELECT e.member, e.event_at AS at, any_value(e.duration_ms) AS duration_ms,
               greatest(e.event_at, max(b.to_at)) AS could_poll_at
        FROM {client_events} e LEFT JOIN busy b
          ON b.member = e.member AND b.from_at <= e.event_at AND b.to_at > e.event_at
        WHERE e.event = 'session_timed_out'
        GROUP BY e.member, e.event_at
    ),
    time_outs AS (
        SELECT t.member, t.at, any_value(t.duration_ms) AS duration_ms, min(l.event_at) AS lost_at
        FROM told t LEFT JOIN {client_events} l
          ON l.member = t.member AND l.event = 'lost' AND l.event_at >= t.at
         AND l.event_at <= timestampadd(MILLISECOND, 1000, t.could_poll_at)
        GROUP BY t.member, t.at
    )
"""


def _librdkafka_session(t: Tables) -> Frame:
    """The client's own time-out, from the last answer that can have reached it.

    Answers that the coordinator wrote into an isolated link did not arrive.
    """
    return t.sql(
        f"""
        WITH {TIME_OUTS},
        answers AS (
            SELECT s.member, s.answered_at AS at FROM {{signs_of_life}} s
            LEFT JOIN {{members}} m ON m.member = s.member
            LEFT ANTI JOIN {{fault_windows}} f
              ON f.kind = 'isolate' AND f.resolved IN (m.member, m.lane)
             AND s.answered_at >= f.injecting_at
             AND s.answered_at <= coalesce(f.healed_at, :ended_at)
            WHERE s.api <> 'OFFSET_COMMIT'
        ),
        heard AS (
            SELECT t.member, t.at, any_value(t.duration_ms) AS duration_ms,
                   any_value(t.lost_at) AS lost_at, max(a.at) AS heard_at
            FROM time_outs t LEFT JOIN answers a ON a.member = t.member AND a.at <= t.at
            GROUP BY t.member, t.at
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, heard_at, at) / 1e3 AS ms FROM heard
        )
        SELECT member AS subject, at,
               CASE WHEN ms IS NOT NULL THEN
                    ms BETWEEN :session_ms - :slack_ms AND :session_ms + 500 + :slack_ms
                    AND lost_at IS NOT NULL END AS ok,
               ms AS measured, :session_ms - :slack_ms AS bound_low,
               :session_ms + 500 + :slack_ms AS bound_high,
               CASE WHEN ms IS NULL THEN 'no answer to it is on record'
                    WHEN lost_at IS NULL THEN 'its assignment was not declared lost'
                    WHEN duration_ms IS NULL THEN 'assignment declared lost'
                    ELSE concat('the client itself says ', CAST(round(duration_ms) AS INT), ' ms')
                    END AS why,
               timestampadd(MILLISECOND, :session_ms - :guard_ms, heard_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, at) AS guard_to
        FROM timed
        """
    )


def _left_by_max_poll(t: Tables) -> Frame:
    """The limit counts from the last poll; the stall begins when its batch has been handed over."""
    return left_by_limit(t, "stall_started")


def left_by_limit(t: Tables, event: str) -> Frame:
    """Stalls past max.poll.interval.ms that begin with `event`, and when their members left."""
    return t.sql(
        """
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, e.duration_ms, m.max_poll_interval_ms AS limit_ms
            FROM {client_events} e JOIN {members} m USING (member)
            WHERE e.event = :event AND e.duration_ms > m.max_poll_interval_ms
              AND m.sabotage IS NULL AND m.instance_id IS NULL
        ),
        left AS (
            SELECT s.member, s.at, s.duration_ms, s.limit_ms, min(r.arrived_at) AS left_at,
                   min_by(r.member_id, r.arrived_at) AS member_id,
                   min_by(r.evidence, r.arrived_at) AS evidence
            FROM stalls s LEFT JOIN {requests} r
              ON r.client_id = s.member AND r.arrived_at > s.at
             AND (r.api = 'LEAVE_GROUP'
                  OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
             AND r.arrived_at <= timestampadd(MILLISECOND, s.duration_ms + 1000, s.at)
            GROUP BY s.member, s.at, s.duration_ms, s.limit_ms
        ),
        judged AS (
            SELECT l.*, timestampdiff(MICROSECOND, l.at, l.left_at) / 1e3 AS ms,
                   count(v.member_id) AS evictions
            FROM left l LEFT JOIN {evictions} v
              ON v.member = l.member AND v.evicted_at > l.at
             AND (v.member_id = l.member_id OR l.left_at IS NULL)
             AND v.evicted_at <= timestampadd(MILLISECOND, l.duration_ms + :session_ms + 1000, l.at)
            GROUP BY ALL
        )
        SELECT concat(member, ' (stall)') AS subject, at,
               evictions = 0
                   AND coalesce(ms BETWEEN limit_ms - :poll_ms - :slack_ms
                                       AND limit_ms + :timer_late_ms + :slack_ms, false) AS ok,
               ms AS measured, limit_ms - :poll_ms - :slack_ms AS bound_low,
               limit_ms + :timer_late_ms + :slack_ms AS bound_high,
               CASE WHEN evictions > 0 THEN 'evicted instead of leaving by itself'
                    WHEN ms IS NULL THEN 'did not leave the group'
                    WHEN ms < limit_ms - :poll_ms - :slack_ms THEN 'left too early'
                    WHEN ms > limit_ms + :timer_late_ms + :slack_ms THEN 'left too late'
                    ELSE 'left by itself' END AS why,
               evidence,
               timestampadd(MILLISECOND, limit_ms - :guard_ms, at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, coalesce(left_at,
                   timestampadd(MILLISECOND, limit_ms + :timer_late_ms, at))) AS guard_to
        FROM judged
        """,
        event=event,
    )


def _crashed_is_replaced(t: Tables) -> Frame:
    return t.sql(
        """
        WITH kills AS (
            SELECT resolved AS member, injecting_at, injected_at AS at FROM {fault_windows}
            WHERE kind = 'kill-consumer' AND took_effect
        ),
        orphans AS (
            SELECT k.member, k.at, o.topic, o.partition
            FROM kills k JOIN {ownership} o
              ON o.member = k.member AND o.from_at < k.at
             AND (o.to_at IS NULL OR o.ended_by = 'killed' OR o.to_at >= k.injecting_at)
        ),
        next AS (
            SELECT o.member, o.at, o.topic, o.partition, min(n.from_at) AS owned_at,
                   min_by(n.member, n.from_at) AS owner
            FROM orphans o LEFT JOIN {ownership} n
              ON n.topic = o.topic AND n.partition = o.partition AND n.member <> o.member
             AND n.from_at >= o.at
            GROUP BY ALL
        ),
        bounded AS (
            SELECT *, :session_ms + :heartbeat_ms + 1000 + :slack_ms AS high,
                   timestampdiff(MICROSECOND, at, owned_at) / 1e3 AS ms FROM next
        )
        SELECT concat(topic, '-', partition) AS subject, at,
               CASE WHEN ms IS NULL AND timestampadd(MILLISECOND, high, at) > :stopped_at THEN NULL
                    ELSE coalesce(ms <= high, false) END AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low, high AS bound_high,
               CASE WHEN ms IS NOT NULL THEN concat('from ', member, ' to ', owner)
                    WHEN timestampadd(MILLISECOND, high, at) > :stopped_at
                    THEN 'the run ended before it was due'
                    ELSE 'no live member got it' END AS why,
               timestampadd(MILLISECOND, high - :guard_ms, at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, owned_at) AS guard_to
        FROM bounded
        """
    )


def _default_session(t: Tables) -> Frame:
    """Crashes of members with the default session, from the kill to the eviction.

    The last heartbeat before the kill can be as old as their interval, so the wait is shorter by
    up to that. The moment of a kill lies between the two marks of its fault.
    """
    return t.sql(
        """
        WITH crashes AS (
            SELECT f.resolved AS member, f.injecting_at AS at, f.injected_at,
                   e.evicted_at, e.evidence, m.session_timeout_ms AS session_ms
            FROM {fault_windows} f JOIN {members} m ON m.member = f.resolved
            LEFT JOIN {evictions} e ON e.member = f.resolved AND e.evicted_at >= f.injecting_at
            WHERE f.kind = 'kill-consumer' AND f.took_effect AND m.session_timeout_ms = :default_ms
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, at, evicted_at) / 1e3 AS ms,
                   session_ms - :heartbeat_ms - :cadence_ms AS low,
                   session_ms + :slack_ms + timestampdiff(MICROSECOND, at, injected_at) / 1e3
                       AS high
            FROM crashes
        )
        SELECT concat(member, ' (crash)') AS subject, at,
               CASE WHEN ms IS NULL
                     AND timestampadd(MILLISECOND, CAST(high AS INT), at) > :stopped_at
                    THEN NULL ELSE coalesce(ms BETWEEN low AND high, false) END AS ok,
               ms AS measured, low AS bound_low, high AS bound_high,
               CASE WHEN ms IS NULL THEN 'was not evicted' ELSE 'evicted' END AS why, evidence,
               timestampadd(MILLISECOND, session_ms - :guard_ms, at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, evicted_at) AS guard_to
        FROM timed
        """,
        default_ms=DEFAULT_SESSION_MS,
    )


def _cadence(t: Tables) -> Frame:
    """Medians over a generation, so that one late heartbeat of a busy machine does not count."""
    return t.sql(
        """
        SELECT concat(any_value(member), ' in generation ', generation) AS subject, max(at) AS at,
               median(gap_ms) BETWEEN :heartbeat_ms - :cadence_early_ms
                                   AND :heartbeat_ms + :cadence_ms
                   AS ok,
               median(gap_ms) AS measured, :heartbeat_ms - :cadence_early_ms AS bound_low,
               :heartbeat_ms + :cadence_ms AS bound_high, concat(count(*), ' steady gaps') AS why
        FROM {heartbeats} WHERE steady
        GROUP BY member_id, generation HAVING count(*) >= 3
        """
    )


_SLOW = """
    WITH slow AS (
        SELECT e.member, e.event_at AS at, e.duration_ms,
               timestampadd(MICROSECOND, CAST(e.duration_ms * 1e3 AS BIGINT), e.event_at) AS to_at
        FROM {client_events} e JOIN {members} m USING (member)
        WHERE e.event = 'stall_started' AND e.duration_ms > m.session_timeout_ms
          AND e.duration_ms < m.max_poll_interval_ms AND m.sabotage IS NULL
    )
"""


def _slow_is_dropped(t: Tables) -> Frame:
    return t.sql(
        _SLOW
        + """
        SELECT concat(s.member, ' (stall)') AS subject, s.at, count(r.member_id) > 0 AS ok,
               coalesce(min(timestampdiff(MICROSECOND, s.at, r.removed_at)) / 1e3, s.duration_ms)
                   AS measured,
               CASE WHEN count(r.member_id) > 0 THEN concat('removed: ', any_value(r.removed_by))
                    ELSE concat('stayed in the group through ', CAST(round(s.duration_ms) AS INT),
                                ' ms without a poll') END AS why
        FROM slow s LEFT JOIN {memberships} r
          ON r.member = s.member AND r.removed_at >= s.at
         AND r.removed_at <= timestampadd(MILLISECOND, :slack_ms, s.to_at)
        GROUP BY s.member, s.at, s.duration_ms
        """
    )


def _slow_heartbeats(t: Tables) -> Frame:
    """Gaps that touch the stall; the one to its end counts too, so that silence cannot hide."""
    return t.sql(
        _SLOW
        + """
        , gaps AS (
            SELECT s.member, s.at, s.to_at, max(h.gap_ms) AS gap_ms, max(h.at) AS last_at,
                   count(h.at) AS heartbeats
            FROM slow s LEFT JOIN {heartbeats} h
              ON h.member = s.member AND h.at >= s.at AND h.at <= s.to_at
             AND h.error_code IN (0, 27)
            GROUP BY s.member, s.at, s.to_at
        ),
        largest AS (
            SELECT *, greatest(coalesce(gap_ms, 0),
                timestampdiff(MICROSECOND, coalesce(last_at, at), to_at) / 1e3) AS ms FROM gaps
        )
        SELECT concat(member, ' (stall)') AS subject, at,
               ms <= :heartbeat_ms + :cadence_ms AS ok, ms AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, :heartbeat_ms + :cadence_ms AS bound_high,
               concat(heartbeats, ' heartbeats while nothing was polled') AS why,
               -- A machine that stood still can only have made it longer.
               CASE WHEN ms > :heartbeat_ms + :cadence_ms THEN at END AS guard_from,
               to_at AS guard_to
        FROM largest
        """
    )


EVICTION = Rule(
    id="R01",
    title="A silent member is evicted when its session ends",
    statement=(
        "A member that sends nothing for its session timeout is removed from the group, neither "
        "earlier nor later, and a rebalance starts."
    ),
    source="seed 000, GroupCoordinator; seed 003, HEARTBEAT; session.timeout.ms",
    unit="ms",
    things="evictions",
    measures="after the last sign of life",
    examine=evicted_on_time,
    protocols=CLASSIC,  # in KIP-848 the broker has the timer: X19
)
REARMED = Rule(
    id="R02",
    title="Every accepted sign of life re-arms the session",
    statement=(
        "Each accepted heartbeat, join, sync or commit gives the member a full session again: it "
        "is evicted if and only if it is silent for that long."
    ),
    source="seed 000, GroupCoordinator (completeAndScheduleNextHeartbeatExpiration)",
    unit="ms",
    things="member ids",
    measures="of silence at most",
    examine=_rearmed,
)
LIBRDKAFKA_SESSION = Rule(
    id="R06-librdkafka",
    title="librdkafka declares its assignment lost when its session ends",
    statement=(
        "librdkafka declares its assignment lost within 500 ms after its session timeout has "
        "passed since the last heartbeat that was answered."
    ),
    source="librdkafka rdkafka_cgrp.c (SESSTMOUT); session.timeout.ms",
    unit="ms",
    things="client session time-outs",
    measures="after the last answer",
    examine=_librdkafka_session,
    clients=("librdkafka",),
    protocols=CLASSIC,
)
MAX_POLL = Rule(
    id="R07",
    title="A consumer that does not poll leaves the group",
    statement=(
        "A dynamic member whose application does not poll for max.poll.interval.ms leaves by "
        "itself, within its timer (librdkafka: 500 ms, Java: 100 ms, or in KIP-848 with its next "
        "heartbeat), and is not evicted."
    ),
    source="seed 000, max.poll.interval.ms; seed 004, HeartbeatThread",
    unit="ms",
    things="stalls past the limit",
    measures="from the last poll to LeaveGroup",
    examine=_left_by_max_poll,
)
CRASHED = Rule(
    id="R10",
    title="A crashed consumer's partitions go to the others",
    statement=(
        "Every partition of a crashed consumer belongs to a live member within the session "
        "timeout, one heartbeat and one second."
    ),
    source="seed 000, consumer crash; seed 002, rebalance conditions",
    unit="ms",
    things="orphaned partitions",
    measures="from the crash to the next owner",
    examine=_crashed_is_replaced,
)
DEFAULT_SESSION = Rule(
    id="X11",
    title="With default timers a crash is noticed within 45 s",
    statement=(
        "With the default session of 45 s and heartbeats every 3 s, a crashed member is evicted "
        "42 to 45 s after its crash."
    ),
    source="KIP-735; session.timeout.ms",
    unit="ms",
    things="crashes",
    measures="from the crash to the eviction",
    examine=_default_session,
    broker=True,
    protocols=CLASSIC,
)
CADENCE = Rule(
    id="R14",
    title="Heartbeats keep their interval",
    statement=(
        "In a stable group each member heartbeats every heartbeat.interval.ms and up "
        "to a tick of its timer later (librdkafka: 500 ms, Java: 100 ms)."
    ),
    source="seed 001, heartbeat; heartbeat.interval.ms",
    unit="ms",
    things="members per generation",
    measures="between heartbeats (median)",
    examine=_cadence,
)
SLOW_DROPPED = Rule(
    id="R18",
    title="Slow processing gets a consumer dropped (documented, outdated)",
    statement=(
        "A consumer that takes longer than session.timeout.ms to process what it polled is "
        "dropped from the group."
    ),
    source="seed 002, session.timeout.ms; outdated since KIP-62",
    unit="ms",
    things="stalls past the session only",
    measures="without a poll",
    examine=_slow_is_dropped,
)
SLOW_HEARTBEATS = Rule(
    id="R34",
    title="Heartbeats do not depend on poll",
    statement=(
        "While an application processes for longer than its session, but shorter than "
        "max.poll.interval.ms, its heartbeats go on as before."
    ),
    source="seed 004, HeartbeatThread; KIP-62",
    unit="ms",
    things="stalls past the session only",
    measures="between heartbeats at most",
    examine=_slow_heartbeats,
)
