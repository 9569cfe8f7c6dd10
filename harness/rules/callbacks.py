"""That what a member hears, and says of itself, follows on what it heard before."""

from typing import Final

from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# A member that woke up after its poll limit, in KIP-848 with Java, may be handed a partition that
# is left over from before, and never be told that it has lost it again (measured three times).
LEFT_OVER: Final = (
    "it is left over from before a stall in which the member was put out of the group"
)
# How long after it has woken up (measured: 23 ms).
HANDED_ON_MS: Final = 1_000
# When that may be: from the stall on, since what was handed on before it is left over as well.
WOKEN: Final = """woken AS (
            SELECT member, event_at AS from_at,
                   after(duration_ms + :HANDED_ON_MS, event_at) AS to_at
            FROM {client_events}
            WHERE :client = 'java' AND :protocol = 'consumer' AND event = 'stall_started'
              AND duration_ms > :max_poll_ms
        )"""


@Rule(
    "X50",
    title="Callbacks follow on each other",
    statement="A member is handed a partition only when it has not got it, and gives up, or "
    "loses, only what it was handed.",
    source="ConsumerRebalanceListener; KIP-429; librdkafka INTRODUCTION, Incremental assign",
    unit="partitions",
    things="members",
    measures="out of turn",
    matters="An application that opens a store for each partition it is handed, and closes it for "
    "each that it gives up, opens one twice or closes what it never had.",
    in_passing=True,
)
def callbacks_follow() -> str:
    """Each member's callbacks, per partition and in order; what is given up comes first.

    What comes at one moment is one rebalance: partitions are taken before others are handed over.
    A Java member of KIP-848 that closes gives up what it was about to be handed, too.
    """
    return """
        WITH {WOKEN}, ordered AS (
            SELECT member, event, event_at, at, topic, partition,
                   lag(event) OVER w AS event_before, lag(event_at) OVER w AS before_at
            FROM {callbacks} b
            LEFT ANTI JOIN (SELECT member, min(event_at) AS at FROM {client_events}
                            WHERE event = 'closing' GROUP BY member) c
              ON :client = 'java' AND :protocol = 'consumer' AND b.event = 'revoked'
             AND c.member = b.member AND c.at <= b.event_at
            WINDOW w AS (PARTITION BY member, topic, partition
                         ORDER BY event_at, IF(event = 'assigned', 1, 0))
        ), odd AS (
            SELECT o.member, o.event_at, o.topic, o.partition,
                   CASE WHEN o.at < o.event_at
                        THEN concat('heard before it was so that it was ', o.event, ' ')
                        WHEN o.event = 'assigned' AND o.event_before = 'assigned'
                        THEN 'was handed what it had already: '
                        WHEN o.event <> 'assigned' AND coalesce(o.event_before, '') <> 'assigned'
                        THEN concat(IF(o.event = 'lost', 'lost', 'gave up'),
                                    ' what it had not got: ') END AS odd,
                   count(w.from_at) > 0 AS left_over
            FROM ordered o LEFT JOIN woken w
              ON w.member = o.member AND w.to_at > o.before_at AND w.from_at < o.event_at
            GROUP BY o.member, o.event_at, o.at, o.topic, o.partition, o.event, o.event_before
        ), worst AS (
            SELECT member, min(event_at) AS at, count(*) AS callbacks,
                   count_if(odd IS NOT NULL) AS times,
                   count_if(odd IS NOT NULL AND NOT left_over) AS unexplained,
                   min(struct(event_at, topic, partition, odd))
                       FILTER (WHERE odd IS NOT NULL AND NOT left_over) AS first
            FROM odd GROUP BY member
        )
        SELECT concat(member, ' (callbacks)') AS subject, coalesce(first.event_at, at) AS at,
               times AS measured, 0 AS bound_high,
               IF(unexplained > 0, clause(first.odd, first.topic, '-', first.partition), NULL)
                   AS wrong,
               IF(times > 0 AND unexplained = 0, '{LEFT_OVER}', NULL) AS excused,
               concat(callbacks, ' partitions in its callbacks') AS note
        FROM worst
    """


