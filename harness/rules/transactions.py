"""Reading, processing and writing in transactions: what the output holds, and who is fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables


def _output(t: Tables, isolation: str) -> Frame:
    """Per source partition, records acknowledged against their copies in the output."""
    return t.sql(
        """
        WITH copied AS (
            SELECT topic, partition, sum(last_offset - first_offset + 1) AS found,
                   sum((copies - 1) * (last_offset - first_offset + 1)) AS twice,
                   min(CASE WHEN copies > 1 THEN first_offset END) AS first_twice
            FROM {outputs} WHERE isolation = :isolation GROUP BY topic, partition
        ),
        sent AS (
            SELECT topic, partition, sum(count) AS acknowledged
            FROM {sends} WHERE outcome = 'acknowledged' GROUP BY topic, partition
        )
        SELECT concat(s.topic, '-', s.partition) AS subject,
               coalesce(c.twice, 0) = 0 AND coalesce(c.found, 0) >= s.acknowledged AS ok,
               coalesce(c.twice, 0) + greatest(0, s.acknowledged - coalesce(c.found, 0))
                   AS measured,
               0 AS bound_high,
               concat(s.acknowledged, ' acknowledged, ', coalesce(c.found, 0),
                      ' of them in the output, ', coalesce(c.twice, 0), ' copies too many',
                      coalesce(concat(', the first of ', c.first_twice), '')) AS why
        FROM sent s LEFT JOIN copied c USING (topic, partition)
        WHERE EXISTS (SELECT 1 FROM {outputs})
        """,
        isolation=isolation,
    )


def _exactly_once(t: Tables) -> Frame:
    return _output(t, "read_committed")


def _seen_uncommitted(t: Tables) -> Frame:
    return _output(t, "read_uncommitted")


def _stale_fenced(t: Tables) -> Frame:
    """Positions offered in a transaction by member ids that had been removed.

    At the coordinator if they came so far; a client may also refuse them by itself.
    """
    return t.sql(
        """
        SELECT concat(r.client_id, ' (coordinator)') AS subject, r.arrived_at AS at,
               r.error_code IN (22, 25, 82, 110, 113) AS ok, r.error_code AS measured,
               concat('answered with error ', r.error_code) AS why, r.evidence
        FROM {requests} r JOIN {removals} m
          ON m.member_id = r.member_id AND m.removed_at < r.arrived_at
         AND coalesce(r.arrived_at < m.back_at, true)
        WHERE r.`group` = :group AND r.api = 'TXN_OFFSET_COMMIT'
        UNION ALL
        SELECT concat(c.member, ' ', c.topic, '-', c.partition, ' (client)'), c.asked_at,
               CASE WHEN c.answered_at IS NOT NULL THEN c.error_code <> 0 END, c.error_code,
               coalesce(c.error, 'accepted'), NULL
        FROM {commits} c JOIN {removals} m
          ON m.member_id = c.member_id AND m.removed_at < c.asked_at
         AND coalesce(c.asked_at < m.back_at, true)
        WHERE c.how = 'transaction'
        """
    )


EXACTLY_ONCE = Rule(
    id="X29",
    title="What is committed with its positions is there once",
    statement=(
        "Of every record that is read, processed and written in a transaction with its position, "
        "readers of committed records find exactly one result."
    ),
    source="KIP-98; KIP-447; isolation.level",
    unit="records",
    things="source partitions",
    measures="missing or too many",
    examine=_exactly_once,
)
SEEN_UNCOMMITTED = Rule(
    id="X29-uncommitted",
    title="Every record is written once",
    statement="Readers that do not wait for commits find exactly one result of every record too.",
    source="isolation.level (read_uncommitted)",
    unit="records",
    things="source partitions",
    measures="missing or too many",
    examine=_seen_uncommitted,
    broker=True,
)
STALE_FENCED = Rule(
    id="X29-fenced",
    title="A removed member's transaction is refused",
    statement=(
        "Positions that a member offers to a transaction after it was removed from its group are "
        "refused."
    ),
    source="KIP-447; sendOffsetsToTransaction",
    unit="error code",
    things="transactions of removed members",
    measures="answered",
    examine=_stale_fenced,
    broker=True,
)
