"""How a member finds its coordinator, and which broker its heartbeats go to."""

from harness.experiment import CLASSIC
from harness.rules.rule import A_MEMBERS_WRITE, Need, Rule

# From when to when a group stands in which generation; null where its coordinator does not say.
# Who had a SYNC of a generation answered knows that it was stored, so a coordinator that loads the
# group goes on in it. That a group was emptied is stored later than it is logged.
STANDS = """synced AS (
            SELECT broker, generation, min(processed_at) AS stored_at
            FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
            GROUP BY broker, generation
        ), told_by_lines AS (
            SELECT broker, at, event, generation, evidence,
                   last_value(IF(event IN ('loaded', 'unloaded'), NULL,
                                 struct(broker, event, generation)), true)
                       OVER (PARTITION BY 1 ORDER BY at, length(evidence), evidence {BEFORE})
                       AS last
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('stabilized', 'emptied', 'loaded', 'unloaded',
                'epoch_bumped', 'upgraded', 'downgraded')
        ), stands AS (
            SELECT t.broker, t.at,
                   CASE WHEN t.event IN ('stabilized', 'emptied') THEN t.generation
                        WHEN t.event = 'loaded' AND t.last.event = 'stabilized'
                        THEN s.generation END AS stands,
                   lead(t.at) OVER (PARTITION BY t.broker
                                    ORDER BY t.at, length(t.evidence), t.evidence) AS until
            FROM told_by_lines t LEFT JOIN synced s
              ON s.broker = t.last.broker AND s.generation = t.last.generation
             AND s.stored_at < t.at
        )"""

LOOKUPS = """
    WITH lookups AS (
        SELECT member, arrived_at, answered_at, error_code,
               CAST(get_json_object(detail, '$.coordinator') AS INT) AS coordinator
        FROM {own_requests} WHERE api = 'FIND_COORDINATOR'
    ),
"""

# Of the lookups `l` of a member that sends a heartbeat `b`: the last, and when one named the broker
# that the heartbeat went to. The line of the one that named it may be stamped late.
LAST_LOOKUP = """max(struct(l.answered_at, l.arrived_at, l.coordinator))
                       FILTER (WHERE l.arrived_at <= b.heartbeat_at) AS last,
                   max(l.answered_at) FILTER (WHERE l.coordinator = b.broker) AS named_at"""

# Whether that broker is the one that a member was told of last: of lookups that were answered
# within the slack of the last one, any can have reached it last.
WAS_NAMED = """coalesce(named_at >= after(-:slack_ms, last.answered_at), named_at IS NOT NULL)"""

# Members whose coordinator was killed, each with its first heartbeat to another broker after that.
# Who sent the dead one no heartbeat in the session before had not lost it.
BEREFT = """
    deaths AS (
        SELECT f.fault, f.injecting_at AS at, f.injected_at AS gone_at,
               max_by(t.broker, struct(t.from_at, t.broker)) AS broker
        FROM {fault_windows} f JOIN {tenures} t ON t.from_at <= f.injecting_at
        WHERE f.killed AND f.broker_gone AND f.took_effect
        GROUP BY f.fault, f.injecting_at, f.injected_at, f.resolved
        HAVING concat('broker-', max_by(t.broker, struct(t.from_at, t.broker))) = f.resolved
    ), bereft AS (
        SELECT d.fault, d.at, d.gone_at, h.member, min(h.arrived_at) AS heartbeat_at,
               min_by(h.broker, struct(h.arrived_at, h.broker, h.evidence)) AS broker,
               min_by(h.evidence, struct(h.arrived_at, h.broker, h.evidence)) AS evidence
        FROM deaths d JOIN {own_requests} h
          ON h.api = 'HEARTBEAT' AND h.arrived_at > d.at AND h.broker <> d.broker
        LEFT SEMI JOIN {own_requests} b
          ON b.member = h.member AND b.api = 'HEARTBEAT' AND b.broker = d.broker
         AND b.arrived_at <= d.at AND b.arrived_at > after(-:session_ms, d.at)
        GROUP BY d.fault, d.at, d.gone_at, h.member
    ),
"""


