"""What a coordinator does while the offsets topic has too few replicas to be written to."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import THE_BROKERS, Rule

# When the offsets topic had too few replicas in sync to be written to, because a broker was gone.
UNWRITABLE: Final = """
    WITH unwritable AS (
        SELECT fault, injecting_at, after(:slack_ms, injected_at) AS from_at,
               coalesce(healing_at, :ended_at) AS to_at
        FROM {broker_faults}
        WHERE took_effect AND :brokers - 1 < :offsets_min_isr
    )
"""
# The same, and every request of the group with how long its answer took.
TIMED: Final = (
    UNWRITABLE
    + """,
    timed AS (
        SELECT *, concat(member, ' ', date_format(arrived_at, 'HH:mm:ss.SSS')) AS subject,
               ms_between(arrived_at, processed_at) AS ms FROM {own_requests}
    )
"""
)

# The same of all groups, those of probes too, from when it could already have failed until it would
# still do so before the broker is back: one that waits for that may be made after all. A JoinGroup
# that is answered by then has not waited for it.
CHANGES: Final = (
    UNWRITABLE
    + """,
    changes AS (
        SELECT r.*, u.from_at, u.to_at,
               concat(r.`group`, ' ', date_format(r.arrived_at, 'HH:mm:ss.SSS')) AS subject,
               ms_between(r.arrived_at, r.processed_at) AS ms,
               IF(r.error_code IS NULL, 'was answered without an error code', NULL) AS unknown
        FROM {requests} r JOIN unwritable u
          ON r.arrived_at >= IF(r.error_code = :NONE, u.from_at, u.injecting_at)
         AND (after(:commit_timeout_ms, r.arrived_at) <= u.to_at
              OR r.api = 'JOIN_GROUP' AND r.processed_at <= u.to_at)
    )
