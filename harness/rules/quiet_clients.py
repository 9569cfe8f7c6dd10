"""That clients look for nothing and report nothing while nothing is broken."""

from typing import Final

from harness.rules.rule import A_MEMBERS_WRITE, Rule

# Within 10 s a client without any coordinator asks as often as its backoff lets it: Java after
# 100, 200, 400 and 800 ms and then each second (KIP-580), librdkafka each second and once for each
# broker that it connects to (rd_kafka_cgrp_serve). In steady quiet time the kept runs have no more
# than three: those of a member that joins.
LOOKUPS: Final = 15
# A question for a position that is refused comes again every 500 ms in librdkafka
# (rd_kafka_toppar_offset_request), and in Java twice in each poll, whose backoff begins anew each
# time (ConsumerCoordinator.fetchCommittedOffsets). Only an open transaction refuses it for long. In
# 330 stored runs no member asked more than four times within 10 s, with faults, nor when a group of
# 200 formed.
QUESTIONS: Final = 20
# What consumers ask once the group is well, but in faults of their own or of brokers and links.
# It follows on a table or query named r, with a member and arrived_at; conditions go on with AND.
# Nobody knows how often a client of somebody else's asks.
QUIET: Final = """
    LEFT SEMI JOIN {members} m ON m.member = r.member AND m.role = 'consumer'
    LEFT ANTI JOIN {fault_windows} f
      ON (f.breaks <> 'member' OR f.resolved = r.member)
     AND f.injecting_at <= r.arrived_at
     AND after(:session_ms + :lookup_ms, coalesce(f.healed_at, f.injected_at, :ended_at))
         >= r.arrived_at
    WHERE r.arrived_at BETWEEN :steady_at AND :stopped_at
"""
TEN_SECONDS: Final = "RANGE BETWEEN INTERVAL '9.999999' SECOND PRECEDING AND CURRENT ROW"
# Brokers end connections over which nothing came for so long (connections.max.idle.ms).
IDLE_MS: Final = 600_000


@Rule(
    "X91",
    title="A member that knows its coordinator does not look for it",
    statement="While nothing is broken, a member does not look its coordinator up more often than "
    "its backoff would let it if there were none: 15 times in 10 s.",
    source="KIP-580; AbstractCoordinator.ensureCoordinatorReady; librdkafka rdkafka_cgrp.c "
    "(rd_kafka_cgrp_serve)",
    unit="lookups",
    things="members",
    measures="within 10 s at most",
    too_high="looked its coordinator up again and again, though nothing was broken",
    matters="Lookups without an end load every broker, and hide that the member does no work.",
    clients=("librdkafka", "java"),
    in_passing=True,
)
def no_storm_of_lookups() -> str:
    """Lookups of each member in quiet time."""
    return """
        WITH lookups AS (
            -- The observer looks the coordinator up five times a second: that is not compared.
            SELECT r.member, r.arrived_at, r.evidence
            FROM {own_requests} r {QUIET} AND r.api = 'FIND_COORDINATOR'
        ), counted AS (
            SELECT *, count(*) OVER (PARTITION BY member ORDER BY arrived_at {TEN_SECONDS}) AS times
            FROM lookups
        ), most AS (
            SELECT member, max(struct(times, arrived_at, evidence)) AS worst
            FROM counted GROUP BY member
        )
        SELECT concat(m.member, ' (lookups)') AS subject,
               coalesce(w.worst.arrived_at, m.started_at) AS at,
               coalesce(w.worst.times, 0) AS measured, :LOOKUPS AS bound_high,
               w.worst.evidence AS evidence
        FROM {members} m LEFT JOIN most w ON w.member = m.member
        WHERE m.role = 'consumer' AND m.started_at IS NOT NULL
    """