@Rule(
    "X51",
    title="A member names the generation that it has",
    statement="In its callbacks, with each record and each commit, a member names a generation, "
    "or an epoch, that its coordinator has given it under that member id, and none from before "
    "its last assignment.",
    source="KIP-447, ConsumerGroupMetadata; ConsumerGroupMetadata.generationId",
    unit="generations",
    things="member ids",
    measures="that it had not",
    matters="Who writes positions to a transaction, or to a store of its own, fences former "
    "owners by this number; a wrong one lets them in, or shuts the owner out.",
    in_passing=True,
    compares_clocks=True,
)
def names_its_generation() -> str:
    """What a member id's callbacks, records and commits name, beside the answers to its requests.

    An answer's line is stamped late, so it counts from its request's arrival. A librdkafka that
    joins anew has its next member id already when it says that it lost what it had as the one
    before.
    """
    return """
        WITH given AS (
            SELECT member, member_id, generation, min(arrived_at) AS at FROM (
                SELECT member, member_id, generation, arrived_at FROM {joins}
                UNION ALL
                SELECT member, member_id, member_epoch, arrived_at FROM {consumer_heartbeats}
                WHERE error_code = :NONE AND member_epoch > 0
            ) GROUP BY member, member_id, generation
        ), named AS (
            SELECT member, member_id, generation, event_at AS at, event AS what,
                   event = 'assigned' AS anew
            FROM {client_events} WHERE event IN ('assigned', 'revoked', 'lost')
            UNION ALL
            SELECT member, member_id, generation, polled_at, 'record', false FROM {deliveries}
            UNION ALL
            SELECT member, member_id, generation, asked_at, 'commit', false FROM {commits}
            WHERE asked_at IS NOT NULL
        ), ordered AS (
            SELECT *, max(IF(anew, generation, NULL)) OVER (
                PARTITION BY member, member_id ORDER BY at, IF(anew, 0, 1) {SO_FAR}) AS has
            FROM named WHERE generation > 0
        ), times AS (
            SELECT member, member_id, generation, what, has, min(at) AS at, count(*) AS times
            FROM ordered GROUP BY member, member_id, generation, what, has
        ), known AS (
            SELECT t.member, t.member_id, t.generation, t.what, t.has, t.at, t.times,
                   min(g.at) AS given_at
            FROM times t LEFT JOIN given g ON same(g, t, member, generation)
             AND (g.member_id = t.member_id OR t.what IN ('revoked', 'lost'))
            GROUP BY t.member, t.member_id, t.generation, t.what, t.has, t.at, t.times
        ), judged AS (
            SELECT *,
                   CASE WHEN given_at IS NULL OR given_at > after(:STAMP_LATE_MS, at)
                        THEN 'that it was not given'
                        WHEN generation < has THEN 'from before its last assignment' END AS odd
            FROM known
        ), worst AS (
            SELECT member, member_id, min(at) AS at, sum(times) AS named,
                   coalesce(sum(times) FILTER (WHERE odd IS NOT NULL), 0) AS wrongly,
                   min(struct(at, what, generation, odd)) FILTER (WHERE odd IS NOT NULL) AS first
            FROM judged GROUP BY member, member_id
        )
        SELECT concat(member, ' (', member_id, ')') AS subject, coalesce(first.at, at) AS at,
               wrongly AS measured, 0 AS bound_high,
               IF(wrongly > 0, clause('named generation ', first.generation, ' with a ',
                                      first.what, ', one ', first.odd), NULL) AS wrong,
               concat(named, ' times that it named one') AS note
        FROM worst
    """


