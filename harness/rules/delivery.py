"""What becomes of records and commits: nothing lost, and nothing repeated without a reason."""

from harness.rules.rights import TOPIC_AUTHORIZATION_FAILED  # noqa: F401 (a query names it)
from harness.rules.rule import Need, Rule


@Rule(
    "R19",
    title="A removed member cannot commit",
    statement="Commits of a removed member are refused, and records that it had not committed are "
    "delivered again.",
    source="document 002, session.timeout.ms; CommitFailedException",
    unit="error code",
    things="commits after a removal and partitions left uncommitted",
    measures="in the answer",
    matters="Work that a removed member finishes late is done twice, so it has to be idempotent.",
    needs=(Need.MAX_POLL_END,),
)
def removed_cannot_commit() -> str:
    """Commits of member ids that had been removed, and what they had read but not committed.

    Who left by closing gave its partitions back first and is not examined. A commit that its
    client never got an answer to counts by what the coordinator says, if it reached it at all. So
    does one that the client made by itself: when it did, only the coordinator tells. What is kept
    elsewhere than with the coordinator (external, transaction) is not known here, so nothing is
    said of work that it may cover. A commit that had arrived by the removal covers its records even
    if it was answered later, and may cover them if its write timed out: what is replicated then
    counts all the same. A line is stamped late, so it may seem to have come just after.
    """
    return """
        WITH removed AS (
            SELECT m.* FROM {removals} m LEFT ANTI JOIN {client_events} c
              ON c.member = m.member AND c.event = 'closing' AND c.event_at <= m.removed_at
        ),
        -- The last position accepted before each removal, in one pass over the commits.
        moments AS (
            SELECT topic, partition, at, committed, CAST(NULL AS STRING) AS stay
            FROM {accepted}
            UNION ALL
            SELECT p.topic, p.partition, r.removed_at, NULL, r.stay
            FROM removed r CROSS JOIN (SELECT DISTINCT topic, partition FROM {accepted}) p
        ), positions AS (
            SELECT topic, partition, stay,
                   last_value(committed, true) OVER (
                       PARTITION BY topic, partition ORDER BY at, committed NULLS LAST, stay
                       {SO_FAR}) AS committed
            FROM moments
        ), unfinished AS (
            SELECT d.member, d.member_id, d.topic, d.partition, r.removed_at, r.back_at,
                   greatest(min(d.first_offset), coalesce(max(p.committed), 0)) AS first,
                   max(d.last_offset) AS last
            FROM {deliveries} d JOIN removed r
              ON r.member_id = d.member_id AND d.polled_at <= r.removed_at
             AND (r.since_at IS NULL OR d.polled_at > r.since_at)
            LEFT JOIN positions p
              ON p.stay = r.stay AND same(p, d, topic, partition)
            WHERE d.last_offset >= coalesce(p.committed, 0)
            GROUP BY d.member, d.member_id, d.topic, d.partition, r.removed_at, r.back_at
        ), open AS (
            SELECT u.*, coalesce(max(p.committed), 0) AS open_to
            FROM unfinished u LEFT JOIN {positions} p
              ON p.api = 'OFFSET_COMMIT' AND same(p, u, member_id, topic, partition)
             AND p.arrived_at <= after(:slack_ms, u.removed_at)
             AND p.error_code IN (:NONE, :REQUEST_TIMED_OUT, :COORDINATOR_NOT_AVAILABLE)
            GROUP BY u.member, u.member_id, u.topic, u.partition, u.removed_at, u.back_at,
                     u.first, u.last
        ),
        -- What overlaps it is found within buckets of offsets.
        wanted AS (
            SELECT *, explode(sequence(first DIV 1024, last DIV 1024)) AS bucket FROM open
        ), reads AS (
            SELECT *, explode(sequence(first_offset DIV 1024, last_offset DIV 1024)) AS bucket
            FROM {deliveries}
        ), reread AS (
            SELECT u.member, u.topic, u.partition, u.removed_at, u.first, u.last,
                   greatest(u.first, u.open_to) AS due,
                   min(d.first_offset) AS again_from, max(d.last_offset) AS again_to
            FROM wanted u LEFT JOIN reads d ON same(d, u, topic, partition, bucket)
             AND d.first_offset <= u.last AND d.last_offset >= u.first
             AND d.polled_at > u.removed_at
             AND (d.member_id <> u.member_id OR d.polled_at > u.back_at)
            GROUP BY u.member, u.member_id, u.topic, u.partition, u.removed_at, u.first, u.last,
                     u.open_to
        ),
        -- Who could have read it again: partitions that somebody held or read after the removal.
        held AS (
            SELECT topic, partition, max(at) AS last_at FROM (
                SELECT topic, partition, from_at AS at FROM {ownership}
                UNION ALL SELECT topic, partition, polled_at FROM {deliveries})
            GROUP BY topic, partition
        )
        SELECT concat(c.member, ' commits ', c.topic, '-', c.partition, ' (coordinator)')
                   AS subject, c.at, c.error_code AS measured,
               -- How a coordinator refuses a member that is no longer in the group.
               CASE WHEN c.error_code NOT IN (
                        :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS,
                        :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
                    THEN clause('was answered with error ', c.error_code) END AS wrong,
               IF(c.error_code IS NULL, 'was never answered', NULL) AS unknown,
               CAST(NULL AS STRING) AS note
        FROM {commits_judged} c JOIN removed r ON same(r, c, member_id, removed_at)
        -- One that does not have the group, or may not be asked, says nothing of its members.
        WHERE coalesce(c.error_code NOT IN (
                  :COORDINATOR_LOAD_IN_PROGRESS, :NOT_COORDINATOR, :GROUP_AUTHORIZATION_FAILED,
                  :TOPIC_AUTHORIZATION_FAILED), true)
        UNION ALL
        SELECT concat(c.member, ' commits ', c.topic, '-', c.partition, ' (client)'), c.asked_at,
               c.error_code, IF(c.error_code = :NONE, 'was accepted', NULL), NULL,
               CASE WHEN c.error_code IS NULL THEN 'never answered'
                    ELSE concat('refused: ', coalesce(c.error, string(c.error_code))) END
        FROM {commits} c JOIN removed r
          ON r.member_id = c.member_id AND c.asked_at > r.removed_at
         AND (r.back_at IS NULL OR c.asked_at < r.back_at)
        WHERE c.how <> 'external'
        UNION ALL
        SELECT concat(r.topic, '-', r.partition, ' after ', r.member), r.removed_at, NULL,
               CASE WHEN due > last OR h.last_at <= r.removed_at THEN NULL
                    WHEN again_from IS NULL THEN 'its uncommitted records never came again'
                    WHEN again_from > due OR again_to < last
                    THEN concat('only ', greatest(again_from, first), ' to ', least(again_to, last),
                                ' of its records ', first, ' to ', last, ' came again') END,
               IF(due <= last AND h.last_at <= r.removed_at,
                  'was given to nobody after that', NULL),
               concat(last - first + 1, ' records read and not committed')
        FROM reread r JOIN held h ON same(h, r, topic, partition)
        WHERE :commit NOT IN ('external', 'transaction')
    """