"""
)


@Rule(
    "X28",
    title="Without enough in-sync replicas commits fail in time",
    statement="No commit is accepted while the offsets topic has too few in-sync replicas, and "
    "each commit is answered within offsets.commit.timeout.ms.",
    source="offsets.commit.timeout.ms; min.insync.replicas",
    unit="ms",
    things="commits",
    measures="to the refusal",
    too_high="was refused too late",
    matters="A commit that does not fail in time holds up its consumer.",
    broker=True,
    delayed_by=THE_BROKERS,
)
def commits_fail() -> str:
    """Commits made while the replicas were too few, and those refused that came as a broker died.

    One that was accepted in that moment may have come before, so it is not examined. An answer that
    times out has been through three queues, each of which may take the slack: the broker's, the
    coordinator's, and that again.
    """
    return """
        {TIMED}
        SELECT r.subject, r.arrived_at AS at, r.ms AS measured,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               IF(r.error_code = :NONE, 'was accepted', NULL) AS wrong,
               concat('failed with error ', r.error_code) AS note,
               r.evidence, r.arrived_at AS guard_from, r.processed_at AS guard_to
        FROM timed r JOIN unwritable u
          ON r.arrived_at <= u.to_at
         AND r.arrived_at >= IF(r.error_code = :NONE, u.from_at, u.injecting_at)
         -- A commit that waits while the broker comes back may be made after all.
         AND after(:commit_timeout_ms, r.arrived_at) <= u.to_at
        WHERE r.api = 'OFFSET_COMMIT'
    """


@Rule(
    "X28-alive",
    title="Heartbeats are accepted without enough in-sync replicas",
    statement="The coordinator goes on accepting heartbeats while no commit can be made.",
    source="Kafka documentation, Consumer Configs (heartbeat.interval.ms); GroupCoordinator, 3.9",
    unit="heartbeats",
    things="members",
    measures="refused",
    too_high="had heartbeats refused",
    matters="Members keep their partitions while the offsets topic cannot be written to.",
    broker=True,
    protocols=CLASSIC,
)
def heartbeats_go_on() -> str:
    """Heartbeats that were answered then; one that came just before waits as well."""
    return """
        {UNWRITABLE},
        answered AS (
            SELECT *, error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS) AS refused
            FROM {own_requests} WHERE api = 'HEARTBEAT' AND error_code IS NOT NULL
        )
        SELECT concat(r.member, ' while ', u.fault) AS subject, u.from_at AS at,
               count_if(r.refused) AS measured, 0 AS bound_high,
               concat(count(*), IF(count(*) = 1, ' heartbeat', ' heartbeats'), coalesce(concat(
                   ', the first refused with error ',
                   min_by(r.error_code, struct(r.arrived_at, r.evidence))
                       FILTER (WHERE r.refused)), '')) AS note
        FROM answered r JOIN unwritable u
          ON r.processed_at >= u.from_at AND r.arrived_at <= u.to_at
        GROUP BY r.member, u.fault, u.from_at
    """


@Rule(
    "X28-waits",
    title="A heartbeat waits for the writes before it",
    statement="A heartbeat is answered once everything written before it is replicated, or is "
    "refused with COORDINATOR_NOT_AVAILABLE (15) after offsets.commit.timeout.ms.",
    source="CoordinatorRuntime, append (Kafka 4); offsets.commit.timeout.ms",
    unit="ms",
    things="heartbeats",
    measures="to the answer",
    too_high="was answered too late",
    matters="A heartbeat that waits for a replica may cost a healthy member its session.",
    broker=True,
    since="4.0",
    protocols=CLASSIC,
    delayed_by=THE_BROKERS,
)
def heartbeats_wait() -> str:
    """Every heartbeat of that time, with the same allowance for queues as for commits."""
    return """
        {TIMED}
        SELECT r.subject, r.arrived_at AS at, r.ms AS measured,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               IF(r.error_code NOT IN (:NONE, :COORDINATOR_NOT_AVAILABLE, :REBALANCE_IN_PROGRESS),
                  clause('was answered with error ', r.error_code), NULL) AS wrong,
               IF(r.error_code IS NULL, 'was answered without an error code', NULL) AS unknown,
               IF(r.error_code <> :NONE, concat('answered with error ', r.error_code), NULL)
                   AS note,
               r.evidence, r.arrived_at AS guard_from, r.processed_at AS guard_to
        FROM timed r JOIN unwritable u
          ON r.arrived_at >= u.from_at AND r.arrived_at <= u.to_at
        WHERE r.api = 'HEARTBEAT'
    """


@Rule(
    "X28-members",
    title="Without enough in-sync replicas KIP-848 joins fail",
    statement="While the offsets topic has too few in-sync replicas, the join or leave of a "
    "KIP-848 member is refused with COORDINATOR_NOT_AVAILABLE (15) within "
    "offsets.commit.timeout.ms.",
    source="KIP-848, Persistence; CoordinatorRuntime, append (Kafka 4)",
    unit="ms",
    things="joins and leaves",
    measures="to the refusal",
    too_high="was refused too late",
    matters="A deploy stands still meanwhile: new members get no partitions, and the leave of old "
    "ones is not noticed.",
    broker=True,
    since="4.0",
    protocols=("consumer",),
    delayed_by=THE_BROKERS,
)
def members_are_records() -> str:
    """Heartbeats that join or leave, of whatever group; a leave of nobody changes nothing."""
    return """
        {CHANGES}
        SELECT concat(IF(generation = 0, 'join', 'leave'), ' of ', subject) AS subject,
               arrived_at AS at, ms AS measured,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               CASE WHEN error_code = :NONE THEN 'was accepted'
                    WHEN error_code <> :COORDINATOR_NOT_AVAILABLE
                    THEN clause('was answered with error ', error_code) END AS wrong,
               unknown, evidence, arrived_at AS guard_from, processed_at AS guard_to
        FROM changes
        WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND generation <= 0
          AND coalesce(error_code <> :UNKNOWN_MEMBER_ID, true)
    """


@Rule(
    "X28-joins",
    title="Without enough in-sync replicas a SyncGroup fails",
    statement="While the offsets topic has too few in-sync replicas, a JoinGroup that need not "
    "wait for others is answered. The leader's SyncGroup after it is refused with "
    "COORDINATOR_NOT_AVAILABLE (15) within offsets.commit.timeout.ms, before Kafka 4 also with "
    "REBALANCE_IN_PROGRESS (27).",
    source="GroupMetadataManager.completeClassicGroupJoin and classicGroupSyncToClassicGroup",
    unit="ms",
    things="JoinGroups and leaders' SyncGroups",
    measures="to the answer",
    too_high="was answered too late",
    matters="A rebalance ends without an assignment, and starts again until the replica is back.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=THE_BROKERS,
)
def joins_are_no_records() -> str:
    """JoinGroups that were answered before the time of a write was up, and SyncGroups that give.

    A SyncGroup that is refused at once came too late for its generation: it is not examined.
    """
    return """
        {CHANGES}
        SELECT concat(IF(api = 'JOIN_GROUP', 'JoinGroup', 'SyncGroup'), ' of ', subject) AS subject,
               arrived_at AS at, ms AS measured,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               CASE WHEN api = 'SYNC_GROUP' AND error_code = :NONE THEN 'was accepted'
                    WHEN api = 'SYNC_GROUP' AND error_code <> :COORDINATOR_NOT_AVAILABLE
                         AND NOT (:kafka_major < 4 AND error_code = :REBALANCE_IN_PROGRESS)
                      OR api = 'JOIN_GROUP' AND error_code NOT IN (:NONE, :MEMBER_ID_REQUIRED)
                    THEN clause('was answered with error ', error_code) END AS wrong,
               unknown, evidence, arrived_at AS guard_from, processed_at AS guard_to
        FROM changes
        WHERE api = 'JOIN_GROUP' AND ms < :commit_timeout_ms - :slack_ms
           OR api = 'SYNC_GROUP' AND size(assignments) > 0
              AND coalesce(ms >= :commit_timeout_ms - :slack_ms
                           OR error_code NOT IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                                                 :REBALANCE_IN_PROGRESS), true)
    """


@Rule(
    "X28-parked",
    title="A waiting JoinGroup fails with the write before it",
    statement="A JoinGroup that waits for other members is refused with COORDINATOR_NOT_AVAILABLE "
    "(15) after offsets.commit.timeout.ms, if an earlier write of its group lacks a replica.",
    source="GroupCoordinatorService.joinGroup; CoordinatorRuntime, append (Kafka 4)",
    unit="ms",
    things="JoinGroups that wait",
    measures="to the refusal",
    too_low="was refused too early",
    too_high="was refused too late",
    matters="The member has to ask again, and the rebalance may lose members that have joined "
    "already.",
    broker=True,
    since="4.0",
    protocols=CLASSIC,
    delayed_by=THE_BROKERS,
)
def joins_wait_no_longer() -> str:
    """JoinGroups that waited for as long as a write may take, after one that failed."""
    return """
        {CHANGES}
        SELECT concat('JoinGroup of ', subject) AS subject, arrived_at AS at, ms AS measured,
               :commit_timeout_ms - :slack_ms AS bound_low,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               IF(error_code <> :COORDINATOR_NOT_AVAILABLE,
                  clause('was answered with error ', error_code), NULL) AS wrong,
               unknown, evidence, arrived_at AS guard_from, processed_at AS guard_to
        FROM changes r LEFT SEMI JOIN changes w
          ON w.`group` = r.`group` AND w.api IN ('SYNC_GROUP', 'OFFSET_COMMIT')
         AND w.error_code = :COORDINATOR_NOT_AVAILABLE AND w.arrived_at < r.arrived_at
        WHERE r.api = 'JOIN_GROUP' AND r.ms >= :commit_timeout_ms - :slack_ms
    """


@Rule(
    "R31-append",
    title="A failed commit is not visible",
    statement="The coordinator returns the position that was accepted last while commits fail "
    "because they cannot be replicated.",
    source="document 003, OFFSET_COMMIT (visible only after the append)",
    unit="records",
    things="partitions",
    measures="from the position accepted last",
    too_high="was answered with another position than the one accepted last",
    matters="A position from a failed commit would make the next owner skip records.",
    broker=True,
)
def old_value_served() -> str:
    """Positions fetched while no commit could be made: the last accepted, and never another."""
    return """
        {UNWRITABLE},
        moments AS (
            SELECT topic, partition, at, committed AS known, CAST(NULL AS BIGINT) AS given,
                   NULL AS evidence
            FROM {accepted}
            UNION ALL
            SELECT topic, partition, arrived_at, NULL, committed, evidence FROM {positions}
            WHERE api = 'OFFSET_FETCH' AND coalesce(request_error_code, 0) = 0 AND error_code = 0
              AND topic = :topic
        ), ordered AS (
            SELECT *, coalesce(last_value(known, true) OVER (
                          PARTITION BY topic, partition ORDER BY at, given, known
                          {SO_FAR}), -1) AS expected
            FROM moments
        ), served AS (
            SELECT o.topic, o.partition, u.fault, u.from_at, u.to_at, count(*) AS answers,
                   max(abs(o.given - o.expected)) AS off_by,
                   min_by(struct(o.given, o.expected, o.evidence), struct(o.at, o.evidence))
                       FILTER (WHERE o.given <> o.expected) AS wrong
            FROM ordered o JOIN unwritable u ON o.at >= u.from_at AND o.at <= u.to_at
            WHERE o.given IS NOT NULL
            GROUP BY o.topic, o.partition, u.fault, u.from_at, u.to_at
        )
        SELECT concat(s.topic, '-', s.partition, ' while ', s.fault) AS subject, s.from_at AS at,
               s.off_by AS measured, 0 AS bound_high,
               concat(s.answers, ' answers, ', count(*), ' failed commits',
                      coalesce(concat(', the first wrong one ', s.wrong.given, ' where ',
                                      s.wrong.expected, ' was committed'), '')) AS note,
               s.wrong.evidence AS evidence
        FROM served s JOIN {commits_judged} f
          ON same(f, s, topic, partition) AND f.error_code <> :NONE
         AND f.at >= s.from_at AND f.at <= s.to_at
        GROUP BY s.topic, s.partition, s.fault, s.from_at, s.answers, s.off_by, s.wrong
    """


# Fetches of a scripted group after a commit of that partition that failed, none of it was accepted
# since, and the log can be written to again, as another partition's commit shows.
AFTERWARDS: Final = """
    WITH failed AS (
        SELECT `group`, topic, partition, wanted, answered_at, step
        FROM {probe_positions}
        -- 3.9 tells a time-out as such (7), Kafka 4 as 15.
        WHERE api = 'OFFSET_COMMIT'
          AND error_code IN (:COORDINATOR_NOT_AVAILABLE, :REQUEST_TIMED_OUT)
    ), written AS (
        SELECT f.`group`, f.topic, f.partition, f.wanted, f.answered_at, f.step,
               min(p.at) AS again_at
        FROM failed f JOIN {probe_positions} p
          ON same(p, f, `group`, topic) AND p.partition <> f.partition
         AND p.api = 'OFFSET_COMMIT' AND p.error_code = :NONE AND p.sent_at >= f.answered_at
        GROUP BY ALL
    ), afterwards AS (
        SELECT w.`group`, w.topic, w.partition, w.wanted AS failed, g.sent_at, g.committed,
               g.wanted AS accepted,
               concat(w.topic, '-', w.partition, ' after ', w.step, ' (', w.`group`, ')')
                   AS subject,
               concat('the commit of ', w.wanted, ' failed, ', g.wanted,
                      ' was accepted before; told ', g.committed) AS note
        FROM written w JOIN {probe_fetches} g ON same(g, w, `group`, topic, partition)
         AND g.sent_at >= w.again_at AND g.error_code = :NONE
        -- Nothing was committed there since.
        LEFT ANTI JOIN {probe_positions} n ON same(n, w, `group`, topic, partition)
         AND n.sent_at >= w.answered_at AND n.sent_at <= g.answered_at
    )
