"""What a client's own timers do: who it heartbeats to, and what it does when nobody answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.failure_detection import TIME_OUTS
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# Answers that say something of the member, and not only that the group is elsewhere or not yet
# loaded (14, 15, 16) or that the log did not take it in time. What a coordinator writes into an
# isolated link does not arrive.
_ANSWERS = """
    answers AS (
        SELECT r.client_id AS member, r.member_id, r.api, r.error_code, r.processed_at,
               r.answered_at,
               CASE WHEN r.api IN ('JOIN_GROUP', 'SYNC_GROUP') THEN r.arrived_at
                    ELSE r.answered_at END AS heard_at
        FROM {requests} r LEFT JOIN {members} m ON m.member = r.client_id
        LEFT ANTI JOIN {fault_windows} f
          ON f.kind = 'isolate' AND f.resolved IN (m.member, m.lane)
         AND r.answered_at >= f.injecting_at
         AND r.answered_at <= coalesce(f.healed_at, :ended_at)
        WHERE r.`group` = :group AND r.member_id IS NOT NULL
          AND r.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
          AND r.error_code IN (0, 22, 25, 27, 82)
    )
"""

# When the broker that coordinated the group was killed, with what each member then asked.
_DEATHS = """
    deaths AS (
        SELECT f.fault, f.injecting_at AS at, coalesce(f.healed_at, :ended_at) AS to_at,
               max_by(t.broker, t.from_at) AS broker, any_value(f.resolved) AS resolved
        FROM {fault_windows} f JOIN {tenures} t ON t.from_at <= f.injecting_at
        WHERE f.kind = 'kill-broker' AND f.took_effect
        GROUP BY f.fault, f.injecting_at, f.healed_at
        HAVING concat('broker-', max_by(t.broker, t.from_at)) = any_value(f.resolved)
    ),
    bereft AS (
        SELECT d.fault, d.at, d.to_at, h.client_id AS member, min(h.arrived_at) AS heartbeat_at,
               min_by(h.broker, h.arrived_at) AS broker,
               min_by(h.evidence, h.arrived_at) AS evidence
        FROM deaths d JOIN {requests} h
          ON h.`group` = :group AND h.api = 'HEARTBEAT' AND h.arrived_at > d.at
         AND h.broker <> d.broker
        GROUP BY d.fault, d.at, d.to_at, h.client_id
    ),
    lookups AS (
        SELECT client_id AS member, arrived_at, answered_at, error_code,
               CAST(get_json_object(detail, '$.coordinator') AS INT) AS coordinator
        FROM {requests} WHERE `group` = :group AND api = 'FIND_COORDINATOR'
    )