def _islands(name: str, ranges: str) -> str:
    """A CTE of the ranges of a query, merged per partition where they touch or overlap."""
    return f"""{name} AS (
            SELECT topic, partition, min(first_offset) AS first, max(last_offset) AS last
            FROM (
                SELECT *, count_if(reached IS NULL OR first_offset > reached + 1) OVER (
                    PARTITION BY topic, partition ORDER BY first_offset, last_offset) AS island
                FROM (
                    SELECT *, max(last_offset) OVER (
                        PARTITION BY topic, partition ORDER BY first_offset, last_offset
                        {{BEFORE}}) AS reached
                    FROM ({ranges})))
            GROUP BY topic, partition, island
        )"""


_SENT = """
    SELECT topic, partition, first_offset, last_offset
    FROM {sends} WHERE outcome = 'acknowledged' AND first_offset IS NOT NULL
"""
_DONE = """
    SELECT topic, partition, first_offset, last_offset
    FROM {deliveries} WHERE processed_at IS NOT NULL
    UNION ALL
    -- A transaction may have been committed when its process died before it said so.
    SELECT topic, partition, first_offset, last_offset
    FROM {outputs} WHERE isolation = 'read_committed'
    UNION ALL
    -- What was deleted on purpose is nobody's work any more.
    SELECT p.topic, p.partition, 0, p.committed - 1
    FROM {requests} LATERAL VIEW explode(positions) AS p
    WHERE api = 'DELETE_RECORDS' AND p.error_code = :NONE AND p.committed > 0
"""

