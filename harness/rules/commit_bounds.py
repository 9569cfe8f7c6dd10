"""What a member may commit: what it was given, of partitions that it holds, in its generation."""

from typing import Final

from harness.rules.lookups import STANDS  # noqa: F401 (a query names it)
from harness.rules.rule import Rule

# Positions that the coordinator accepted from members, one row per request and partition.
COMMITS = """
    WITH commits AS (
        SELECT member, member_id, broker, api, topic, partition, committed, generation,
               arrived_at, processed_at, evidence
        FROM {positions}
        WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
          AND error_code = :NONE AND request_error_code = :NONE
          AND member_id IS NOT NULL AND generation >= 0
    )
"""

# Positions that a broker told a client. Who looks an end of the log up names no group.
TOLD: Final = """
    SELECT coalesce(program, client_id), p.topic, p.partition, arrived_at, p.committed
    FROM {requests} LATERAL VIEW explode(positions) AS p
    WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)
      AND p.committed >= 0
"""


@Rule(
    "X36",
    title="A member commits only what it was given",
    statement="A member commits no position beyond the records that it was given, none beyond the "
    "end of the partition, and none of a partition that it does not hold.",
    source="KafkaConsumer, Offsets and Consumer Position; librdkafka issue 2948",
    unit="records",
    things="members and partitions committed",
    measures="beyond what it was given",
    too_high="committed records that it had not been given",
    matters="The next owner begins at the committed position: records before it that nobody was "
    "given are lost, and a position of a former owner undoes the new owner's.",
    always=True,
)
def commits_what_it_was_given() -> str:
    """Per member and partition the commit that was furthest beyond what it had been given.

    Law: A member commits a position up to which it was handed records, or that a broker told it, of
    a partition that it holds in the generation in which it commits.

    A position that a coordinator or a partition's leader had told it may be committed as well: it
    has no record before it. Over the 37 kept runs no member was beyond either, nor more than the
    slack after the end of its time with the partition. What a program of somebody else's was
    handed is not known; which partitions the coordinator gave it is (`stray_commits`).
    """
    return """
        {COMMITS}, ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {topology} WHERE what = 'end_offset' GROUP BY topic, partition
        ), mixed AS (
            SELECT member, topic, partition, after(-:slack_ms, at) AS at, position,
                   CAST(NULL AS BIGINT) AS committed, CAST(NULL AS STRING) AS evidence
            FROM {handed}
            UNION ALL
            SELECT member, topic, partition, arrived_at, NULL, committed, evidence FROM commits
        ), ordered AS (
            SELECT *, max(position) OVER (
                PARTITION BY member, topic, partition ORDER BY at, position NULLS LAST, committed
                {SO_FAR}) AS given
            FROM mixed
        ), strays AS (
            SELECT member, topic, partition, count(*) AS strays, min(at) AS at
            FROM {stray_commits} GROUP BY member, topic, partition
        ), given_up AS (
            SELECT s.member, s.topic, s.partition,
                   concat(', first ', round(ms_between(max(o.to_at), any_value(s.at)) / 1e3, 2),
                          ' s after it had given it up') AS since
            FROM strays s JOIN {ownership} o ON same(o, s, member, topic, partition)
             AND o.to_at <= s.at
            GROUP BY s.member, s.topic, s.partition
        ), furthest AS (
            SELECT member, topic, partition, count(*) AS commits, max(committed) AS committed,
                   max(struct(committed - given AS beyond, at, committed, given, evidence))
                       AS worst
            FROM ordered WHERE committed IS NOT NULL GROUP BY member, topic, partition
        )
        SELECT concat(f.member, ' on ', f.topic, '-', f.partition) AS subject,
               coalesce(s.at, f.worst.at) AS at,
               IF(f.worst.beyond IS NULL, NULL, greatest(0, f.worst.beyond)) AS measured,
               IF(f.worst.beyond IS NULL, NULL, 0) AS bound_high,
               CASE WHEN f.committed > e.end_offset
                    THEN clause('committed ', f.committed, ', beyond the end of the partition, ',
                                e.end_offset)
                    WHEN s.strays > 0
                    THEN clause('committed a partition that it did not hold, ', s.strays,
                                ' of ', f.commits, ' times', coalesce(g.since, '')) END AS wrong,
               IF(f.worst.beyond IS NULL, concat(f.commits, ' commits'),
                  concat('committed ', f.worst.committed, ' when it had been given records up to ',
                         f.worst.given)) AS note, f.worst.evidence AS evidence
        FROM furthest f LEFT JOIN strays s USING (member, topic, partition)
        LEFT JOIN given_up g USING (member, topic, partition)
        LEFT JOIN ends e USING (topic, partition)
    """