@Rule(
    "X98",
    title="A member does not ask for the same position again and again",
    statement="While nothing is broken, a member asks for a partition's committed position at "
    "most 20 times in 10 s, and as often at most for its first or last offset. What is refused "
    "because of an open transaction does not count.",
    source="KIP-580; OffsetFetch; ListOffsets; ConsumerCoordinator."
    "initWithCommittedOffsetsIfNeeded; librdkafka rdkafka_partition.c "
    "(rd_kafka_toppar_offset_request)",
    unit="questions",
    things="members",
    measures="for one partition within 10 s at most",
    too_high="asked for the same position again and again, though nothing was broken",
    matters="Such questions load the coordinator and the leaders, and the member reads nothing "
    "meanwhile.",
    clients=("librdkafka", "java"),
    in_passing=True,
)
def no_storm_of_questions() -> str:
    """Questions of each member in quiet time, for each partition."""
    return """
        WITH asked AS (
            SELECT coalesce(program, client_id) AS member, api, p.topic, p.partition, arrived_at,
                   evidence
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)
              AND coalesce(p.error_code <> :UNSTABLE_OFFSET_COMMIT, true)
        ), counted AS (
            SELECT r.member, r.topic, r.partition, r.arrived_at, r.evidence, count(*) OVER (
                       PARTITION BY r.member, r.api, r.topic, r.partition ORDER BY r.arrived_at
                       {TEN_SECONDS}) AS times
            FROM asked r {QUIET}
        ), most AS (
            SELECT member,
                   max(struct(times, arrived_at, topic, partition, evidence)) AS worst
            FROM counted GROUP BY member
        )
        SELECT concat(m.member, ' (positions)') AS subject,
               coalesce(w.worst.arrived_at, m.started_at) AS at,
               coalesce(w.worst.times, 0) AS measured, :QUESTIONS AS bound_high,
               concat(w.worst.topic, '-', w.worst.partition) AS note, w.worst.evidence AS evidence
        FROM {members} m LEFT JOIN most w ON w.member = m.member
        WHERE m.role = 'consumer' AND m.started_at IS NOT NULL
    """


@Rule(
    "X92",
    title="A client reports no error while nothing is broken",
    statement="While nothing is broken, no broker refuses it anything and its settings are in "
    "order, a client reports no error to its application.",
    source="librdkafka, error_cb; Consumer.poll; KafkaConsumer.poll",
    unit="errors",
    things="clients",
    measures="reported",
    too_high="reported errors though nothing was broken",
    matters="An application that is told of errors without a reason stops, or learns to overlook "
    "those that have one.",
    clients=("librdkafka", "java"),
    in_passing=True,
    compares_clocks=True,
    delayed_by=A_MEMBERS_WRITE,
)
def no_error_for_nothing() -> str:
    """Errors of each client in steady time, but for faults of its own or of brokers and links.

    One that was told to begin nowhere, or is to do something wrong, reports what it was made for.
    One that waits too long between two polls is examined by others. The last session of a run that
    was not ended in order shows nothing: what broke by itself may have ended it.
    """
    return """
        WITH clients AS (
            SELECT member, started_at FROM {members}
            WHERE started_at IS NOT NULL AND sabotage IS NULL
              AND coalesce(get_json_object(settings, "$['auto.offset.reset']"), '')
                  NOT IN ('none', 'error')
        ), reported AS (
            SELECT e.member, e.event_at, e.detail
            FROM {client_events} e LEFT ANTI JOIN {fault_windows} f
              ON (f.breaks <> 'member' OR f.resolved = e.member OR f.proof = 'fenced')
             AND f.injecting_at <= e.event_at
             AND after(:session_ms, coalesce(f.healed_at, f.injected_at, :ended_at))
                 >= e.event_at
            LEFT ANTI JOIN {own_requests} r
              ON r.member = e.member AND r.error_code NOT IN (
                     :NONE, :REBALANCE_IN_PROGRESS, :MEMBER_ID_REQUIRED)
             AND r.arrived_at <= after(:slack_ms, e.event_at)
             AND r.processed_at >= after(-:session_ms, e.event_at)
            WHERE e.event = 'error' AND e.event_at > :steady_at
              AND e.event_at < IF(:stopped_at < :ended_at, :stopped_at,
                                  after(-:session_ms, :ended_at))
              AND NOT contains(coalesce(e.detail, ''), '_MAX_POLL_EXCEEDED')
              -- Our own consumer notes that; the client reports nothing.
              AND NOT contains(coalesce(e.detail, ''), 'just given up')
              AND NOT (contains(coalesce(e.detail, ''), 'Disconnected')
                       AND e.event_at >= after(:IDLE_MS, :started_at))
        ), counted AS (
            SELECT member, count(*) AS times, min(struct(event_at, detail)) AS first
            FROM reported GROUP BY member
        )
        SELECT concat(c.member, ' (errors)') AS subject,
               coalesce(n.first.event_at, c.started_at) AS at,
               coalesce(n.times, 0) AS measured, 0 AS bound_high,
               IF(n.times > 0, clause('reported: ', n.first.detail), NULL) AS wrong,
               -- A client reports what does not answer it in time.
               after(-:session_ms, n.first.event_at) AS guard_from, n.first.event_at AS guard_to
        FROM clients c LEFT JOIN counted n ON n.member = c.member
    """
