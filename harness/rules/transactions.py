"""Reading, processing and writing in transactions: what the output holds, and who is fenced."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.group_apis import IDENTITY, answers
from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# Who names no member, instance or generation is believed, whatever state the group is in, since
# producers did not name any before KIP-447 (ClassicGroup.validateOffsetCommit).
OFFER_ANSWER: Final = f"""
    CASE WHEN nobody THEN :NONE
         WHEN state_before IN ('Dead', 'Empty') AND coalesce(generation, -1) < 0 THEN :NONE
         WHEN state IS NULL THEN NULL
         WHEN state = 'Dead' THEN :ILLEGAL_GENERATION {IDENTITY} ELSE :NONE END
"""

# How long after its producer was answered a transaction may wait for its markers, and their
# replicas. The kept runs have no position that came later than 0.3 s.
MARKED_MS: Final = 2_000


def _output(isolation: str) -> str:
    """Per source partition, records acknowledged against their copies in the output."""
    return f"""
        WITH copied AS (
            SELECT topic, partition, sum(last_offset - first_offset + 1) AS found,
                   sum((copies - 1) * (last_offset - first_offset + 1)) AS twice,
                   max(last_offset) + 1 AS reach,
                   min(CASE WHEN copies > 1 THEN first_offset END) AS first_twice
            FROM {{outputs}} WHERE isolation = '{isolation}' GROUP BY topic, partition
        ), sent AS (
            SELECT topic, partition, sum(count) AS acknowledged
            FROM {{sends}} WHERE outcome = 'acknowledged' GROUP BY topic, partition
        ), ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {{topology}} WHERE what = 'end_offset' GROUP BY topic, partition
        ), compared AS (
            SELECT topic, partition, s.acknowledged, coalesce(c.found, 0) AS found,
                   coalesce(c.twice, 0) AS twice, c.first_twice,
                   coalesce(greatest(c.found, c.reach, e.end_offset) - e.end_offset, 0) AS beyond
            FROM sent s LEFT JOIN copied c USING (topic, partition)
            LEFT JOIN ends e USING (topic, partition)
        )
        SELECT concat(topic, '-', partition) AS subject,
               twice + greatest(0, acknowledged - found) + beyond AS measured,
               0 AS bound_high,
               IF(beyond > 0, clause('has results of ', beyond, ' records more than the partition ',
                                     'ever had'), NULL) AS wrong,
               concat(acknowledged, ' records acknowledged, ', found, ' in the output, ', twice,
                      ' copies too many',
                      coalesce(concat(', the first of record ', first_twice), '')) AS note
        FROM compared WHERE EXISTS (SELECT 1 FROM {{outputs}})
    """


@Rule(
    "X29",
    title="Each record has exactly one committed result",
    statement="Readers of committed records find exactly one result of every record that was "
    "read, processed and written in one transaction with its position.",
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
    title="Each record has one result, uncommitted ones included",
    statement="Readers of uncommitted records find exactly one result of every record too.",
    source="isolation.level (read_uncommitted)",
    unit="records",
    things="source partitions",
    measures="missing or too many",
    too_high="has records without exactly one result",
    matters="Readers of uncommitted records see the results of aborted transactions as well.",
    broker=True,
)
def seen_uncommitted() -> str:
    return _output("read_uncommitted")


@Rule(
    "X29-fenced",
    title="A removed member's transaction is refused",
    statement="The coordinator refuses positions that a member sends to a transaction after it "
    "was removed from its group.",
    source="KIP-447; sendOffsetsToTransaction",
    unit="error code",
    things="transactions of removed members",
    measures="answered",
    matters="A member that wakes up late cannot commit results that the next owner writes as well.",
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
          ON m.member_id = r.member_id AND after(:slack_ms, m.removed_at) < r.arrived_at
         AND coalesce(r.arrived_at < m.back_at, true)
        WHERE r.api = 'TXN_OFFSET_COMMIT'
        UNION ALL
        SELECT concat(c.member, ' ', c.topic, '-', c.partition, ' (client)'), c.asked_at,
               c.error_code, IF(c.error_code = :NONE, 'was accepted', NULL),
               IF(c.answered_at IS NULL OR c.error_code IS NULL, 'was never answered', NULL),
               concat('refused: ', c.error), NULL
        FROM {commits} c JOIN {removals} m
          ON m.member_id = c.member_id AND after(:slack_ms, m.removed_at) < c.asked_at
         AND coalesce(c.asked_at < m.back_at, true)
        WHERE c.how = 'transaction'
    """


@Rule(
    "X29-wire",
    title="TxnOffsetCommit is checked against member and generation",
    statement="TxnOffsetCommit is accepted from a member in every state of its group, "
    "CompletingRebalance included, and from a producer that names no member. A wrong member id "
    "(25), instance id (82) or generation (22) is refused.",
    source="KIP-98; KIP-447; ClassicGroup.validateOffsetCommit",
    unit="error code",
    things="TxnOffsetCommits",
    measures="",
    matters="A producer without the group's metadata is never fenced: it commits positions of "
    "partitions that others have by now.",
    broker=True,
    protocols=CLASSIC,
)
def offers_are_judged_by_identity() -> str:
    """Every TxnOffsetCommit of a probe."""
    return answers("TXN_OFFSET_COMMIT", OFFER_ANSWER)