"""


@Rule(
    "R31-withdrawn",
    title="A failed commit is withdrawn",
    statement="The position is the one that was accepted before the failed commit, once the log "
    "can be written to again.",
    source="document 003, OFFSET_COMMIT (a failed append); GroupMetadataManager, 3.9",
    unit="records",
    things="positions requested after a failed commit",
    measures="from the position accepted last",
    too_low="was answered with an earlier position",
    too_high="was answered with the position of the failed commit",
    matters="An application that is told of a failed commit may rely on it, and process the "
    "records again.",
    broker=True,
)
def withdrawn() -> str:
    return """
        {AFTERWARDS}
        SELECT subject, sent_at AS at, committed - accepted AS measured, 0 AS bound_low,
               0 AS bound_high, note
        FROM afterwards
    """


@Rule(
    "R31-made",
    title="A failed commit may take effect after all",
    statement="A commit that timed out because a replica was missing stays in the log, and takes "
    "effect when the replica is back.",
    source="CoordinatorRuntime (Kafka 4): what is appended is not taken back at its time-out",
    unit="records",
    things="positions requested after a failed commit",
    measures="from the position of the failed commit",
    too_low="was answered with an earlier position",
    too_high="was answered with a later position",
    matters="A commit that was reported as failed can still move the position.",
    broker=True,
    since="4.0",
)
def made_after_all() -> str:
    return """
        {AFTERWARDS}
        SELECT subject, sent_at AS at, committed - failed AS measured, 0 AS bound_low,
               0 AS bound_high, note
        FROM afterwards
    """