# Acknowledged records of each partition, and how many of them nobody finished.
COUNTED = f"""{_islands("sent", _SENT)}, {_islands("done", _DONE)}, read_to AS (
            SELECT topic, partition, max(last_offset) AS last FROM {{deliveries}}
            GROUP BY topic, partition
        ), ends AS (
            SELECT topic, partition, max(struct(at, end_offset)).end_offset AS end_offset
            FROM {{topology}} WHERE what = 'end_offset' GROUP BY topic, partition
        ), compared AS (
            SELECT s.*, r.last AS read_to, e.end_offset,
                   coalesce(sum(least(s.last, d.last) - greatest(s.first, d.first) + 1)
                            FILTER (WHERE d.first IS NOT NULL), 0) AS found
            FROM sent s LEFT JOIN done d ON same(d, s, topic, partition)
             AND d.first <= s.last AND d.last >= s.first
            LEFT JOIN read_to r ON same(r, s, topic, partition)
            LEFT JOIN ends e ON same(e, s, topic, partition)
            GROUP BY ALL
        ), counted AS (
            SELECT topic, partition, sum(last - first + 1) AS acknowledged,
                   sum(last - first + 1 - found) AS missing,
                   -- Nothing is found past what was read, so all that was found is below it.
                   sum(greatest(0, least(last, coalesce(read_to, -1)) - first + 1) - found)
                       AS skipped,
                   coalesce(max(read_to) + 1 >= max(end_offset), false) AS read_all,
                   max(read_to) + 1 - max(end_offset) AS beyond
            FROM compared GROUP BY topic, partition
        )"""


@Rule(
    "X32a",
    title="No acknowledged record is lost",
    statement="Every record that was acknowledged to the producer is processed by a member, and "
    "no member is given a record that its partition does not have.",
    source="Kafka documentation, Message Delivery Semantics (at least once)",
    unit="records",
    things="partitions",
    measures="missing",
    too_high="has acknowledged records that nobody processed",
    matters="At-least-once delivery promises this, whatever happens to members or brokers.",
)
def nothing_lost() -> str:
    """Per partition, acknowledged records that nobody finished processing.

    Ranges are merged into islands on both sides before they are compared. What lies past the last
    position read may only not have been polled yet: unseen, not lost, unless the reads reached the
    partition's end. Records that were deleted on purpose count as done.
    """
    return """
        WITH {COUNTED}
        SELECT concat(topic, '-', partition) AS subject, missing AS measured, 0 AS bound_high,
               IF(missing > 0 AND skipped <= 0 AND NOT read_all,
                  clause(missing, ' records lie past the last position read: unseen, not lost'),
                  NULL) AS unknown,
               IF(beyond > 0, clause('was read ', beyond, ' records beyond its end'), NULL)
                   AS wrong,
               concat(missing, ' of ', acknowledged, ' acknowledged records missing') AS note
        FROM counted
    """