"""


def _silent_without_coordinator(t: Tables) -> Frame:
    """By the client's own log where it tells, and by whom the coordinators heard.

    After its coordinator died, a member's first heartbeat must reach the broker that its last
    lookup named.
    """
    return t.sql(
        f"""
        WITH {_DEATHS},
        known AS (
            SELECT member, event, event_at,
                   last_value(CASE WHEN event IN ('coordinator_lost', 'coordinator_found')
                                   THEN event END, true) OVER w AS state
            FROM {{client_events}}
            WHERE event IN ('coordinator_lost', 'coordinator_found', 'heartbeat_sent')
            WINDOW w AS (PARTITION BY member ORDER BY event_at
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ),
        by_client AS (
            SELECT member, min(event_at) FILTER (WHERE event = 'coordinator_lost') AS at,
                   count_if(event = 'coordinator_lost') AS losses,
                   count_if(event = 'heartbeat_sent' AND state = 'coordinator_lost') AS sent
            FROM known GROUP BY member
        ),
        by_broker AS (
            SELECT b.fault, b.member, b.at, b.heartbeat_at, b.broker, b.evidence,
                   max_by(l.coordinator, l.answered_at) AS named, count(l.answered_at) AS asked
            FROM bereft b LEFT JOIN lookups l
              ON l.member = b.member AND l.error_code = 0 AND l.arrived_at > b.at
             AND l.arrived_at <= b.heartbeat_at
            GROUP BY ALL
        )
        SELECT concat(member, ' (its log)') AS subject, at, sent = 0 AS ok, sent AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, 0 AS bound_high,
               concat('lost its coordinator ', losses, ' times') AS why,
               CAST(NULL AS STRING) AS evidence
        FROM by_client WHERE losses > 0
        UNION ALL
        SELECT concat(member, ' after ', fault), heartbeat_at, coalesce(named = broker, false),
               CASE WHEN coalesce(named = broker, false) THEN 0 ELSE 1 END, NULL, 0,
               CASE WHEN asked = 0 THEN 'heartbeats to another broker without having asked'
                    WHEN named = broker THEN concat('asked ', asked, ' times before')
                    ELSE concat('heartbeats to broker-', broker, ', told of broker-', named) END,
               evidence
        FROM by_broker
        """
    )


def _looks_again(t: Tables) -> Frame:
    """Gaps between one member's lookups while its coordinator is dead; both of its threads ask.

    The first counts from the death: the connection breaks with it. A timer that is looked at
    late may be so at both ends of a gap.
    """
    return t.sql(
        f"""
        WITH {_DEATHS},
        asked AS (
            SELECT b.fault, b.member, b.at AS lost_at, l.arrived_at AS at,
                   coalesce(lag(l.arrived_at) OVER (PARTITION BY b.fault, b.member
                                                    ORDER BY l.arrived_at), b.at) AS before_at
            FROM bereft b JOIN lookups l
              ON l.member = b.member AND l.arrived_at > b.at AND l.arrived_at <= b.heartbeat_at
        ),
        longest AS (
            SELECT fault, member, count(*) AS lookups,
                   max(timestampdiff(MICROSECOND, before_at, at)) / 1e3 AS ms,
                   max_by(before_at, struct(at - before_at, at)) AS from_at,
                   max_by(at, struct(at - before_at, at)) AS at
            FROM asked GROUP BY fault, member
        )
        SELECT concat(member, ' after ', fault) AS subject, at,
               ms <= :lookup_ms + 2 * :slack_ms AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               :lookup_ms + 2 * :slack_ms AS bound_high,
               concat('longest gap of ', lookups, ' lookups') AS why,
               -- A machine that stood still can only have made it longer.
               CASE WHEN ms > :lookup_ms + 2 * :slack_ms THEN from_at END AS guard_from,
               at AS guard_to
        FROM longest
        """
    )


def _keeps_assignment(t: Tables) -> Frame:
    """By librdkafka's own word when its session times out; for Java each long silence counts.

    Java's log does not always tell: a coordinator that dies closes the connection, and each lookup
    that names the dead one again gives the client a new session.
    """
    return t.sql(
        f"""
        WITH {TIME_OUTS},
        {_ANSWERS},
        followed AS (
            SELECT member, processed_at, lag(answered_at) OVER w AS before_at,
                   timestampdiff(MICROSECOND, lag(answered_at) OVER w, heard_at) / 1e3 AS ms
            FROM answers WINDOW w AS (PARTITION BY member_id ORDER BY answered_at)
        ),
        silences AS (
            SELECT f.member, f.ms, f.processed_at,
                   timestampadd(MILLISECOND, m.session_timeout_ms, f.before_at) AS at
            FROM followed f JOIN {{members}} m USING (member)
            WHERE m.client = 'java'
              AND f.ms > m.session_timeout_ms + :timer_late_ms + :slack_ms
        ),
        java AS (
            SELECT s.member, s.at, any_value(s.ms) AS ms, min(l.event_at) AS lost_at
            FROM silences s LEFT JOIN {{client_events}} l
              ON l.member = s.member AND l.event = 'lost' AND l.event_at >= s.at
             -- It may be logged late that the answer was on the wire, not that it was ready.
             AND l.event_at < s.processed_at
            GROUP BY s.member, s.at
        ),
        both AS (
            SELECT member, at, lost_at, CAST(NULL AS DOUBLE) AS ms FROM time_outs
            WHERE :client <> 'java'
            UNION ALL
            SELECT member, at, lost_at, ms FROM java
        )
        SELECT member AS subject, at, lost_at IS NULL AS ok,
               timestampdiff(MICROSECOND, at, lost_at) / 1e3 AS measured,
               CASE WHEN lost_at IS NOT NULL THEN 'declared its assignment lost'
                    WHEN ms IS NULL THEN 'kept its assignment'
                    ELSE concat('kept its assignment through ', CAST(round(ms) AS INT),
                                ' ms without an answer') END AS why
        FROM both
        """
    )


def _java_session(t: Tables) -> Frame:
    """From what gave the client a new session last: an answer, a join, or a coordinator found."""
    return t.sql(
        f"""
        WITH {_ANSWERS},
        timed_out AS (
            SELECT member, event_at AS at FROM {{client_events}} WHERE event = 'session_timed_out'
        ),
        armed AS (
            SELECT member, answered_at AS at, api AS what FROM answers
            WHERE api IN ('HEARTBEAT', 'JOIN_GROUP') AND error_code IN (0, 27)
            UNION ALL
            SELECT member, event_at, 'a coordinator found' FROM {{client_events}}
            WHERE event = 'coordinator_found'
        ),
        since AS (
            SELECT t.member, t.at, max(a.at) AS armed_at, max_by(a.what, a.at) AS what
            FROM timed_out t LEFT JOIN armed a ON a.member = t.member AND a.at <= t.at
            GROUP BY t.member, t.at
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, armed_at, at) / 1e3 AS ms FROM since
        )
        SELECT member AS subject, at,
               ms BETWEEN :session_ms - :slack_ms
                      AND :session_ms + :timer_late_ms + :poll_ms + :slack_ms AS ok,
               ms AS measured, :session_ms - :slack_ms AS bound_low,
               :session_ms + :timer_late_ms + :poll_ms + :slack_ms AS bound_high,
               coalesce(concat('since ', what), 'nothing before it is on record') AS why,
               timestampadd(MILLISECOND, :session_ms - :guard_ms, armed_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, at) AS guard_to
        FROM timed
        """
    )


def _retries_soon(t: Tables) -> Frame:
    """From the failure, or from when there was a coordinator again, to the next heartbeat.

    Several heartbeats that fail together are one thing. A member that has to join anew first, or
    closes, has nothing to repeat.
    """
    return t.sql(
        """
        WITH failed AS (
            SELECT member, event_at AS at FROM {client_events} WHERE event = 'heartbeat_failed'
            UNION ALL
            SELECT client_id, answered_at FROM {requests}
            WHERE `group` = :group AND api = 'HEARTBEAT' AND error_code IN (14, 15, 16)
        ),
        retried AS (
            SELECT f.member, f.at, min(s.event_at) AS sent_at
            FROM failed f JOIN {client_events} s
              ON s.member = f.member AND s.event = 'heartbeat_sent' AND s.event_at > f.at
            GROUP BY f.member, f.at
        ),
        together AS (
            SELECT r.member, r.sent_at, max(r.at) AS at FROM retried r
            LEFT ANTI JOIN {client_events} c
              ON c.member = r.member AND c.event IN ('lost', 'revoked', 'assigned', 'closing')
             AND c.event_at > r.at AND c.event_at <= r.sent_at
            GROUP BY r.member, r.sent_at
        ),
        found AS (
            SELECT r.member, r.sent_at, r.at, greatest(r.at, max(c.event_at)) AS ready_at
            FROM together r LEFT JOIN {client_events} c
              ON c.member = r.member AND c.event = 'coordinator_found'
             AND c.event_at > r.at AND c.event_at <= r.sent_at
            GROUP BY r.member, r.sent_at, r.at
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, ready_at, sent_at) / 1e3 AS ms FROM found
        )
        SELECT member AS subject, sent_at AS at, ms <= :retry_ms + :timer_late_ms + :slack_ms AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               :retry_ms + :timer_late_ms + :slack_ms AS bound_high,
               CASE WHEN ready_at > at THEN 'since it found its coordinator again'
                    ELSE 'since the failure' END AS why,
               CASE WHEN ms > :retry_ms + :timer_late_ms + :slack_ms THEN ready_at END
                   AS guard_from, sent_at AS guard_to
        FROM timed
        """
    )


def _three_timers(t: Tables) -> Frame:
    """Each removal needs the timer that it is made by; a member that no timer is up for stays."""
    return t.sql(
        """
        WITH removed AS (
            SELECT r.member, r.member_id, r.removed_at AS at, r.removed_by, r.evidence,
                   m.session_timeout_ms, m.max_poll_interval_ms
            FROM {memberships} r JOIN {members} m USING (member)
            WHERE r.removed_by IN ('evicted', 'left')
        ),
        reasons AS (
            SELECT r.*, e.silence_ms,
                   max(c.event_at) FILTER (WHERE c.event = 'closing') AS closing_at,
                   max(timestampdiff(MICROSECOND, c.event_at, r.at)) FILTER
                       (WHERE c.event = 'stall_started'
                          AND timestampadd(MILLISECOND, c.duration_ms, c.event_at) >= r.at) / 1e3
                       AS unpolled_ms
            FROM removed r LEFT JOIN {evictions} e USING (member_id)
            LEFT JOIN {client_events} c
              ON c.member = r.member AND c.event IN ('closing', 'stall_started')
             AND c.event_at <= timestampadd(MILLISECOND, :rounding_ms, r.at)
            GROUP BY ALL
        )
        SELECT concat(member, ' (', removed_by, ')') AS subject, at,
               CASE WHEN removed_by = 'evicted'
                    THEN silence_ms >= session_timeout_ms - :slack_ms
                    ELSE closing_at IS NOT NULL
                         OR coalesce(unpolled_ms
                                     >= max_poll_interval_ms - :poll_ms - :slack_ms, false)
               END AS ok,
               CASE WHEN removed_by = 'evicted' THEN silence_ms ELSE unpolled_ms END AS measured,
               CASE WHEN removed_by = 'evicted' THEN 'session.timeout.ms without a sign of life'
                    WHEN closing_at IS NOT NULL THEN 'it closed'
                    WHEN unpolled_ms >= max_poll_interval_ms - :poll_ms - :slack_ms
                    THEN 'max.poll.interval.ms without a poll'
                    ELSE 'no timer of its was up' END AS why,
               evidence
        FROM reasons
        """
    )


def _addressed(t: Tables) -> Frame:
    """Heartbeats per member id and broker, and those of ids that are out, each by itself.

    librdkafka drops its id when its own session ends, and a heartbeat that is due before it joins
    anew goes out without one: that waits until the application has been told that all is lost,
    which it can be only when it polls. A member that closes has no reason to join anew, and is not
    examined for it.
    """
    return t.sql(
        f"""
        WITH {_DEATHS},
        heartbeats AS (
            SELECT client_id AS member, member_id, generation, broker, arrived_at, error_code,
                   evidence
            FROM {{requests}} WHERE `group` = :group AND api = 'HEARTBEAT'
        ),
        dropped AS (
            SELECT h.member, h.arrived_at, max(e.event_at) AS removed_at
            FROM heartbeats h JOIN {{client_events}} e
              ON e.member = h.member AND e.event = 'session_timed_out'
             AND e.event_at <= timestampadd(MILLISECOND, :rounding_ms, h.arrived_at)
            LEFT ANTI JOIN {{requests}} j
              ON j.client_id = h.member AND j.api = 'JOIN_GROUP'
             AND j.arrived_at >= e.event_at AND j.arrived_at <= h.arrived_at
            WHERE h.member_id IS NULL GROUP BY h.member, h.arrived_at
        ),
        beats AS (
            SELECT h.*, coalesce(r.removed_at, d.removed_at) AS removed_at,
                   d.removed_at IS NOT NULL AS dropped
            FROM heartbeats h LEFT JOIN {{memberships}} r ON r.member_id = h.member_id
            LEFT JOIN dropped d ON d.member = h.member AND d.arrived_at = h.arrived_at
        ),
        named AS (
            SELECT b.member, b.member_id, b.broker, min(b.arrived_at) AS at, count(*) AS heartbeats,
                   count_if(b.member_id IS NULL OR coalesce(b.generation, -1) < 0) AS nameless,
                   min_by(b.evidence, b.arrived_at) AS evidence
            FROM beats b WHERE NOT b.dropped GROUP BY b.member, b.member_id, b.broker
        ),
        led AS (
            SELECT n.*, max_by(l.coordinator, l.answered_at) AS coordinator
            FROM named n LEFT JOIN lookups l
              ON l.member = n.member AND l.error_code = 0 AND l.arrived_at <= n.at
            GROUP BY ALL
        ),
        late AS (
            SELECT b.member, b.member_id, b.arrived_at AS at, b.error_code, b.evidence,
                   min(j.arrived_at) AS joined_at
            FROM beats b LEFT JOIN {{requests}} j
              ON j.client_id = b.member AND j.api = 'JOIN_GROUP' AND j.arrived_at > b.arrived_at
            LEFT ANTI JOIN {{client_events}} c
              ON c.member = b.member AND c.event = 'closing' AND c.event_at <= b.arrived_at
            WHERE (b.dropped OR b.arrived_at > b.removed_at)
              AND b.error_code NOT IN (14, 15, 16)
            GROUP BY ALL
        )
        SELECT concat(member, ' at broker-', broker) AS subject, at,
               nameless = 0 AND coalesce(coordinator = broker, false) AS ok,
               heartbeats AS measured,
               CASE WHEN nameless > 0 THEN concat(nameless, ' heartbeats name no member')
                    WHEN coordinator IS NULL THEN 'it had not asked for the coordinator'
                    WHEN coordinator <> broker
                    THEN concat('its last lookup named broker-', coordinator)
                    ELSE 'the coordinator that its last lookup named' END AS why, evidence
        FROM led
        UNION ALL
        SELECT concat(member, ' after it was removed'), at,
               error_code = 25 AND joined_at IS NOT NULL, 1,
               CASE WHEN error_code <> 25 THEN concat('answered with error ', error_code)
                    WHEN joined_at IS NULL THEN 'it did not join anew'
                    ELSE 'refused, and it joined anew' END, evidence
        FROM late
        """
    )


def _notices_soon(t: Tables) -> Frame:
    return t.sql(
        """
        WITH noticed AS (
            SELECT e.member, e.event_at AS at, max(s.event_at) AS stalled_at
            FROM {client_events} e JOIN {client_events} s
              ON s.member = e.member AND s.event = 'stall_started' AND s.event_at < e.event_at
            WHERE e.event = 'max_poll_exceeded'
            GROUP BY e.member, e.event_at
        ),
        timed AS (
            SELECT n.*, m.max_poll_interval_ms AS limit_ms,
                   timestampdiff(MICROSECOND, stalled_at, at) / 1e3 - m.max_poll_interval_ms AS ms
            FROM noticed n JOIN {members} m USING (member)
        )
        SELECT concat(member, ' (stall)') AS subject, at,
               ms BETWEEN -:poll_ms - :slack_ms AND :timer_late_ms + :slack_ms AS ok,
               ms AS measured, -:poll_ms - :slack_ms AS bound_low,
               :timer_late_ms + :slack_ms AS bound_high,
               concat('with a heartbeat interval of ', :heartbeat_ms, ' ms') AS why,
               timestampadd(MILLISECOND, limit_ms - :guard_ms, stalled_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, at) AS guard_to
        FROM timed
        """
    )


SILENT_WITHOUT_COORDINATOR = Rule(
    id="R05",
    title="No heartbeats without a known coordinator",
    statement=(
        "A member that has lost its coordinator sends no heartbeat until a lookup has named one, "
        "and then heartbeats to that one."
    ),
    source="seed 000, AbstractCoordinator (HeartbeatThread); seed 004, HeartbeatThread",
    unit="heartbeats",
    things="losses of the coordinator",
    measures="while it was unknown",
    examine=_silent_without_coordinator,
    protocols=CLASSIC,
)
LOOKS_AGAIN = Rule(
    id="R05-lookup",
    title="A member that has lost its coordinator keeps looking for it",
    statement=(
        "While its coordinator is dead, a member asks for it again and again: Java at the latest "
        "every retry.backoff.max.ms with 20 % jitter, librdkafka every 1,000 ms."
    ),
    source="retry.backoff.max.ms; KIP-580; librdkafka rdkafka_cgrp.c (rd_kafka_cgrp_serve)",
    unit="ms",
    things="members without a coordinator",
    measures="between lookups at most",
    examine=_looks_again,
    protocols=CLASSIC,
)
KEEPS_ASSIGNMENT = Rule(
    id="R06",
    title="Without heartbeat answers the client only looks for the coordinator",
    statement=(
        "A client that gets no heartbeat answer for its session timeout marks the coordinator "
        "unknown and keeps its assignment."
    ),
    source="seed 000, AbstractCoordinator (client side of session.timeout.ms)",
    unit="ms",
    things="sessions without an answer",
    measures="until the assignment was declared lost",
    examine=_keeps_assignment,
    protocols=CLASSIC,
)
JAVA_SESSION = Rule(
    id="R06-java",
    title="Java gives its coordinator up when its session ends",
    statement=(
        "The Java client marks its coordinator unknown a session timeout after the last answer to "
        "a heartbeat, late by its timer's 100 ms and one poll of the application at most: the two "
        "threads share one connection to the network, and a poll keeps it for its time-out."
    ),
    source="seed 000, AbstractCoordinator (HeartbeatThread); session.timeout.ms",
    unit="ms",
    things="client session time-outs",
    measures="after the last answer",
    examine=_java_session,
    clients=("java",),
    protocols=CLASSIC,
)
RETRIES_SOON = Rule(
    id="R09",
    title="A failed heartbeat is repeated after a backoff",
    statement=(
        "After a heartbeat that failed, the next is sent after a backoff (retry.backoff.ms, "
        "growing to retry.backoff.max.ms with 20 % jitter), not after a whole interval."
    ),
    source="seed 000, Heartbeat; seed 004, HeartbeatThread; KIP-580",
    unit="ms",
    things="failed heartbeats",
    measures="to the next heartbeat",
    examine=_retries_soon,
    clients=("java",),
    protocols=CLASSIC,
)
THREE_TIMERS = Rule(
    id="R16",
    title="Three timers, each with its own effect",
    statement=(
        "A member is removed by its coordinator only after session.timeout.ms without a sign of "
        "life, and leaves by itself only when it closes or after max.poll.interval.ms without a "
        "poll; heartbeat.interval.ms decides neither."
    ),
    source="seed 001, session.timeout.ms, heartbeat.interval.ms and max.poll.interval.ms",
    unit="ms",
    things="removals",
    measures="of silence, or without a poll",
    examine=_three_timers,
    protocols=CLASSIC,
)
ADDRESSED = Rule(
    id="R35",
    title="A heartbeat names its member and goes to the coordinator",
    statement=(
        "Each heartbeat carries group, member id and generation, and goes to the broker that the "
        "member's last lookup named; one of a member that was removed, or whose client has dropped "
        "its id, is refused, and the member joins anew."
    ),
    source="seed 004, sendHeartbeatRequest",
    unit="heartbeats",
    things="member ids per broker",
    measures="of each",
    examine=_addressed,
    protocols=CLASSIC,
)
NOTICES_SOON = Rule(
    id="R36",
    title="Between heartbeats the thread wakes up every retry.backoff.ms",
    statement=(
        "Java's heartbeat thread waits for retry.backoff.ms between two looks at its timers, not "
        "for heartbeat.interval.ms: it notices a missed poll at most 100 ms late, where librdkafka "
        "takes up to 500 ms."
    ),
    source="seed 004, HeartbeatThread (retryBackoffMs)",
    unit="ms",
    things="missed polls",
    measures="after max.poll.interval.ms",
    examine=_notices_soon,
    clients=("java",),
    protocols=CLASSIC,
)
