"""Where a member starts to read: what was committed, when, by whom, and what happens without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from harness.check.tables import Tables

# Codes with which a coordinator refuses a commit for good. After any other, the time-outs of the
# append above all, it may still take effect: GroupMetadata and OffsetMetadataManager, 4.3.
_REFUSED = "(12, 22, 24, 25, 27, 28, 30, 82, 110, 113)"

# Partitions that one member gave up in its callback, and that another was given next.
_MOVED = """
    handovers AS (
        SELECT topic, partition, member, member_id, to_at AS given_up_at, ended_by,
               lead(member) OVER w AS next_member, lead(from_at) OVER w AS next_at,
               lead(to_at) OVER w AS next_to
        FROM {ownership} WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at)
    ),
    moved AS (
        SELECT *, concat(topic, '-', partition, ' from ', member, ' to ', next_member) AS subject
        FROM handovers WHERE ended_by = 'revoked' AND next_member <> member
    )
"""


def _callback_first(t: Tables) -> DataFrame:
    """Moved partitions by the callbacks of both members, and commits made in a callback.

    What a commit finds at the coordinator is told by its last line before: once a rebalance has
    started it waits for the members, and takes their commits meanwhile.
    """
    return t.sql(
        "WITH "
        + _MOVED
        + """,
        steps AS (
            SELECT at, CASE WHEN event = 'rebalance_started' THEN 'while members rejoined'
                            WHEN event = 'stabilized' THEN 'after all had rejoined' END AS state
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('rebalance_started', 'stabilized')
        ),
        answered AS (
            SELECT client_id AS member, p.topic, p.partition, p.committed,
                   min(arrived_at) AS arrived_at, min(p.error_code) AS error_code,
                   min(evidence) AS evidence
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api = 'OFFSET_COMMIT'
            GROUP BY client_id, p.topic, p.partition, p.committed
        ),
        made AS (
            SELECT c.member, c.topic, c.partition, c.committed, c.asked_at, a.arrived_at,
                   coalesce(a.error_code, c.error_code) AS error_code, a.evidence
            FROM {commits} c LEFT JOIN answered a USING (member, topic, partition, committed)
            WHERE c.how = 'revoke'
        ),
        mixed AS (
            SELECT at, state, NULL AS member, NULL AS topic, NULL AS partition, NULL AS committed,
                   NULL AS error_code, NULL AS evidence FROM steps
            UNION ALL
            SELECT coalesce(arrived_at, asked_at), NULL, member, topic, partition, committed,
                   error_code, evidence FROM made
        ),
        placed AS (
            SELECT *, last_value(state, true) OVER (PARTITION BY 1 ORDER BY at
                      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS found
            FROM mixed
        )
        SELECT subject, given_up_at AS at, given_up_at <= next_at AS ok,
               timestampdiff(MICROSECOND, given_up_at, next_at) / 1e3 AS measured,
               0 AS bound_low, 'callback to callback' AS why, NULL AS evidence
        FROM moved
        UNION ALL
        SELECT concat(topic, '-', partition, ' committed by ', member), at, error_code = 0,
               CAST(NULL AS DOUBLE), CAST(NULL AS INT),
               CASE WHEN error_code = 0
                    THEN concat(committed, ' accepted ', coalesce(found, 'before any rebalance'))
                    WHEN error_code IS NULL THEN 'never answered'
                    ELSE concat('refused with error ', error_code) END, evidence
        FROM placed WHERE member IS NOT NULL
        """
    )


def _handover_repeats(t: Tables) -> DataFrame:
    return t.sql(
        "WITH "
        + _MOVED
        + """
        SELECT any_value(m.subject) AS subject, m.next_at AS at,
               coalesce(sum(r.count), 0) = 0 AS ok, coalesce(sum(r.count), 0) AS measured,
               0 AS bound_high,
               concat(:commit, ' commits; ',
                      coalesce(concat('again from ', min(r.first_offset), ', committed was ',
                                      coalesce(string(min(r.committed)), 'nothing')),
                               'nothing came twice')) AS why
        FROM moved m LEFT JOIN {redeliveries} r
          ON r.topic = m.topic AND r.partition = m.partition AND r.member = m.next_member
         AND r.polled_at >= m.next_at AND (m.next_to IS NULL OR r.polled_at <= m.next_to)
         AND r.first_polled_at <= m.given_up_at
        GROUP BY m.topic, m.partition, m.member, m.next_member, m.next_at
        """
    )


def _sought(t: Tables) -> DataFrame:
    """Assignments of partitions of which a position was kept outside Kafka before."""
    return t.sql(
        """
        WITH kept AS (
            SELECT topic, partition, asked_at AS at, committed FROM {commits}
            WHERE how = 'external' AND error_code = 0
        ),
        started AS (
            SELECT o.topic, o.partition, o.member, o.from_at, o.to_at,
                   max_by(k.committed, k.at) AS kept
            FROM {ownership} o JOIN kept k
              ON k.topic = o.topic AND k.partition = o.partition AND k.at <= o.from_at
            GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
        ),
        read AS (
            SELECT s.topic, s.partition, s.member, s.from_at, s.kept,
                   min_by(d.first_offset, d.polled_at) AS first
            FROM started s JOIN {deliveries} d
              ON d.topic = s.topic AND d.partition = s.partition AND d.member = s.member
             AND d.polled_at >= s.from_at AND (s.to_at IS NULL OR d.polled_at <= s.to_at)
            GROUP BY s.topic, s.partition, s.member, s.from_at, s.kept
        )
        SELECT concat(topic, '-', partition, ' to ', member) AS subject, from_at AS at,
               first = kept AS ok, first - kept AS measured, 0 AS bound_low, 0 AS bound_high,
               concat('kept ', kept, ', first read ', first) AS why
        FROM read
        """
    )


def _read_your_commit(t: Tables) -> DataFrame:
    """Every position that a coordinator named, whoever asked, against the commits before.

    It is the last one whose committer had been told so, or a later one: asked for by then, and
    accepted meanwhile or not refused (a commit that timed out may have been made). A deletion is a
    commit of nothing. Transactional commits take effect with their transaction, so they only count
    among the later ones; automatic ones that were in flight when their broker died are on nobody's
    record. An empty group's positions expire, at the earliest a retention after the last commit.
    """
    return t.sql(
        """
        WITH asked AS (
            SELECT api, p.topic, p.partition, p.committed, p.error_code, arrived_at, answered_at
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE',
                                               'TXN_OFFSET_COMMIT')
            UNION ALL
            SELECT 'client', topic, partition, committed, -1, asked_at, NULL FROM {commits}
            WHERE asked_at IS NOT NULL AND how <> 'external'
              AND (error_code IS NULL OR error_code <> 0)
        ),
        possible AS (
            SELECT topic, partition, committed, min(arrived_at) AS first_asked_at,
                   max(coalesce(answered_at, :ended_at)) AS open_to
            FROM asked WHERE error_code NOT IN """
        + _REFUSED
        + """
            GROUP BY topic, partition, committed
        ),
        moments AS (
            SELECT topic, partition, answered_at AS at, arrived_at AS since, committed AS known,
                   CAST(NULL AS BIGINT) AS told, CAST(NULL AS TIMESTAMP) AS told_at,
                   CAST(NULL AS STRING) AS client_id, CAST(NULL AS INT) AS broker,
                   CAST(NULL AS STRING) AS evidence
            FROM asked WHERE error_code = 0 AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE')
            UNION ALL
            SELECT p.topic, p.partition, arrived_at, NULL, NULL, p.committed, processed_at,
                   client_id, broker, evidence
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api = 'OFFSET_FETCH' AND coalesce(error_code, 0) = 0
              AND p.error_code = 0
        ),
        ordered AS (
            SELECT *, last_value(known, true) OVER before AS expected,
                   last_value(since, true) OVER before AS expected_since
            FROM moments
            WINDOW before AS (PARTITION BY topic, partition ORDER BY at, since NULLS LAST
                              ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        ),
        judged AS (
            SELECT o.*,
                   o.told = coalesce(o.expected, -1)
                   OR coalesce(p.first_asked_at <= o.told_at
                               AND (o.expected_since IS NULL OR p.open_to >= o.expected_since),
                               false)
                   OR o.told > coalesce(o.expected, -1) AND :commit = 'auto'
                   OR o.told = -1 AND coalesce(timestampdiff(MILLISECOND, o.expected_since, o.at)
                                               >= :retention_ms, false) AS fits
            FROM ordered o LEFT JOIN possible p
              ON p.topic = o.topic AND p.partition = o.partition AND p.committed = o.told
            WHERE o.told IS NOT NULL
        )
        SELECT concat(topic, '-', partition) AS subject,
               min(at) FILTER (WHERE NOT fits) AS at, count_if(NOT fits) = 0 AS ok,
               max(CASE WHEN fits THEN 0 ELSE greatest(0, coalesce(expected, -1) - told) END)
                   AS measured,
               0 AS bound_high,
               CASE WHEN count_if(NOT fits) = 0
                    THEN concat(count(*), ' answers of ', count(DISTINCT broker),
                                ' coordinators, to ', count(DISTINCT client_id), ' clients')
                    ELSE min_by(concat('broker-', broker, ' told ', client_id, ' ', told,
                                       ', committed was ', coalesce(string(expected), 'nothing')),
                                CASE WHEN fits THEN NULL ELSE at END) END AS why,
               min_by(evidence, CASE WHEN fits THEN NULL ELSE at END) AS evidence
        FROM judged GROUP BY topic, partition
        """
    )


LISTENER = Rule(
    id="R15",
    title="A revocation is heard before the partition moves",
    statement=(
        "The callback for revoked partitions runs before another member is given them, and the "
        "coordinator accepts a commit that is made in it."
    ),
    source="seed 001, rebalance listener; ConsumerRebalanceListener, onPartitionsRevoked",
    unit="ms",
    things="moved partitions and commits in the callback",
    measures="from giving up to being given",
    examine=_callback_first,
)
HANDOVER_REPEATS = Rule(
    id="R15-repeats",
    title="A hand-over in good order repeats nothing",
    statement=(
        "What a member had processed of a partition that it was told to give up is not delivered "
        "to the partition's next owner."
    ),
    source="seed 001, rebalance listener (commit in onPartitionsRevoked)",
    unit="records",
    things="moved partitions",
    measures="delivered again",
    examine=_handover_repeats,
)
SOUGHT = Rule(
    id="R15-seek",
    title="A position sought on assignment is where reading starts",
    statement=(
        "A member that seeks to a position kept elsewhere when it is assigned a partition is "
        "delivered that record first."
    ),
    source="seed 001, rebalance listener (seek in onPartitionsAssigned)",
    unit="records",
    things="assignments",
    measures="from the position kept to the first record",
    examine=_sought,
)
READ_YOUR_COMMIT = Rule(
    id="R30",
    title="A coordinator answers with what was committed last",
    statement=(
        "Whoever asks is told the position committed last, by any coordinator the group has had, "
        "and never one before it."
    ),
    source="seed 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets",
    unit="records",
    things="partitions",
    measures="behind the commit",
    examine=_read_your_commit,
    evidence=True,
)