@Rule(
    "R05",
    title="A member that knows no coordinator sends no heartbeats",
    statement="A member that has lost its coordinator sends no heartbeat until a lookup has named "
    "a coordinator, and then sends its heartbeats to that broker.",
    source="document 000, AbstractCoordinator (HeartbeatThread); document 004, HeartbeatThread",
    unit="heartbeats",
    things="losses of the coordinator",
    measures="while the coordinator was unknown",
    too_high="sent heartbeats while it knew no coordinator",
    matters="Only a lookup brings a member back to its group after its coordinator has failed.",
    protocols=CLASSIC,
)
def silent_without_coordinator() -> str:
    """By the client's own log where it tells, and by whom the coordinators heard.

    After its coordinator died, a member's first heartbeat must reach the broker that its last
    lookup named, or one that was answered so shortly before that it may have come last.
    """
    return """
        {LOOKUPS}{BEREFT}
        -- Of events in one moment, a heartbeat comes after a lookup's answer and before a loss.
        known AS (
            SELECT member, event, event_at,
                   last_value(CASE WHEN event <> 'heartbeat_sent' THEN event END, true)
                       OVER (PARTITION BY member
                             ORDER BY event_at, array_position(array('coordinator_found',
                                 'heartbeat_sent', 'coordinator_lost'), event) {BEFORE}) AS state
            FROM {client_events}
            WHERE event IN ('coordinator_lost', 'coordinator_found', 'heartbeat_sent')
        ), by_client AS (
            SELECT member, min(event_at) FILTER (WHERE event = 'coordinator_lost') AS at,
                   count_if(event = 'coordinator_lost') AS losses,
                   count_if(event = 'heartbeat_sent' AND state = 'coordinator_lost') AS sent
            FROM known GROUP BY member
        ), by_broker AS (
            SELECT b.fault, b.member, b.heartbeat_at, b.broker, b.evidence,
                   {LAST_LOOKUP},
                   count_if(l.arrived_at <= b.heartbeat_at) AS asked
            FROM bereft b LEFT JOIN lookups l
              ON l.member = b.member AND l.error_code = :NONE AND l.arrived_at > b.at
             AND l.arrived_at <= after(:slack_ms, b.heartbeat_at)
            GROUP BY b.fault, b.member, b.heartbeat_at, b.broker, b.evidence
        )
        SELECT concat(member, ' (its log)') AS subject, at, sent AS measured, 0 AS bound_high,
               CAST(NULL AS STRING) AS too_high,
               concat('lost its coordinator ', losses, ' times') AS note,
               CAST(NULL AS STRING) AS evidence
        FROM by_client WHERE losses > 0
        UNION ALL
        SELECT concat(member, ' after ', fault), heartbeat_at,
               IF({WAS_NAMED}, 0, 1), 0,
               coalesce(concat('sent a heartbeat to broker-', broker, ' after it was told of ',
                               'broker-', last.coordinator),
                        'sent a heartbeat to another broker without having asked'),
               CASE WHEN asked > 0 THEN concat('asked ', asked, ' times before') END, evidence
        FROM by_broker
    """


@Rule(
    "R05-lookup",
    title="A member that lost its coordinator keeps looking for it",
    statement="A member whose coordinator is dead repeats its lookup: Java at the latest every "
    "retry.backoff.max.ms with 20 % jitter, librdkafka every 1,000 ms.",
    source="retry.backoff.max.ms; KIP-580; librdkafka rdkafka_cgrp.c (rd_kafka_cgrp_serve)",
    unit="ms",
    things="members without a coordinator",
    measures="between lookups at most",
    too_high="waited too long between two lookups",
    matters="The time between two lookups adds to the outage after a coordinator has failed.",
    protocols=CLASSIC,
    delayed_by=A_MEMBERS_WRITE,
)
def looks_again() -> str:
    """Gaps between one member's lookups while its coordinator is dead; both of its threads ask.

    The first counts from the death, at the latest when the kill was through: the connection breaks
    with it. A timer that is looked at late may be so at both ends of a gap. A gap in which another
    broker was gone too shows nothing: nobody could be asked, or have the question on record.
    """
    return """
        {LOOKUPS}{BEREFT}
        asked AS (
            SELECT b.fault, b.member, l.arrived_at AS at,
                   coalesce(lag(l.arrived_at) OVER (PARTITION BY b.fault, b.member
                                                    ORDER BY l.arrived_at),
                            least(b.gone_at, l.arrived_at)) AS from_at
            FROM bereft b JOIN lookups l
              ON l.member = b.member AND l.arrived_at > b.at AND l.arrived_at <= b.heartbeat_at
        ), longest AS (
            SELECT fault, member, count(*) AS lookups, :lookup_ms + 4 * :slack_ms AS high,
                   max(struct(ms_between(from_at, at) AS ms, at, from_at)) AS gap
            FROM asked a LEFT ANTI JOIN {fault_windows} w
              ON w.broker_gone AND w.fault <> a.fault AND w.injecting_at <= a.at
             AND coalesce(w.healed_at, :ended_at) >= a.from_at
            GROUP BY fault, member
        )
        SELECT concat(member, ' after ', fault) AS subject, gap.at, gap.ms AS measured,
               high AS bound_high, concat('longest gap of ', lookups, ' lookups') AS note,
               -- A machine that stood still can only have made it longer.
               CASE WHEN gap.ms > high THEN gap.from_at END AS guard_from, gap.at AS guard_to
        FROM longest
    """


