"""Reading, processing and writing in transactions: what the output holds, and who is fenced."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.group_apis import IDENTITY, answers
from harness.rules.rule import Rule

# Who names no member, instance or generation is believed, whatever state the group is in, since
# producers did not name any before KIP-447 (ClassicGroup.validateOffsetCommit).
OFFER_ANSWER: Final = f"""
    CASE WHEN nobody THEN :NONE
         WHEN state_before IN ('Dead', 'Empty') AND coalesce(generation, -1) < 0 THEN :NONE
         WHEN state IS NULL THEN NULL
         WHEN state = 'Dead' THEN :ILLEGAL_GENERATION {IDENTITY} ELSE :NONE END
"""


def _output(isolation: str) -> str:
    """Per source partition, records acknowledged against their copies in the output."""
    return f"""
        WITH copied AS (
            SELECT topic, partition, sum(last_offset - first_offset + 1) AS found,
                   sum((copies - 1) * (last_offset - first_offset + 1)) AS twice,
                   min(CASE WHEN copies > 1 THEN first_offset END) AS first_twice
            FROM {{outputs}} WHERE isolation = '{isolation}' GROUP BY topic, partition
        ), sent AS (
            SELECT topic, partition, sum(count) AS acknowledged
            FROM {{sends}} WHERE outcome = 'acknowledged' GROUP BY topic, partition
        ), compared AS (
            SELECT topic, partition, s.acknowledged, coalesce(c.found, 0) AS found,
                   coalesce(c.twice, 0) AS twice, c.first_twice
            FROM sent s LEFT JOIN copied c USING (topic, partition)
        )
        SELECT concat(topic, '-', partition) AS subject,
               twice + greatest(0, acknowledged - found) AS measured, 0 AS bound_high,
               concat(acknowledged, ' records acknowledged, ', found, ' in the output, ', twice,
                      ' copies too many',
                      coalesce(concat(', the first of record ', first_twice), '')) AS note
        FROM compared WHERE EXISTS (SELECT 1 FROM {{outputs}})
    """


@Rule(
    "X29",
    title="What is written together with its positions is there once",
    statement=(
        "Of every record that is read, processed and written in a transaction with its position, "
        "readers of committed records find exactly one result."
    ),
    source="KIP-98; KIP-447; isolation.level",
    unit="records",
    things="source partitions",
    measures="missing or too many",
    too_high="has records without exactly one committed result",
    matters="Results need no deduplication, even if a consumer dies before it commits.",
)
def exactly_once() -> str:
    return _output("read_committed")


@Rule(
    "X29-uncommitted",
    title="Every record is written once",
    statement="Readers that do not wait for commits find exactly one result of every record too.",
    source="isolation.level (read_uncommitted)",
    unit="records",
    things="source partitions",
    measures="missing or too many",
    too_high="has records without exactly one result",
    matters="Whoever reads uncommitted records finds results of aborted transactions, too.",
    broker=True,
)
def seen_uncommitted() -> str:
    return _output("read_uncommitted")


@Rule(
    "X29-fenced",
    title="A removed member's transaction is refused",
    statement=(
        "Positions that a member offers to a transaction after it was removed from its group are "
        "refused."
    ),
    source="KIP-447; sendOffsetsToTransaction",
    unit="error code",
    things="transactions of removed members",
    measures="answered",
    matters="A member that wakes up late cannot commit what the next owner writes as well.",
    broker=True,
)
def removed_are_fenced() -> str:
    """Positions offered in a transaction by member ids that had been removed.

    At the coordinator if they came so far; a client may also refuse them by itself.
    """
    return """
        SELECT concat(r.member, ' (coordinator)') AS subject, r.arrived_at AS at,
               r.error_code AS measured,
               CASE WHEN r.error_code NOT IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                        :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
                    THEN clause('was not refused as a removed member: answered with error ',
                                r.error_code) END AS wrong,
               IF(r.error_code IS NULL, 'was never answered', NULL) AS unknown,
               CAST(NULL AS STRING) AS note, r.evidence
        FROM {own_requests} r JOIN {removals} m
          ON m.member_id = r.member_id AND m.removed_at < r.arrived_at
         AND coalesce(r.arrived_at < m.back_at, true)
        WHERE r.api = 'TXN_OFFSET_COMMIT'
        UNION ALL
        SELECT concat(c.member, ' ', c.topic, '-', c.partition, ' (client)'), c.asked_at,
               c.error_code, IF(c.error_code = :NONE, 'was accepted', NULL),
               IF(c.answered_at IS NULL OR c.error_code IS NULL, 'was never answered', NULL),
               concat('refused: ', c.error), NULL
        FROM {commits} c JOIN {removals} m
          ON m.member_id = c.member_id AND m.removed_at < c.asked_at
         AND coalesce(c.asked_at < m.back_at, true)
        WHERE c.how = 'transaction'
    """


@Rule(
    "X29-wire",
    title="Who may offer positions to a transaction",
    statement=(
        "Positions are taken into a transaction (TxnOffsetCommit) from a member in every state of "
        "its group, CompletingRebalance too, and from who names no member at all; another member "
        "(25), instance (82) or generation (22) than the group has is refused."
    ),
    source="KIP-98; KIP-447; ClassicGroup.validateOffsetCommit",
    unit="error code",
    things="offers of positions",
    measures="",
    matters=(
        "A producer that is not given the group's metadata is never fenced: it commits positions "
        "for partitions that others have by now."
    ),
    broker=True,
    protocols=CLASSIC,
)
def offers_are_judged_by_identity() -> str:
    """Every TxnOffsetCommit of a probe."""
    return answers("TXN_OFFSET_COMMIT", OFFER_ANSWER)