@Rule(
    "X32b",
    title="Only uncommitted records come twice",
    statement="A record is delivered again only if it lies at or after the last committed "
    "position, and never twice in one poll. A member that has been removed may still hand out "
    "what it had fetched.",
    source="Kafka documentation, Message Delivery Semantics; KafkaConsumer, Offsets",
    unit="records",
    things="partitions",
    measures="below the committed position",
    too_high="was read again below its committed position",
    matters="A commit protects from repetition, so committing more often means fewer duplicates.",
)
def repeats_explained() -> str:
    """Where positions are kept elsewhere than with the coordinator, nothing is examined."""
    return """
        WITH again AS (
            SELECT topic, partition, sum(count) AS count,
                   sum(count) FILTER (WHERE zombie) AS zombies,
                   max(committed - first_offset) FILTER (WHERE NOT explained) AS below,
                   min(struct(polled_at, first_offset, last_offset, member, committed))
                       FILTER (WHERE NOT explained) AS worst
            FROM {redeliveries} GROUP BY topic, partition
        ), ordered AS (
            SELECT *, max(last_offset) OVER (
                PARTITION BY member, poll, topic, partition ORDER BY first_offset, last_offset
                {BEFORE}) AS reached
            FROM {deliveries}
        ), read AS (
            SELECT topic, partition, count_if(first_offset <= reached) AS doubled,
                   min(CASE WHEN first_offset <= reached
                            THEN struct(polled_at, member, poll, first_offset) END) AS first
            FROM ordered WHERE :commit NOT IN ('external', 'transaction')
            GROUP BY topic, partition
        )
        SELECT concat(r.topic, '-', r.partition) AS subject, a.worst.polled_at AS at,
               coalesce(a.below, 0) AS measured, 0 AS bound_high,
               IF(r.doubled > 0,
                  clause('came twice in one poll: ', r.first.member, ' had offset ',
                         r.first.first_offset, ' twice in its poll ', r.first.poll), NULL) AS wrong,
               concat(coalesce(a.count, 0), ' records delivered again, ', coalesce(a.zombies, 0),
                      ' of them to a removed member',
                      coalesce(concat('; first ', a.worst.first_offset, ' to ',
                                      a.worst.last_offset, ' again to ', a.worst.member,
                                      ', although ', a.worst.committed, ' had been committed'),
                               '')) AS note
        FROM read r LEFT JOIN again a ON same(a, r, topic, partition)
    """


@Rule(
    "X32c",
    title="Committed positions never go back",
    statement="The accepted committed position of a partition never decreases.",
    source="KafkaConsumer, Offsets and Consumer Position",
    unit="records",
    things="partitions",
    measures="backwards",
    too_high="had a commit that went back",
    matters="A commit that goes back makes the next owner repeat work that was done and committed.",
)
def commits_go_forward() -> str:
    return """
        WITH commits AS (
            SELECT topic, partition, count(*) AS count,
                   max(previous_committed - committed) AS furthest,
                   min(struct(at, member)) FILTER (WHERE committed < previous_committed) AS back
            FROM {accepted} GROUP BY topic, partition
        )
        SELECT concat(topic, '-', partition) AS subject, back.at AS at,
               greatest(furthest, 0) AS measured, 0 AS bound_high,
               concat(count, ' commits accepted',
                      coalesce(concat(', the first that went back by ', back.member), '')) AS note
        FROM commits
    """