@Rule(
    "X37",
    title="A commit is accepted only in its own generation",
    statement="The coordinator accepts a commit only with the group's current generation, and "
    "not between join and assignment. In KIP-848 it accepts only an epoch that the member was "
    "given since it last joined, and since it was assigned the partition.",
    source="ClassicGroup.validateOffsetCommit; ConsumerGroup.validateOffsetCommit; KIP-1251",
    unit="commits",
    things="member ids and generations",
    measures="accepted",
    matters="A former owner whose commits are accepted moves the position under the new owner.",
    always=True,
)
def commits_in_its_generation() -> str:
    """Accepted commits by the generation that they name, against the group's when they came.

    A commit can be handled at any moment from its arrival until its answer is ready. A member of
    KIP-848 may name its epoch, or one before as long as it has had the partition since then. Nobody
    is accused of what was so within the slack of that. Commits of transactions are not asked where
    the rebalance stands.
    """
    return """
        {COMMITS}, {STANDS}, told AS (
            SELECT member_id, processed_at AS at, member_epoch AS epoch, generation = 0 AS joins
            FROM {own_requests}
            WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE AND member_epoch > 0
            UNION ALL
            -- A classic member of such a group is told by its join; what it was told before still
            -- counts until it has its new part.
            SELECT member_id, processed_at, generation,
                   processed_at = min(processed_at) OVER (PARTITION BY member_id)
            FROM {joins}
        ), modern AS (
            SELECT c.member_id, c.generation, c.arrived_at, max(t.epoch) AS newest,
                   -- A join that came a moment later says nothing of it.
                   coalesce(max(CASE WHEN t.joins AND t.at <= after(-:slack_ms, c.arrived_at)
                                     THEN t.at END), min(t.at)) AS joined_at
            FROM commits c JOIN told t
              ON t.member_id = c.member_id AND t.at <= after(:slack_ms, c.processed_at)
            GROUP BY c.member_id, c.generation, c.arrived_at
        ), oldest AS (
            SELECT m.member_id, m.generation, m.arrived_at, m.newest, min(t.epoch) AS oldest
            FROM modern m JOIN told t ON t.member_id = m.member_id AND t.at >= m.joined_at
            GROUP BY m.member_id, m.generation, m.arrived_at, m.newest
        ), answers AS (
            SELECT member_id, processed_at AS at, member_epoch AS epoch, assigned,
                   row_number() OVER w AS number, lead(arrived_at) OVER w AS next_at
            FROM {own_requests}
            WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE AND assigned IS NOT NULL
            WINDOW w AS (PARTITION BY member_id ORDER BY processed_at)
        ), parts AS (
            -- Answers in a row that have a partition have the same `stretch`.
            SELECT member_id, at, epoch, number, next_at, p.topic, p.partition,
                   number - row_number() OVER (
                       PARTITION BY member_id, p.topic, p.partition ORDER BY number) AS stretch
            FROM answers LATERAL VIEW explode(assigned) AS p
        ), held AS (
            SELECT member_id, topic, partition, min_by(epoch, number) AS epoch, min(at) AS from_at,
                   max_by(struct(next_at AS at), number).at AS to_at
            FROM parts GROUP BY member_id, topic, partition, stretch
        ), early AS (
            SELECT c.member_id, c.generation, c.arrived_at, max(h.epoch) AS epoch
            FROM commits c JOIN held h
              ON same(h, c, member_id, topic, partition) AND h.epoch > c.generation
             AND h.from_at <= after(-:slack_ms, c.arrived_at)
             AND (h.to_at IS NULL OR h.to_at > after(:slack_ms, c.processed_at))
            GROUP BY c.member_id, c.generation, c.arrived_at
        ), timed AS (
            -- Each commit behind the last change of its group: a day has too many of both to join.
            SELECT member, member_id, api, generation, broker, arrived_at, processed_at, evidence,
                   max(stand) OVER (PARTITION BY broker ORDER BY at) AS s
            FROM (
                SELECT DISTINCT member, member_id, api, generation, broker, arrived_at,
                       processed_at, evidence, after(-:slack_ms, arrived_at) AS at, NULL AS stand
                FROM commits
                UNION ALL
                SELECT NULL, NULL, NULL, NULL, broker, NULL, NULL, NULL, at,
                       struct(at, until IS NULL AS lasts, until, stands) FROM stands
            )
        ), judged AS (
            SELECT DISTINCT c.member, c.member_id, c.generation, c.broker, c.arrived_at, c.evidence,
                   CASE WHEN c.s.stands <> c.generation
                             AND (c.s.until IS NULL OR c.s.until > after(:slack_ms, c.processed_at))
                        THEN concat('when the group was in ', c.s.stands)
                        WHEN c.s.stands IS NULL AND c.generation > o.newest
                        THEN concat('when it had been told ', o.newest, ' at most')
                        WHEN c.s.stands IS NULL AND c.generation < o.oldest
                        THEN concat('when it had joined anew with ', o.oldest)
                        WHEN e.epoch IS NOT NULL
                        THEN concat('when it had been given the partition in ', e.epoch)
                        WHEN g.joined_at IS NOT NULL
                        THEN 'between join and assignment' END AS stale
            FROM timed c LEFT JOIN oldest o ON same(o, c, member_id, generation, arrived_at)
            LEFT JOIN early e ON same(e, c, member_id, generation, arrived_at)
            LEFT JOIN {generations} g
              ON same(g, c, broker, generation) AND g.event = 'stabilized'
             AND c.api = 'OFFSET_COMMIT' AND c.arrived_at >= after(:slack_ms, g.joined_at)
             AND c.processed_at <= after(-:slack_ms, g.synced_at)
            WHERE c.arrived_at IS NOT NULL
        )
        SELECT concat(min(member), ' in generation ', generation) AS subject,
               min(arrived_at) AS at, count(*) AS measured,
               CASE WHEN count(stale) > 0
                    THEN clause('had ', count(stale), ' commits accepted ',
                                min_by(stale, struct(arrived_at, evidence))
                                    FILTER (WHERE stale IS NOT NULL))
                    END AS wrong,
               min_by(evidence, struct(arrived_at, evidence)) AS evidence
        FROM judged GROUP BY member_id, generation
    """