@Rule(
    "X74",
    title="A partition is lost only by a member that was out",
    statement="The callback for lost partitions comes only to a member that was refused as one "
    "that is out of the group, or that gave up by itself: its session, or its poll limit, was "
    "over, or its client had failed for good. Any other partition is revoked.",
    source="KIP-429, onPartitionsLost; librdkafka rdkafka_assignment.c",
    unit="callbacks",
    things="members that lost partitions",
    measures="without a reason",
    too_high="was told that partitions were lost, without a reason",
    matters="An application may not commit what it had of a lost partition, so it is repeated.",
    in_passing=True,
    compares_clocks=True,
)
def lost_by_those_who_were_out() -> str:
    """Callbacks for lost partitions, each with what its member heard since it was handed them.

    Which of several reasons made its client give up does not matter. A Java member that closes
    while it joins anew has no generation then, and loses what it has.
    """
    return """
        WITH lost AS (
            SELECT member, event_at, at, min(since_at) AS since_at
            FROM (SELECT l.member, l.event_at, l.at, max(a.event_at) AS since_at
                  FROM {callbacks} l LEFT JOIN {callbacks} a
                    ON same(a, l, member, topic, partition) AND a.event = 'assigned'
                   AND a.event_at < l.event_at
                  WHERE l.event = 'lost'
                  GROUP BY l.member, l.topic, l.partition, l.event_at, l.at)
            GROUP BY member, event_at, at
        ), reasons AS (
            SELECT member, processed_at AS at FROM {own_requests}
            WHERE error_code IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID,
                      :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH, :UNRELEASED_INSTANCE_ID,
                      :GROUP_AUTHORIZATION_FAILED)
            UNION ALL
            SELECT member, event_at FROM {client_events}
            WHERE event IN ('session_timed_out', 'max_poll_exceeded', 'error')
               OR event = 'closing' AND :client = 'java'
        ), judged AS (
            SELECT l.member, l.event_at, l.at, count(r.at) AS reasons
            FROM lost l LEFT JOIN reasons r
              ON r.member = l.member AND r.at <= after(:STAMP_LATE_MS, l.at)
             AND coalesce(r.at >= after(-:slack_ms, l.since_at), true)
            GROUP BY l.member, l.event_at, l.at
        )
        SELECT concat(member, ' (lost)') AS subject,
               coalesce(min(IF(reasons = 0, event_at, NULL)), min(event_at)) AS at,
               count_if(reasons = 0) AS measured, 0 AS bound_high,
               concat(count(*), ' callbacks for lost partitions') AS note
        FROM judged GROUP BY member
    """


@Rule(
    "X84",
    title="A member that is put out loses its partitions",
    statement="A member whose heartbeat is answered that it is out of the group loses all its "
    "partitions at once. Its application hears of them by the callback for lost partitions, and "
    "not by the one for revoked partitions.",
    source="ConsumerRebalanceListener.onPartitionsLost; rd_kafka_assignment_lost; KIP-429",
    unit="partitions",
    things="members that were told that they are out",
    measures="given up, or kept",
    too_high="gave up, or kept, partitions that it had lost",
    matters="An application commits what it has done in the callback for partitions that it gives "
    "up. After a loss the next owner has them already.",
    in_passing=True,
    compares_clocks=True,
)
def loses_what_it_held() -> str:
    """Heartbeats that were answered so, beside how the partitions held then were taken away.

    What a member gives up because it closes is none of that, nor what it gives up before the answer
    can have reached it. Whoever is handed records a session later, and has heard of no loss, has
    kept all.
    """
    return """
        WITH told AS (
            SELECT member, answered_at AS at, error_code, evidence FROM {own_requests}
            WHERE api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
              AND error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH)
        ), lost AS (
            -- When its application first heard that it has lost something; it has lost all then.
            SELECT t.member, t.at, min(c.at) AS at_once
            FROM told t JOIN {callbacks} c
              ON c.member = t.member AND c.event = 'lost' AND c.at >= t.at
            GROUP BY t.member, t.at
        ), closed AS (
            SELECT member, min(event_at) AS at FROM {client_events}
            WHERE event = 'closing' GROUP BY member
        ), held AS (
            SELECT t.member, t.at, t.error_code, t.evidence, o.topic, o.partition, o.from_at,
                   o.to_at, o.ended_by, l.at_once,
                   coalesce(c.at <= o.to_at, false) AS closing,
                   l.at_once IS NULL AND coalesce(max(d.polled_at) > after(:session_ms, t.at),
                                                  false) AS went_on
            FROM told t JOIN {ownership} o
              ON o.member = t.member AND o.from_at <= t.at
             AND (o.to_at IS NULL OR o.to_at > t.at)
            LEFT JOIN lost l ON same(l, t, member, at)
            LEFT JOIN closed c ON c.member = t.member
            LEFT JOIN {deliveries} d
              ON same(d, o, member, topic, partition)
             AND d.polled_at <= coalesce(o.to_at, :ended_at)
            GROUP BY ALL
        )
        SELECT concat(member, ' (put out)') AS subject, at,
               count_if(went_on OR ended_by = 'revoked' AND to_at > after(:rounding_ms, at)
                        OR to_at > after(:slack_ms, at_once)) AS measured, 0 AS bound_high,
               concat('told by error ', error_code, '; held ', count(*), ' partitions') AS note,
               evidence
        FROM held WHERE went_on OR to_at IS NOT NULL AND NOT closing
        GROUP BY member, at, error_code, evidence
    """