@Rule(
    "X32d",
    title="A hand-over repeats no more than the commit policy allows",
    statement="A hand-over repeats no more records than the commit policy had left uncommitted.",
    source="enable.auto.commit; KafkaConsumer, Manual Offset Control",
    unit="records",
    things="hand-overs",
    measures="delivered again",
    too_high="had more records delivered again than its commit policy allows",
    matters="The commit policy bounds the duplicates of a rebalance.",
)
def repeats_fit_policy() -> str:
    """Hand-overs: a partition's next owner, and how many records it read again.

    What may be read again is what the commit policy had left open when the one before stopped.
    sync, async: each batch is committed before (async: while) the next is polled, so one batch
    (async: two), and one more for each commit since the last accepted one that failed or was never
    answered. auto: what the one before was given in its last commit interval and a second, and a
    batch; interval the same, and neither is examined of a member whose link was cut, for no commit
    came through. revoke: a batch, if it was told to give the partition up; what it had if not, so
    that is not examined.
    """
    return """
        WITH handovers AS (
            SELECT *, lag(member) OVER w AS member_before, lag(ended_by) OVER w AS ended_before
            FROM {ownership}
            WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at, member)
        ), repeated AS (
            SELECT h.topic, h.partition, h.member, h.from_at, h.ended_before, h.member_before,
                   coalesce(sum(r.count), 0) AS count,
                   max(struct(r.first_polled_at AS at, r.first_member AS member)) AS read_last
            FROM handovers h LEFT JOIN {redeliveries} r ON same(r, h, topic, partition, member)
             AND r.polled_at >= h.from_at AND (h.to_at IS NULL OR r.polled_at <= h.to_at)
             AND r.first_polled_at < h.from_at
            WHERE h.member_before IS NOT NULL
            GROUP BY h.topic, h.partition, h.member, h.from_at, h.ended_before, h.member_before
        ), moments AS (
            SELECT topic, partition, at, at AS accepted_at, CAST(NULL AS STRING) AS member
            FROM {accepted}
            UNION ALL
            SELECT topic, partition, from_at, NULL, member FROM repeated
        ), committed AS (
            SELECT topic, partition, at AS from_at, member,
                   max(accepted_at) OVER (PARTITION BY topic, partition ORDER BY at) AS at
            FROM moments
        ), failed AS (
            SELECT r.topic, r.partition, r.from_at, count(*) AS commits
            FROM repeated r LEFT JOIN committed k USING (topic, partition, from_at, member)
            JOIN {commits} c ON same(c, r, topic, partition)
             AND c.asked_at <= r.from_at AND (k.at IS NULL OR c.asked_at >= k.at)
            WHERE c.error_code IS NULL OR c.error_code <> :NONE
            GROUP BY r.topic, r.partition, r.from_at
        ),
        -- Within buckets of time as long as what is looked for: it lies in two of them.
        slots AS (
            SELECT *, explode(sequence(unix_millis(read_last.at) DIV (:auto_commit_ms + 1000) - 1,
                                       unix_millis(read_last.at) DIV (:auto_commit_ms + 1000)))
                       AS slot
            FROM repeated WHERE :commit IN ('auto', 'interval') AND count > 0
        ), fresh AS (
            SELECT s.topic, s.partition, s.from_at, sum(d.count) AS count
            FROM slots s JOIN {deliveries} d
              ON same(d, s, topic, partition) AND d.member = s.read_last.member
             AND unix_millis(d.polled_at) DIV (:auto_commit_ms + 1000) = s.slot
             AND d.polled_at <= s.read_last.at
             AND d.polled_at >= after(-(:auto_commit_ms + 1000), s.read_last.at)
            GROUP BY s.topic, s.partition, s.from_at
        ), bounded AS (
            SELECT r.*,
                   CASE WHEN :commit IN ('auto', 'interval')
                        THEN :batch_records + coalesce(f.count, 0)
                        WHEN :commit = 'async' THEN :batch_records * (2 + coalesce(x.commits, 0))
                        WHEN :commit = 'revoke' THEN :batch_records
                        ELSE :batch_records * (1 + coalesce(x.commits, 0)) END AS high,
                   coalesce(x.commits, 0) AS commits
            FROM repeated r
            LEFT JOIN failed x USING (topic, partition, from_at)
            LEFT JOIN fresh f USING (topic, partition, from_at)
            LEFT ANTI JOIN (
                SELECT m.member, w.injecting_at, coalesce(w.healed_at, :ended_at) AS healed_at
                FROM {fault_windows} w JOIN {members} m ON w.resolved IN (m.member, m.lane)
                WHERE w.link_cut
            ) c ON c.member = r.read_last.member AND :commit IN ('auto', 'interval')
               AND r.read_last.at BETWEEN c.injecting_at AND c.healed_at
        )
        SELECT concat(topic, '-', partition, ' to ', member) AS subject, from_at AS at,
               count AS measured, high AS bound_high,
               concat(:commit, ' commits, ', commits, ' of them not accepted since the last one')
                   AS note
        FROM bounded
        WHERE :commit <> 'revoke' OR ended_before IN ('revoked', 'closed')
    """
