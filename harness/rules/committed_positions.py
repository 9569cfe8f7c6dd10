"""Committed positions: what a coordinator answers when asked for them, and how long they last."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import THE_BROKERS, Rule

# Errors with which a coordinator refuses a commit for good. After any other, the time-outs of the
# append above all, it may still take effect: GroupMetadata and OffsetMetadataManager, 4.3.
REFUSED: Final = """(:OFFSET_METADATA_TOO_LARGE, :ILLEGAL_GENERATION, :INVALID_GROUP_ID,
    :UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS, :INVALID_COMMIT_OFFSET_SIZE,
    :GROUP_AUTHORIZATION_FAILED, :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
"""
# How far the high watermark of a new leader may be behind. A follower has it with its next fetch,
# which waits for 500 ms at most (replica.fetch.wait.max.ms). A broker that starts has the one that
# it wrote down last, every 5 s (replica.high.watermark.checkpoint.interval.ms).
WATERMARK_BEHIND_MS: Final = 5_500


@Rule(
    "R30",
    title="A coordinator returns the position that was committed last",
    statement="Every coordinator that the group has had returns the position that was committed "
    "last. Only a coordinator that has not written a commit of its own yet may return an older "
    "one, of 5.5 s before its predecessor's last commit at most.",
    source="document 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets",
    unit="records",
    things="partitions",
    measures="behind the commit",
    too_high="was answered with an older position than the one committed last",
    matters="An older position makes its reader repeat records; a newer one makes it skip some.",
    broker=True,
    always=True,
)
def read_your_commit() -> str:
    """Every position that a coordinator answered, whoever asked, against the commits before.

    It must be the last one whose committer had its answer, or a later one: asked for by then and
    not refused (a commit that timed out may have been made). A deletion is a commit of nothing.
    Transactional commits take effect with their transaction, so they count among the later ones
    only; automatic ones that were in flight when their broker died are on nobody's record, and
    cover no more than had been delivered by then. Answers are stamped when they are logged, so two
    within slack of each other may have come in the other order.

    Positions expire at the earliest a retention after the last commit, those of a group that has
    had members once it was empty for as long (ClassicGroup.offsetExpirationCondition). When a group
    of KIP-848 is empty no coordinator logs.

    A broker that has just loaded the group answers with what was replicated everywhere by then, and
    learns what came since only when it writes something itself (CoordinatorRuntime).
    """
    return """
        WITH asked AS (
            SELECT api, topic, partition, committed, error_code, arrived_at, answered_at
            FROM {positions} WHERE api IN ('OFFSET_COMMIT', 'OFFSET_DELETE', 'TXN_OFFSET_COMMIT')
            UNION ALL
            -- One that was sent again, to another coordinator, was asked for before that.
            SELECT 'client', topic, partition, committed, coalesce(error_code, -1), asked_at,
                   IF(error_code = :NONE, answered_at, NULL)
            FROM {commits} WHERE asked_at IS NOT NULL AND how <> 'external'
        ), possible AS (
            SELECT topic, partition, committed, min(arrived_at) AS first_asked_at,
                   max(coalesce(answered_at, :ended_at)) AS open_to,
                   max(coalesce(followed_at, :ended_at)) AS followed_at
            FROM (SELECT *, min(IF(error_code = :NONE AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE'),
                                   answered_at, NULL))
                            OVER (PARTITION BY topic, partition
                                  ORDER BY arrived_at DESC, answered_at DESC, committed DESC
                                  {BEFORE})
                                AS followed_at
                  FROM asked WHERE error_code NOT IN {REFUSED})
            GROUP BY topic, partition, committed
        ), moments AS (
            SELECT topic, partition, arrived_at AS at, NULL AS since, NULL AS known,
                   committed AS given, processed_at AS given_at, member, broker, evidence
            FROM {positions}
            WHERE api = 'OFFSET_FETCH' AND coalesce(request_error_code, 0) = 0 AND error_code = 0
              AND topic = :topic
            UNION ALL
            SELECT topic, partition, after(:slack_ms, answered_at), arrived_at, committed,
                   NULL, NULL, NULL, NULL, NULL
            FROM asked WHERE error_code = :NONE AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE')
        ), ordered AS (
            SELECT *, coalesce(last_value(known, true) OVER before, -1) AS expected,
                   last_value(since, true) OVER before AS expected_since
            FROM moments
            WINDOW before AS (PARTITION BY topic, partition ORDER BY at, since NULLS LAST, known
                              {SO_FAR})
        ), taken_over AS (
            SELECT t.broker, t.from_at,
                   coalesce(min(IF(r.broker = t.broker AND r.arrived_at >= t.from_at,
                                   r.answered_at, NULL)), :ended_at) AS to_at,
                   max(IF(r.arrived_at < t.from_at, r.answered_at, NULL)) AS last_at
            FROM {tenures} t LEFT JOIN {own_requests} r
              ON r.api = 'OFFSET_COMMIT' AND r.error_code = :NONE
            WHERE t.loaded GROUP BY t.broker, t.from_at
        ), formed AS (
            SELECT min(at) AS formed_at FROM {coordinator_events}
            WHERE `group` = :group AND event = 'stabilized'
        ), vacant AS (
            SELECT e.at AS from_at, min(s.at) AS to_at
            FROM {coordinator_events} e LEFT JOIN {coordinator_events} s
              ON s.`group` = :group AND s.event = 'stabilized' AND s.at > e.at
            WHERE e.`group` = :group AND e.event = 'emptied' GROUP BY e.at
        ), placed AS (
            SELECT o.* EXCEPT (since, known), count(n.from_at) > 0 AS fresh,
                   min(n.last_at) AS last_at, count(m.from_at) > 0 AS emptied
            FROM ordered o LEFT JOIN taken_over n
              ON n.broker = o.broker AND n.from_at <= o.given_at
             AND o.at <= after(:slack_ms, n.to_at)
            LEFT JOIN vacant m
              ON m.from_at <= o.at  -- `least` passes over a null
             AND least(m.to_at, o.at) >= after(:retention_ms - :slack_ms, m.from_at)
            WHERE o.given IS NOT NULL GROUP BY ALL
        ), possibly_lost AS (
            SELECT o.topic, o.partition, o.at, o.given
            FROM placed o
            JOIN {broker_faults} f ON f.injecting_at <= greatest(o.at, o.given_at)
             AND coalesce(f.healed_at >= o.expected_since, true)
            JOIN {deliveries} d ON same(d, o, topic, partition) AND d.last_offset + 1 >= o.given
             AND d.polled_at <= greatest(o.at, o.given_at)
            WHERE o.given > o.expected AND :commit = 'auto'
            GROUP BY o.topic, o.partition, o.at, o.given
        ), judged AS (
            SELECT o.*, coalesce(o.fresh AND p.first_asked_at <= o.given_at
                                 AND coalesce(p.followed_at
                                              >= after(-:WATERMARK_BEHIND_MS, o.last_at), true),
                                 false) AS stale,
                   o.given = o.expected OR stale
                   OR coalesce(p.first_asked_at <= after(:slack_ms, o.given_at)
                               AND (o.expected_since IS NULL OR p.open_to >= o.expected_since),
                               false)
                   OR l.given IS NOT NULL
                   OR o.given = -1
                      AND (o.emptied OR :protocol = 'consumer'
                           OR coalesce(formed_at >= after(:retention_ms, o.expected_since),
                                       true))
                      AND coalesce(ms_between(o.expected_since, o.at) >= :retention_ms, false)
                      AS fits,
                   IF(fits, 0, greatest(0, o.expected - o.given)) AS behind
            FROM placed o CROSS JOIN formed LEFT JOIN possible p
              ON same(p, o, topic, partition) AND p.committed = o.given
            LEFT JOIN possibly_lost l ON same(l, o, topic, partition, at, given)
        ), summed AS (
            SELECT topic, partition, max(behind) AS behind, count(*) AS answers,
                   count_if(stale AND given < expected) AS older,
                   min(IF(fits, NULL, at)) AS at,
                   min_by(concat('broker-', broker, ' answered ', coalesce(member, 'a client'),
                                 ' with ', given, ' where ',
                                 coalesce(string(nullif(expected, -1)), 'nothing'),
                                 ' was committed'), struct(at, evidence))
                       FILTER (WHERE NOT fits) AS misfit,
                   min_by(evidence, struct(at, evidence)) FILTER (WHERE NOT fits) AS evidence
            FROM judged GROUP BY topic, partition
        )
        SELECT concat(topic, '-', partition) AS subject, at, behind AS measured, 0 AS bound_high,
               CASE WHEN behind = 0 AND misfit IS NOT NULL
                    THEN clause('was answered with what nobody had committed: ', misfit) END
                   AS wrong,
               coalesce(misfit, concat(answers, ' answers', IF(older > 0, concat(', ', older,
                   ' older by a coordinator that had just loaded the group'), ''))) AS note,
               evidence
        FROM summed
    """


@Rule(
    "X17",
    title="The committed positions of an empty group expire",
    statement="A group's committed positions are kept for offsets.retention.minutes after it "
    "became empty, and removed at the next check after that.",
    source="offsets.retention.minutes; offsets.retention.check.interval.ms",
    unit="ms",
    things="partitions",
    measures="after the group was empty",
    too_low="lost its position too early",
    too_high="kept its position too long",
    matters="A group that pauses for longer repeats or skips records when it comes back.",
    broker=True,
    protocols=CLASSIC,  # whose coordinators log when a group is empty
    delayed_by=THE_BROKERS,
)
def expires() -> str:
    """Partitions of a group that became empty for good, and the first answer without a position.

    The observer asks a few times a second, so a position went between the last answer that had it
    and the first that did not: it is late only if both came late.
    """
    return """
        WITH emptied AS (
            SELECT at FROM {coordinator_events} e
            WHERE `group` = :group AND event = 'emptied'
              AND NOT EXISTS (SELECT 1 FROM {coordinator_events} s
                              WHERE s.`group` = :group AND s.event = 'stabilized'
                                AND s.at BETWEEN e.at AND after(:retention_ms, e.at))
        ), answered AS (
            SELECT topic, partition, e.at AS emptied_at, committed, processed_at,
                   ms_between(e.at, processed_at) AS ms,
                   min(IF(committed < 0, ms_between(e.at, processed_at), NULL))
                       OVER (PARTITION BY topic, partition, e.at) AS none_ms
            FROM emptied e JOIN {positions} p ON p.arrived_at >= e.at
            WHERE api = 'OFFSET_FETCH' AND coalesce(request_error_code, 0) = 0 AND error_code = 0
        ), seen AS (
            SELECT topic, partition, emptied_at, none_ms,
                   min(IF(committed < 0, processed_at, NULL)) AS none_at,
                   max(IF(committed >= 0 AND (none_ms IS NULL OR ms < none_ms), ms, NULL))
                       AS some_ms
            FROM answered GROUP BY topic, partition, emptied_at, none_ms
            HAVING none_ms IS NOT NULL OR max(ms) >= :retention_ms
        ), judged AS (
            SELECT *, :retention_ms + :retention_check_ms + :slack_ms AS latest_ms,
                   concat(CAST(round(some_ms) AS BIGINT), ' ms after the group was empty') AS later
            FROM seen WHERE some_ms IS NOT NULL
        )
        SELECT concat(topic, '-', partition) AS subject, coalesce(none_at, emptied_at) AS at,
               none_ms AS measured, :retention_ms AS bound_low, latest_ms AS bound_high,
               IF(none_ms IS NULL AND some_ms > latest_ms,
                  clause('still had its position ', later), NULL) AS wrong,
               IF(none_ms IS NULL AND some_ms <= latest_ms,
                  clause('had its position when last asked for, ', later), NULL) AS unknown,
               IF(none_ms >= :retention_ms AND some_ms <= latest_ms,
                  clause('was next asked for too late to tell, after it had its position ', later),
                  NULL) AS excused,
               concat('last had its position ', later) AS note,
               guard_from(after(:retention_ms, emptied_at), none_at) AS guard_from,
               none_at AS guard_to
        FROM judged
    """


@Rule(
    "X82",
    title="An OffsetFetch leaves no partition out",
    statement="An OffsetFetch is answered for every partition that it names, with a position, or "
    "with -1 where there is none.",
    source="document 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets",
    unit="answers",
    things="partitions",
    measures="without it",
    too_high="was left out of answers",
    matters="A client that is told nothing of a partition starts to read it wherever its reset "
    "policy says.",
    broker=True,
    in_passing=True,
)
def leaves_nothing_out() -> str:
    """What the observer was answered, which asks for all partitions of the topic, or for one.

    A partition with an error is left out.
    """
    return """
        WITH answers AS (
            SELECT arrived_at, evidence,
                   transform(positions, p -> IF(p.error_code = 0,
                       concat(p.topic, '-', p.partition), '')) AS names
            FROM {own_requests}
            WHERE api = 'OFFSET_FETCH' AND member = 'observer' AND error_code = :NONE
              AND size(positions) > 1
        ), named AS (
            SELECT concat(topic, '-', partition) AS name, min(answered_at) AS at
            FROM {positions} WHERE api = 'OFFSET_FETCH' AND member = 'observer'
            GROUP BY topic, partition
        ), compared AS (
            SELECT n.name, a.arrived_at, a.evidence, NOT array_contains(a.names, n.name) AS lacking
            FROM named n JOIN answers a ON a.arrived_at > n.at
        )
        SELECT concat(name, ' (answers)') AS subject,
               coalesce(min(IF(lacking, arrived_at, NULL)), min(arrived_at)) AS at,
               count_if(lacking) AS measured, 0 AS bound_high,
               concat(count(*), ' answers') AS note,
               min_by(evidence, struct(arrived_at, evidence)) FILTER (WHERE lacking) AS evidence
        FROM compared GROUP BY name
    """