@Rule(
    "X73",
    title="A member commits only what it has processed",
    statement="A member that commits when its work is done commits no position beyond the records "
    "that it has processed.",
    source="KafkaConsumer, Manual Offset Control",
    unit="records",
    things="members and partitions committed",
    measures="beyond what it had processed",
    too_high="committed records that it had not processed yet",
    matters="If the process dies before it has processed them, nobody does.",
    in_passing=True,
)
def commits_what_it_has_processed() -> str:
    """Per member and partition the commit that was furthest beyond what had been processed.

    What the client library commits by itself follows what was given (X36), and in a transaction
    work and commit are one. A position that a broker had told it may be committed as well.
    """
    return """
        WITH known AS (
            SELECT member, topic, partition, processed_at AS at, last_offset + 1 AS position
            FROM {deliveries} WHERE processed_at IS NOT NULL
            UNION ALL
            {TOLD}
        ), mixed AS (
            SELECT member, topic, partition, at, position, CAST(NULL AS BIGINT) AS committed
            FROM known
            UNION ALL
            SELECT c.member, c.topic, c.partition, c.asked_at, NULL, c.committed
            FROM {commits} c JOIN {members} m ON m.member = c.member
            WHERE c.how IN ('sync', 'async', 'interval', 'revoke')
              AND c.asked_at IS NOT NULL
        ), ordered AS (
            SELECT *, max(position) OVER (
                PARTITION BY member, topic, partition ORDER BY at, position NULLS LAST, committed
                {SO_FAR}) AS done
            FROM mixed
        ), furthest AS (
            SELECT member, topic, partition, count(*) AS commits,
                   max(struct(committed - coalesce(done, 0) AS beyond, at, committed, done))
                       AS worst
            FROM ordered WHERE committed IS NOT NULL GROUP BY member, topic, partition
        )
        SELECT concat(member, ' on ', topic, '-', partition) AS subject, worst.at AS at,
               greatest(0, worst.beyond) AS measured, 0 AS bound_high,
               concat('committed ', worst.committed, ' when it had processed records up to ',
                      coalesce(worst.done, 0), '; ', commits, ' commits') AS note
        FROM furthest
    """