@Rule(
    "X67",
    title="Of two producers with one transactional id the older is fenced",
    statement="Once a member has offered positions under a transactional id that another had "
    "used, the other's are refused.",
    source="KIP-98, Fencing zombies; initTransactions",
    unit="requests",
    things="transactional ids",
    measures="accepted of a producer that another had replaced",
    too_high="was used by two producers in turn",
    matters="A process that was taken for dead would write its output beside its successor's.",
    in_passing=True,
)
def one_producer_each() -> str:
    return """
        WITH offered AS (
            SELECT member, arrived_at, evidence,
                   get_json_object(detail, '$.transactional_id') AS id
            FROM {own_requests} WHERE api = 'TXN_OFFSET_COMMIT' AND error_code = :NONE
        ), began AS (
            SELECT id, member, min(arrived_at) AS at FROM offered GROUP BY id, member
        ), judged AS (
            SELECT o.id, o.member, o.arrived_at, o.evidence, count(b.at) AS successors
            FROM offered o JOIN began own ON same(own, o, id, member)
            LEFT JOIN began b
              ON b.id = o.id AND b.member <> o.member AND b.at > own.at
             AND o.arrived_at > after(:STAMP_LATE_MS, b.at)
            GROUP BY o.id, o.member, o.arrived_at, o.evidence
        )
        SELECT id AS subject, min(arrived_at) AS at, count_if(successors > 0) AS measured,
               0 AS bound_high,
               concat(count(*), ' offers of ', array_join(array_sort(collect_set(member)), ', '))
                   AS note,
               min(IF(successors > 0, evidence, NULL)) AS evidence
        FROM judged WHERE id IS NOT NULL GROUP BY id
    """


@Rule(
    "X68",
    title="Positions count when their transaction is committed",
    statement="Positions that a member offered to a transaction are those of its group once the "
    "transaction is committed, and not beyond what was offered by then.",
    source="KIP-98, Consumer Coordinator; KIP-447",
    unit="answers",
    things="partitions",
    measures="with another position",
    too_high="was answered with positions that were not committed, or no longer",
    matters="A position that lags behind its transaction has records processed and written twice.",
    in_passing=True,
    compares_clocks=True,
)
def counts_when_committed() -> str:
    """Answers to whoever asked for positions, beside transactions that members saw committed.

    The markers of a transaction are written after its producer was answered.
    """
    return """
        WITH mixed AS (
            SELECT topic, partition, after(:MARKED_MS, answered_at) AS at, 0 AS rank,
                   committed AS done, CAST(NULL AS BIGINT) AS offered,
                   CAST(NULL AS BIGINT) AS position, CAST(NULL AS STRING) AS evidence
            FROM {commits}
            WHERE how = 'transaction' AND error_code = :NONE AND answered_at IS NOT NULL
            UNION ALL
            SELECT topic, partition, after(-:STAMP_LATE_MS, arrived_at), 0, NULL, committed,
                   NULL, NULL
            FROM {positions} WHERE api = 'TXN_OFFSET_COMMIT' AND error_code = :NONE
            UNION ALL
            SELECT topic, partition, arrived_at, 1, NULL, NULL, committed, evidence
            FROM {positions} WHERE api = 'OFFSET_FETCH' AND error_code = :NONE
        ), running AS (
            SELECT topic, partition, at, position, evidence, rank,
                   coalesce(max(done) OVER w, -1) AS done, coalesce(max(offered) OVER w, -1)
                       AS offered
            FROM mixed
            WINDOW w AS (PARTITION BY topic, partition ORDER BY at, rank {SO_FAR})
        ), answers AS (
            SELECT r.*, position NOT BETWEEN done AND offered AS odd
            FROM running r LEFT ANTI JOIN {unsettled} f
              ON f.from_at <= r.at
             AND f.to_at >= r.at
            WHERE r.rank = 1
        ), used AS (
            SELECT topic, partition FROM mixed WHERE done IS NOT NULL GROUP BY topic, partition
        )
        SELECT concat(a.topic, '-', a.partition) AS subject,
               coalesce(min(IF(odd, at, NULL)), min(at)) AS at, count_if(odd) AS measured,
               0 AS bound_high,
               coalesce(min(IF(odd, concat('told ', position, ' when ', done, ' was committed and ',
                                           offered, ' offered'), NULL)),
                        concat(count(*), ' answers')) AS note,
               min(IF(odd, evidence, NULL)) AS evidence
        FROM answers a JOIN used u ON same(u, a, topic, partition)
        CROSS JOIN (SELECT count(*) AS times FROM {forgotten}) g
        WHERE g.times = 0 GROUP BY a.topic, a.partition
    """