@Rule(
    "X88",
    title="A member gives up its partitions before it leaves",
    statement="A member that closes hears in its callback of every partition that it has, before "
    "it leaves the group. So does a member of an eager group before it joins again, and any other "
    "before it joins anew, as a member that the coordinator does not know yet.",
    source="KafkaConsumer.close; ConsumerCoordinator.onLeavePrepare; rd_kafka_consumer_close",
    unit="partitions",
    things="members that closed or joined again",
    measures="kept",
    too_high="left, or joined again, with partitions that it had not given up",
    matters="The callback is where an application commits what it has done: after it has left, the "
    "next owner may have begun to read.",
    in_passing=True,
    compares_clocks=True,
)
def gives_up_before_it_leaves() -> str:
    """What each member held when it began to close, beside its leave, and when it joined again."""
    return """
        WITH closings AS (
            SELECT e.member, min(e.event_at) AS at FROM {client_events} e JOIN {members} m
              ON m.member = e.member AND m.`end` = 'closed'
            WHERE e.event = 'closing' GROUP BY e.member
        ), leaves AS (
            SELECT c.member, c.at, min(r.arrived_at) AS left_at,
                   min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
            FROM closings c LEFT JOIN {own_requests} r
              ON r.member = c.member AND r.arrived_at >= c.at
             AND (r.api = 'LEAVE_GROUP'
                  OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
            GROUP BY c.member, c.at
        )
        SELECT concat(l.member, ' (close)') AS subject, l.at,
               count_if(o.ended_by = 'closed' OR o.to_at > after(:slack_ms, l.left_at))
                   AS measured, 0 AS bound_high,
               concat('had ', count(*), ' partitions') AS note, l.evidence
        FROM leaves l JOIN {ownership} o
          ON o.member = l.member AND o.from_at <= l.at AND o.to_at >= l.at
         -- What is left over from a membership that ended is not given up any more.
         AND coalesce(o.removed_at > l.at, true)
        GROUP BY l.member, l.at, l.evidence
        UNION ALL
        SELECT concat(j.member, ' (joins)'), min(j.arrived_at), count(o.from_at), 0,
               concat(count(DISTINCT j.arrived_at), ' joins'),
               min(IF(o.from_at IS NULL, NULL, j.evidence))
        FROM (SELECT member, member_id, arrived_at, evidence FROM {joins}
              UNION ALL
              SELECT member, NULL, arrived_at, evidence FROM {consumer_heartbeats}
              WHERE generation = 0) j
        LEFT JOIN {ownership} o
          ON o.member = j.member AND o.from_at < after(-:STAMP_LATE_MS, j.arrived_at)
         AND o.to_at > after(:slack_ms, j.arrived_at)
         -- A cooperative member that joins again as the one that it was keeps what it has.
         AND (:protocol <> 'cooperative' OR o.member_id <> j.member_id)
        GROUP BY j.member
    """
