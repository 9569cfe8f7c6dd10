"""What becomes of records and commits: nothing lost, and nothing repeated without a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# How the coordinator refuses a member that is no longer in the group: ILLEGAL_GENERATION,
# UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID; in KIP-848 FENCED_MEMBER_EPOCH and
# STALE_MEMBER_EPOCH.
_REFUSALS = "(22, 25, 27, 82, 110, 113)"


def _removed_cannot_commit(t: Tables) -> Frame:
    """Commits of member ids that had been removed, and what they had read but not committed.

    Who left by closing gave its partitions back first and is not examined. A commit that its
    client never got an answer to counts by what the coordinator says, if it reached it at all. So
    does one that the client made by itself: when it did, only the coordinator tells. What is kept
    elsewhere than with the coordinator (external, transaction) is not known here, so nothing is
    said of work that it may cover.
    """
    return t.sql(
        """
        WITH removed AS (
            SELECT m.* FROM {removals} m LEFT ANTI JOIN {client_events} c
              ON c.member = m.member AND c.event = 'closing' AND c.event_at <= m.removed_at
        ),
        at_coordinator AS (
            SELECT concat(c.member, ' commits ', c.topic, '-', c.partition, ' (coordinator)')
                       AS subject, c.at, c.error_code IN """
        + _REFUSALS
        + """ AS ok,
                   c.error_code AS measured, concat('answered with error ', c.error_code) AS why
            FROM {commits_judged} c JOIN removed r
              ON r.member_id = c.member_id AND r.removed_at = c.removed_at
        ),
        at_client AS (
            SELECT concat(c.member, ' commits ', c.topic, '-', c.partition, ' (client)') AS subject,
                   c.asked_at AS at, coalesce(c.error_code <> 0, true) AS ok,
                   c.error_code AS measured,
                   CASE WHEN c.error_code IS NULL THEN 'never answered'
                        WHEN c.error_code = 0 THEN 'accepted'
                        ELSE concat('refused: ', coalesce(c.error, string(c.error_code)))
                        END AS why
            FROM {commits} c JOIN removed r
              ON r.member_id = c.member_id AND c.asked_at > r.removed_at
             AND (r.back_at IS NULL OR c.asked_at < r.back_at)
            WHERE c.how <> 'external'
        ),
        -- The last position accepted before each removal, in one pass over the commits.
        moments AS (
            SELECT topic, partition, at, committed, CAST(NULL AS STRING) AS stay
            FROM {accepted}
            UNION ALL
            SELECT p.topic, p.partition, r.removed_at, NULL, r.stay
            FROM removed r CROSS JOIN (SELECT DISTINCT topic, partition FROM {accepted}) p
        ),
        positions AS (
            SELECT topic, partition, stay,
                   last_value(committed, true) OVER (PARTITION BY topic, partition ORDER BY at
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS committed
            FROM moments
        ),
        unfinished AS (
            SELECT d.member, d.member_id, d.topic, d.partition, r.removed_at, r.back_at,
                   greatest(min(d.first_offset), coalesce(max(p.committed), 0)) AS first,
                   max(d.last_offset) AS last
            FROM {deliveries} d JOIN removed r
              ON r.member_id = d.member_id AND d.polled_at <= r.removed_at
             AND (r.since_at IS NULL OR d.polled_at > r.since_at)
            LEFT JOIN positions p
              ON p.stay = r.stay AND p.topic = d.topic AND p.partition = d.partition
            WHERE d.last_offset >= coalesce(p.committed, 0)
            GROUP BY d.member, d.member_id, d.topic, d.partition, r.removed_at, r.back_at
        ),
        -- What overlaps it is found within buckets of offsets.
        wanted AS (
            SELECT *, explode(sequence(first DIV 1024, last DIV 1024)) AS bucket FROM unfinished
        ),
        reads AS (
            SELECT *, explode(sequence(first_offset DIV 1024, last_offset DIV 1024)) AS bucket
            FROM {deliveries}
        ),
        reread AS (
            SELECT u.member, u.member_id, u.topic, u.partition, u.removed_at, u.first, u.last,
                   min(d.first_offset) AS again_from, max(d.last_offset) AS again_to
            FROM wanted u LEFT JOIN reads d
              ON d.topic = u.topic AND d.partition = u.partition AND d.bucket = u.bucket
             AND d.first_offset <= u.last AND d.last_offset >= u.first
             AND d.polled_at > u.removed_at
             AND (d.member_id <> u.member_id OR d.polled_at > u.back_at)
            GROUP BY u.member, u.member_id, u.topic, u.partition, u.removed_at, u.first, u.last
        ),
        work AS (
            SELECT concat(topic, '-', partition, ' after ', member) AS subject, removed_at AS at,
                   coalesce(again_from <= first AND again_to >= last, false) AS ok,
                   CAST(NULL AS INT) AS measured,
                   CASE WHEN again_from <= first AND again_to >= last
                        THEN concat(last - first + 1, ' uncommitted records delivered again')
                        WHEN again_from IS NULL
                        THEN 'its uncommitted work was never delivered again'
                        ELSE concat('read again from ', again_from, ', not from ', first) END AS why
            FROM reread WHERE :commit NOT IN ('external', 'transaction')
        )
        SELECT * FROM at_coordinator UNION ALL SELECT * FROM at_client UNION ALL SELECT * FROM work
        """
    )


def _nothing_lost(t: Tables) -> Frame:
    """Per partition, acknowledged records that nobody finished processing.

    Ranges are merged into islands on both sides before they are compared. What lies past the last
    position read may only not have been polled yet: unseen, not lost, unless the reads reached the
    partition's end. Records that were deleted on purpose count as done.
    """
    return t.sql(
        """
        WITH sent AS (
            SELECT topic, partition, first_offset, last_offset,
                   max(last_offset) OVER (PARTITION BY topic, partition ORDER BY first_offset
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
            FROM {sends} WHERE outcome = 'acknowledged' AND first_offset IS NOT NULL
        ),
        sent_islands AS (
            SELECT topic, partition, min(first_offset) AS first, max(last_offset) AS last
            FROM (SELECT *, count_if(reached IS NULL OR first_offset > reached + 1) OVER (
                      PARTITION BY topic, partition ORDER BY first_offset) AS island FROM sent)
            GROUP BY topic, partition, island
        ),
        done AS (
            SELECT topic, partition, first_offset, last_offset,
                   max(last_offset) OVER (PARTITION BY topic, partition ORDER BY first_offset
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
            FROM (SELECT topic, partition, first_offset, last_offset
                  FROM {deliveries} WHERE processed_at IS NOT NULL
                  UNION ALL
                  -- A transaction may have been committed when its process died before it said so.
                  SELECT topic, partition, first_offset, last_offset
                  FROM {outputs} WHERE isolation = 'read_committed'
                  UNION ALL
                  -- What was deleted on purpose is nobody's work any more.
                  SELECT p.topic, p.partition, 0, p.committed - 1
                  FROM {requests} LATERAL VIEW explode(positions) AS p
                  WHERE api = 'DELETE_RECORDS' AND p.error_code = 0 AND p.committed > 0)
        ),
        done_islands AS (
            SELECT topic, partition, min(first_offset) AS first, max(last_offset) AS last
            FROM (SELECT *, count_if(reached IS NULL OR first_offset > reached + 1) OVER (
                      PARTITION BY topic, partition ORDER BY first_offset) AS island FROM done)
            GROUP BY topic, partition, island
        ),
        read_to AS (
            SELECT topic, partition, max(last_offset) AS last FROM {deliveries}
            GROUP BY topic, partition
        ),
        ends AS (
            SELECT topic, partition, max_by(end_offset, at) AS end_offset
            FROM {topology} WHERE what = 'end_offset' GROUP BY topic, partition
        ),
        compared AS (
            SELECT s.topic, s.partition, s.first, s.last, r.last AS read_to, e.end_offset,
                   coalesce(sum(least(s.last, d.last) - greatest(s.first, d.first) + 1)
                            FILTER (WHERE d.first IS NOT NULL), 0) AS found
            FROM sent_islands s
            LEFT JOIN done_islands d
              ON d.topic = s.topic AND d.partition = s.partition
             AND d.first <= s.last AND d.last >= s.first
            LEFT JOIN read_to r ON r.topic = s.topic AND r.partition = s.partition
            LEFT JOIN ends e ON e.topic = s.topic AND e.partition = s.partition
            GROUP BY s.topic, s.partition, s.first, s.last, r.last, e.end_offset
        ),
        counted AS (
            SELECT topic, partition, sum(last - first + 1) AS acknowledged,
                   sum(last - first + 1 - found) AS missing,
                   -- Nothing is found past what was read, so all that was found is below it.
                   sum(greatest(0, least(last, coalesce(read_to, -1)) - first + 1) - found)
                       AS skipped,
                   coalesce(max(read_to) + 1 >= max(end_offset), false) AS read_all
            FROM compared GROUP BY topic, partition
        )
        SELECT concat(topic, '-', partition) AS subject,
               CASE WHEN skipped > 0 OR missing > 0 AND read_all THEN false
                    WHEN missing > 0 THEN NULL ELSE true END AS ok,
               missing AS measured, CAST(NULL AS DOUBLE) AS bound_low, 0 AS bound_high,
               CASE WHEN missing = 0
                    THEN concat('all ', acknowledged, ' acknowledged records were processed')
                    WHEN skipped > 0 OR read_all
                    THEN concat(missing, ' of ', acknowledged,
                                ' acknowledged records were never processed')
                    ELSE concat(missing, ' records past the last position read: unseen, not lost')
               END AS why
        FROM counted
        """
    )


def _repeats_explained(t: Tables) -> Frame:
    """Where positions are kept elsewhere than with the coordinator, nothing is examined."""
    return t.sql(
        """
        WITH again AS (
            SELECT topic, partition, sum(count) AS count,
                   count_if(NOT explained) AS unexplained,
                   sum(count) FILTER (WHERE zombie) AS zombies,
                   max(CASE WHEN NOT explained THEN committed - first_offset END) AS below,
                   min_by(struct(first_offset, last_offset, member, committed, polled_at),
                          CASE WHEN explained THEN NULL ELSE polled_at END) AS worst
            FROM {redeliveries} GROUP BY topic, partition
        ),
        read AS (
            SELECT DISTINCT topic, partition FROM {deliveries}
            WHERE :commit NOT IN ('external', 'transaction')
        )
        SELECT concat(r.topic, '-', r.partition) AS subject, a.worst.polled_at AS at,
               coalesce(a.unexplained, 0) = 0 AS ok, coalesce(a.below, 0) AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, 0 AS bound_high,
               CASE WHEN a.unexplained > 0
                    THEN concat(a.worst.first_offset, ' to ', a.worst.last_offset, ' again to ',
                                a.worst.member, ', although ', a.worst.committed,
                                ' had been committed')
                    ELSE concat(coalesce(a.count, 0), ' records delivered again, ',
                                coalesce(a.zombies, 0), ' of them to a removed member, none ',
                                'of the others below what was committed')
               END AS why
        FROM read r LEFT JOIN again a ON a.topic = r.topic AND a.partition = r.partition
        """
    )


def _commits_go_forward(t: Tables) -> Frame:
    return t.sql(
        """
        SELECT concat(topic, '-', partition) AS subject,
               min(at) FILTER (WHERE committed < previous_committed) AS at,
               count_if(committed < previous_committed) = 0 AS ok,
               coalesce(max(previous_committed - committed)
                        FILTER (WHERE committed < previous_committed), 0) AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, 0 AS bound_high,
               CASE WHEN count_if(committed < previous_committed) = 0
                    THEN concat(count(*), ' commits accepted')
                    ELSE concat('went back by ', min_by(member, at)
                                FILTER (WHERE committed < previous_committed)) END AS why
        FROM {accepted} GROUP BY topic, partition
        """
    )


def _repeats_fit_policy(t: Tables) -> Frame:
    """Hand-overs: a partition's next owner, and how many records it read again.

    What may be read again is what the commit policy had left open when the one before stopped.
    sync, async: each batch is committed before (async: while) the next is polled, so one batch
    (async: two), and one more for each commit since the last accepted one that failed or was never
    answered. auto: what the one before was given in its last commit interval and a second, and a
    batch; interval the same. revoke: a batch, if it was told to give the partition up; what it had
    if not, so that is not examined.
    """
    return t.sql(
        """
        WITH handovers AS (
            SELECT *, lag(member) OVER w AS member_before, lag(ended_by) OVER w AS ended_before
            FROM {ownership} WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at)
        ),
        repeated AS (
            SELECT h.topic, h.partition, h.member, h.from_at, h.ended_before, h.member_before,
                   coalesce(sum(r.count), 0) AS count, min(r.first_offset) AS first_offset,
                   max_by(r.first_member, r.first_polled_at) AS first_member,
                   max(r.first_polled_at) AS first_polled_at
            FROM handovers h LEFT JOIN {redeliveries} r
              ON r.topic = h.topic AND r.partition = h.partition AND r.member = h.member
             AND r.polled_at >= h.from_at AND (h.to_at IS NULL OR r.polled_at <= h.to_at)
             AND r.first_polled_at < h.from_at
            WHERE h.member_before IS NOT NULL
            GROUP BY h.topic, h.partition, h.member, h.from_at, h.ended_before, h.member_before
        ),
        moments AS (
            SELECT topic, partition, at, at AS accepted_at, CAST(NULL AS STRING) AS member
            FROM {accepted}
            UNION ALL
            SELECT topic, partition, from_at, NULL, member FROM repeated
        ),
        committed AS (
            SELECT topic, partition, at AS from_at, member,
                   last_value(accepted_at, true) OVER (PARTITION BY topic, partition ORDER BY at
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS at
            FROM moments
        ),
        failed AS (
            SELECT r.topic, r.partition, r.from_at, count(*) AS commits
            FROM repeated r LEFT JOIN committed k USING (topic, partition, from_at, member)
            JOIN {commits} c ON c.topic = r.topic AND c.partition = r.partition
             AND c.asked_at <= r.from_at AND (k.at IS NULL OR c.asked_at >= k.at)
            WHERE c.error_code IS NULL OR c.error_code <> 0
            GROUP BY r.topic, r.partition, r.from_at
        ),
        -- Within buckets of time as long as what is looked for.
        intervals AS (
            SELECT topic, partition, from_at, first_member, first_polled_at AS to_at,
                   timestampadd(MILLISECOND, -(:auto_commit_ms + 1000), first_polled_at) AS since
            FROM repeated WHERE :commit IN ('auto', 'interval') AND count > 0
        ),
        slots AS (
            SELECT *, explode(sequence(unix_millis(since) DIV (:auto_commit_ms + 1000),
                                       unix_millis(to_at) DIV (:auto_commit_ms + 1000))) AS slot
            FROM intervals
        ),
        fresh AS (
            SELECT i.topic, i.partition, i.from_at, sum(d.count) AS count
            FROM slots i JOIN {deliveries} d
              ON d.topic = i.topic AND d.partition = i.partition AND d.member = i.first_member
             AND unix_millis(d.polled_at) DIV (:auto_commit_ms + 1000) = i.slot
             AND d.polled_at <= i.to_at AND d.polled_at >= i.since
            GROUP BY i.topic, i.partition, i.from_at
        ),
        bounded AS (
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
        )
        SELECT concat(topic, '-', partition, ' to ', member) AS subject, from_at AS at,
               count <= high AS ok, count AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               high AS bound_high,
               concat(:commit, ' commits, ', commits, ' of them not accepted since the last one')
                   AS why
        FROM bounded
        WHERE :commit <> 'revoke' OR ended_before IN ('revoked', 'closed')
        """
    )


REMOVED_CANNOT_COMMIT = Rule(
    id="R19",
    title="A removed member cannot commit",
    statement=(
        "Once a member is removed its commits are refused, and what it had not committed is "
        "delivered again."
    ),
    source="seed 002, session.timeout.ms; CommitFailedException",
    unit="error code",
    things="commits after a removal and partitions left uncommitted",
    measures="answered",
    examine=_removed_cannot_commit,
)
NOTHING_LOST = Rule(
    id="X32a",
    title="No acknowledged record is lost",
    statement="Every record that was acknowledged to the producer is processed by a member.",
    source="Kafka documentation, Message Delivery Semantics (at least once)",
    unit="records",
    things="partitions",
    measures="missing",
    examine=_nothing_lost,
)
REPEATS_EXPLAINED = Rule(
    id="X32b",
    title="Only uncommitted records come twice",
    statement=(
        "A record is delivered again only if it lies at or after the last position that was "
        "committed before; a member that has been removed may still hand out what it had fetched."
    ),
    source="Kafka documentation, Message Delivery Semantics; KafkaConsumer, Offsets",
    unit="records",
    things="partitions",
    measures="below the committed position",
    examine=_repeats_explained,
)
COMMITS_GO_FORWARD = Rule(
    id="X32c",
    title="Committed positions never go back",
    statement="The accepted committed position of a partition never decreases.",
    source="KafkaConsumer, Offsets and Consumer Position",
    unit="records",
    things="partitions",
    measures="backwards",
    examine=_commits_go_forward,
)
REPEATS_FIT_POLICY = Rule(
    id="X32d",
    title="What comes twice fits the commit policy",
    statement=(
        "At a hand-over no more records come twice than the commit policy had left uncommitted."
    ),
    source="enable.auto.commit; KafkaConsumer, Manual Offset Control",
    unit="records",
    things="hand-overs",
    measures="delivered again",
    examine=_repeats_fit_policy,
)