@Rule(
    "R35",
    title="A heartbeat names its member and goes to the coordinator",
    statement="Each heartbeat carries the group, member id and generation, and goes to the broker "
    "that the member's last lookup named. A heartbeat of a removed member, or without a member "
    "id, is refused, and the member joins anew. A heartbeat of another generation than the "
    "group's is refused too.",
    source="document 004, sendHeartbeatRequest; GroupMetadataManager.classicGroupHeartbeat",
    unit="heartbeats",
    things="member ids per broker",
    measures="sent",
    matters="A removed member learns of its removal by its next heartbeat, and only then comes "
    "back.",
    needs=(Need.SESSION_END,),
    protocols=CLASSIC,
)
def heartbeats_are_addressed() -> str:
    """Heartbeats per member id and broker, and those of ids that are out, each by itself.

    librdkafka drops its id when its own session ends, or when it is told that its id is unknown
    (rd_kafka_cgrp_handle_Heartbeat), and a heartbeat that is due before it joins anew goes out
    without one: that waits until the application has been told that all is lost, which it can be
    only when it polls, or until a callback under way returns. A member that closes has no reason
    to join anew, and is not examined for it; nor does one have to that is about to go.

    A member asks several brokers at once, and one that is cut off from its peers names itself.

    Whoever may not ask about the group, or asks a broker that has not got it, is told nothing of
    its members. A heartbeat can be handled at any moment from its arrival until its answer is
    ready. Of a group that changed its protocol, or its coordinator before anybody had a part of
    its generation, generations are compared again from its next. A broker that is just loading the
    group accepts every heartbeat, whatever it names.
    """
    return """
        {LOOKUPS}
        heartbeats AS (SELECT * FROM {own_requests} WHERE api = 'HEARTBEAT'),
        drops AS (
            SELECT member, event_at AS at FROM {client_events} WHERE event = 'session_timed_out'
            UNION ALL
            SELECT member, arrived_at FROM {own_requests}
            WHERE api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND error_code = :UNKNOWN_MEMBER_ID
              AND member_id IS NOT NULL
        ), dropped AS (
            SELECT h.member, h.arrived_at, max(e.at) AS removed_at
            FROM heartbeats h JOIN drops e
              ON e.member = h.member AND e.at <= after(:rounding_ms, h.arrived_at)
            LEFT ANTI JOIN {requests} j
              ON j.client_id = h.member AND j.api = 'JOIN_GROUP'
             AND j.arrived_at >= e.at AND j.arrived_at <= h.arrived_at
            WHERE h.member_id IS NULL GROUP BY h.member, h.arrived_at
        ), {STANDS}, stale AS (
            -- Accepted, or told to join again, in a generation that the group did not have.
            SELECT h.member, h.member_id, h.broker, count(*) AS times,
                   min(struct(h.arrived_at, h.generation, s.stands)) AS first
            FROM heartbeats h JOIN stands s
              ON s.broker = h.broker AND s.at <= after(-:slack_ms, h.arrived_at)
             AND (s.until IS NULL OR s.until > after(-:slack_ms, h.arrived_at))
            WHERE h.error_code IN (:NONE, :REBALANCE_IN_PROGRESS) AND h.generation <> s.stands
              AND (s.until IS NULL OR s.until > after(:slack_ms, h.processed_at))
            GROUP BY h.member, h.member_id, h.broker
        ), beats AS (
            SELECT h.member, h.member_id, h.generation, h.broker, h.arrived_at, h.error_code,
                   h.evidence, coalesce(r.removed_at, d.removed_at) AS removed_at,
                   d.removed_at IS NOT NULL AS dropped,
                   coalesce(r.removed_by = 'replaced', false) AS replaced
            FROM heartbeats h LEFT JOIN {memberships} r ON r.member_id = h.member_id
            LEFT JOIN dropped d ON same(d, h, member, arrived_at)
        ), named AS (
            SELECT member, member_id, broker, min(arrived_at) AS heartbeat_at,
                   count(*) AS heartbeats,
                   count_if(member_id IS NULL OR coalesce(generation, -1) < 0) AS nameless,
                   min_by(evidence, struct(arrived_at, evidence)) AS evidence
            FROM beats WHERE NOT dropped GROUP BY member, member_id, broker
        ), led AS (
            SELECT b.*, {LAST_LOOKUP}
            FROM named b LEFT JOIN lookups l
              ON l.member = b.member AND l.error_code = :NONE
             AND l.arrived_at <= after(:slack_ms, b.heartbeat_at)
            GROUP BY ALL
        ), goings AS (
            SELECT member, event_at AS at FROM {client_events} WHERE event = 'closing'
            UNION ALL
            SELECT resolved, injecting_at FROM {fault_windows} WHERE ends_member
        ), late AS (
            SELECT b.member, b.member_id, b.arrived_at AS at, b.error_code, b.evidence, b.replaced,
                   min(j.arrived_at) AS joined_at, count(g.at) > 0 AS gone
            FROM beats b LEFT JOIN goings g
              ON g.member = b.member AND g.at > b.arrived_at
             AND g.at <= after(:session_ms, b.arrived_at)
            LEFT JOIN {requests} j
              ON j.client_id = b.member AND j.api = 'JOIN_GROUP' AND j.arrived_at > b.arrived_at
            LEFT ANTI JOIN {client_events} c
              ON c.member = b.member AND c.event = 'closing' AND c.event_at <= b.arrived_at
            LEFT ANTI JOIN {tenures} t
              ON t.loaded AND t.broker = b.broker AND b.error_code = :NONE
             AND b.arrived_at > after(-:slack_ms, t.to_at_before)
             AND b.arrived_at <= after(:slack_ms, t.from_at)
            WHERE (b.dropped OR b.arrived_at > b.removed_at) AND b.error_code NOT IN (
                :COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR,
                :GROUP_AUTHORIZATION_FAILED)
              -- A line is stamped late: one that was accepted may have come just before.
              AND NOT (b.error_code IN (:NONE, :REBALANCE_IN_PROGRESS) AND NOT b.dropped
                       AND b.arrived_at <= after(:slack_ms, b.removed_at))
            GROUP BY ALL
        )
        SELECT concat(l.member, ' at broker-', l.broker) AS subject, l.heartbeat_at AS at,
               l.heartbeats AS measured,
               CASE WHEN nameless > 0 THEN clause(nameless, ' of its heartbeats name no member')
                    WHEN s.times > 0
                    THEN clause(s.times, ' of its heartbeats were accepted in generation ',
                                s.first.generation, ', when the group was in ', s.first.stands)
                    WHEN last.coordinator IS NULL AND named_at IS NULL
                    THEN 'had not asked for the coordinator'
                    WHEN NOT {WAS_NAMED}
                    THEN clause('its last lookup named broker-', last.coordinator) END AS wrong,
               CAST(NULL AS STRING) AS note, evidence
        FROM led l LEFT JOIN stale s ON same(s, l, member, broker) AND s.member_id <=> l.member_id
        UNION ALL
        SELECT concat(member, ' after it was removed'), at, 1,
               -- Whose place another process has taken is fenced for good.
               CASE WHEN error_code <> IF(replaced, :FENCED_INSTANCE_ID, :UNKNOWN_MEMBER_ID)
                    THEN concat('was answered with error ', error_code)
                    WHEN joined_at IS NULL AND NOT replaced AND NOT gone
                    THEN 'did not join anew' END,
               concat('joined anew ', CAST(round(ms_between(at, joined_at)) AS INT), ' ms later'),
               evidence
        FROM late
    """
