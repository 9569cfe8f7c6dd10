"""Where a member starts to read: what was committed, when, by whom, and what happens without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# Codes with which a coordinator refuses a commit for good. After any other, the time-outs of the
# append above all, it may still take effect: GroupMetadata and OffsetMetadataManager, 4.3.
_REFUSED = "(12, 22, 24, 25, 27, 28, 30, 82, 110, 113)"

# How long a member waits in a poll that brings nothing (consumers/consumer.py).
_IDLE_POLL_MS = 200

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


def _callback_first(t: Tables) -> Frame:
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


def _handover_repeats(t: Tables) -> Frame:
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


def _sought(t: Tables) -> Frame:
    """Assignments of partitions of which a position was kept outside Kafka before.

    A member that died while it wrote one may have kept it or not.
    """
    return t.sql(
        """
        WITH written AS (
            SELECT topic, partition, asked_at AS at, committed, error_code = 0 AS kept
            FROM {commits} WHERE how = 'external'
        ),
        started AS (
            SELECT o.topic, o.partition, o.member, o.from_at, o.to_at,
                   max_by(k.committed, k.at) AS kept, max(k.at) AS kept_at
            FROM {ownership} o JOIN written k
              ON k.topic = o.topic AND k.partition = o.partition AND k.at <= o.from_at AND k.kept
            GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
        ),
        read AS (
            SELECT s.topic, s.partition, s.member, s.from_at, s.kept, s.kept_at,
                   min_by(d.first_offset, d.polled_at) AS first
            FROM started s JOIN {deliveries} d
              ON d.topic = s.topic AND d.partition = s.partition AND d.member = s.member
             AND d.polled_at >= s.from_at AND (s.to_at IS NULL OR d.polled_at <= s.to_at)
            GROUP BY s.topic, s.partition, s.member, s.from_at, s.kept, s.kept_at
        ),
        judged AS (
            SELECT r.*, first = r.kept OR count(w.at) > 0 AS ok
            FROM read r LEFT JOIN written w
              ON w.topic = r.topic AND w.partition = r.partition AND w.kept IS NULL
             AND w.at > r.kept_at AND w.at <= r.from_at AND w.committed = r.first
            GROUP BY ALL
        )
        SELECT concat(topic, '-', partition, ' to ', member) AS subject, from_at AS at,
               ok, IF(ok, 0, first - kept) AS measured, 0 AS bound_low, 0 AS bound_high,
               concat('kept ', kept, ', first read ', first) AS why
        FROM judged
        """
    )


def _read_your_commit(t: Tables) -> Frame:
    """Every position that a coordinator named, whoever asked, against the commits before.

    It is the last one whose committer had been told so, or a later one: asked for by then, and
    accepted meanwhile or not refused (a commit that timed out may have been made). A deletion is a
    commit of nothing. Transactional commits take effect with their transaction, so they only count
    among the later ones; automatic ones that were in flight when their broker died are on nobody's
    record. An empty group's positions expire, at the earliest a retention after the last commit.
    Answers of a coordinator are stamped when they are logged, so what came within slack of each
    other may have come the other way round.

    A broker that has just loaded the group tells what was replicated everywhere by then, and hears
    of what has been since only when it writes something itself (CoordinatorRuntime, which begins
    to listen to the high watermark when it has loaded): until then it may tell an older position.
    """
    return t.sql(
        """
        WITH asked AS (
            SELECT api, p.topic, p.partition, p.committed, p.error_code, arrived_at, answered_at
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE',
                                               'TXN_OFFSET_COMMIT')
            UNION ALL
            -- One that was sent again, to another coordinator, was asked for before that.
            SELECT 'client', topic, partition, committed, coalesce(error_code, -1), asked_at,
                   CASE WHEN error_code = 0 THEN answered_at END
            FROM {commits} WHERE asked_at IS NOT NULL AND how <> 'external'
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
            SELECT topic, partition, timestampadd(MILLISECOND, :slack_ms, answered_at) AS at,
                   arrived_at AS since, committed AS known,
                   CAST(NULL AS BIGINT) AS told, CAST(NULL AS TIMESTAMP) AS told_at,
                   CAST(NULL AS STRING) AS client_id, CAST(NULL AS INT) AS broker,
                   CAST(NULL AS STRING) AS evidence
            FROM asked WHERE error_code = 0 AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE')
            UNION ALL
            SELECT p.topic, p.partition, arrived_at, NULL, NULL, p.committed, processed_at,
                   client_id, broker, evidence
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api = 'OFFSET_FETCH' AND coalesce(error_code, 0) = 0
              AND p.error_code = 0 AND p.topic = :topic
        ),
        ordered AS (
            SELECT *, last_value(known, true) OVER before AS expected,
                   last_value(since, true) OVER before AS expected_since
            FROM moments
            WINDOW before AS (PARTITION BY topic, partition ORDER BY at, since NULLS LAST
                              ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        ),
        taken_over AS (
            SELECT t.broker, t.from_at, coalesce(min(r.answered_at), :ended_at) AS to_at
            FROM {tenures} t LEFT JOIN {requests} r
              ON r.`group` = :group AND r.broker = t.broker AND r.arrived_at >= t.from_at
             AND r.api = 'OFFSET_COMMIT' AND r.error_code = 0
            WHERE t.loaded GROUP BY t.broker, t.from_at
        ),
        placed AS (
            SELECT o.topic, o.partition, o.at, o.told, o.told_at, o.client_id, o.broker,
                   o.evidence, o.expected, o.expected_since, count(n.from_at) > 0 AS fresh
            FROM ordered o LEFT JOIN taken_over n
              ON n.broker = o.broker AND n.from_at <= o.told_at
             AND o.at <= timestampadd(MILLISECOND, :slack_ms, n.to_at)
            WHERE o.told IS NOT NULL GROUP BY ALL
        ),
        judged AS (
            SELECT o.*, coalesce(o.fresh AND p.first_asked_at <= o.told_at, false) AS stale,
                   o.told = coalesce(o.expected, -1) OR stale
                   OR coalesce(p.first_asked_at
                                   <= timestampadd(MILLISECOND, :slack_ms, o.told_at)
                               AND (o.expected_since IS NULL OR p.open_to >= o.expected_since),
                               false)
                   OR o.told > coalesce(o.expected, -1) AND :commit = 'auto'
                   OR o.told = -1 AND coalesce(timestampdiff(MILLISECOND, o.expected_since, o.at)
                                               >= :retention_ms, false) AS fits
            FROM placed o LEFT JOIN possible p
              ON p.topic = o.topic AND p.partition = o.partition AND p.committed = o.told
        )
        SELECT concat(topic, '-', partition) AS subject,
               min(at) FILTER (WHERE NOT fits) AS at, count_if(NOT fits) = 0 AS ok,
               max(CASE WHEN fits THEN 0 ELSE greatest(0, coalesce(expected, -1) - told) END)
                   AS measured,
               0 AS bound_high,
               CASE WHEN count_if(NOT fits) = 0
                    THEN concat(count(*), ' answers of ', count(DISTINCT broker),
                                ' coordinators, to ', count(DISTINCT client_id), ' clients',
                                coalesce(concat('; ', nullif(count_if(
                                    stale AND told < coalesce(expected, -1)), 0),
                                    ' older, by one that had just loaded the group'), ''))
                    ELSE min_by(concat('broker-', broker, ' told ', client_id, ' ', told,
                                       ', committed was ', coalesce(string(expected), 'nothing')),
                                CASE WHEN fits THEN NULL ELSE at END) END AS why,
               min_by(evidence, CASE WHEN fits THEN NULL ELSE at END) AS evidence
        FROM judged GROUP BY topic, partition
        """
    )


def _auto_cadence(t: Tables) -> Frame:
    """Gaps between automatic commits of a member, with work and without a rebalance between.

    Medians over a member's stay in its group, so that one late commit of a busy machine does not
    count.

    The library commits by its own clock, or in the first poll after it (Java): up to a batch's
    work and an idle poll later. A commit with nothing new to say is left out, so gaps in which
    nothing was delivered are not examined, nor are those in which the member stalled.
    """
    return t.sql(
        """
        WITH asked AS (
            SELECT client_id AS member, member_id, arrived_at AS at, evidence,
                   lag(arrived_at) OVER (PARTITION BY member_id ORDER BY arrived_at) AS before
            FROM {requests} WHERE `group` = :group AND api = 'OFFSET_COMMIT' AND generation >= 0
        ),
        busy AS (
            SELECT a.member, a.member_id, a.before, a.at, any_value(a.evidence) AS evidence,
                   max(timestampdiff(MICROSECOND, d.polled_at, d.next_at)) / 1e3 AS poll_ms
            FROM asked a JOIN (
                SELECT member, polled_at, lead(polled_at) OVER (
                           PARTITION BY member ORDER BY polled_at, poll) AS next_at
                FROM {deliveries}) d
              ON d.member = a.member AND d.polled_at >= a.before AND d.next_at <= a.at
            WHERE :commit = 'auto'
            GROUP BY a.member, a.member_id, a.before, a.at
        ),
        undisturbed AS (
            SELECT b.* FROM busy b
            LEFT ANTI JOIN {rebalances} r
              ON r.started_at <= b.at AND coalesce(r.completed_at, r.started_at) >= b.before
            LEFT ANTI JOIN {client_events} c
              ON c.member = b.member AND c.event IN ('stall_started', 'stall_ended', 'closing')
             AND c.event_at BETWEEN b.before AND b.at
        )
        SELECT concat(any_value(u.member), ' (', u.member_id, ')') AS subject, max(u.at) AS at,
               median(u.ms) BETWEEN :auto_commit_ms - :auto_commit_late_ms
                                AND :auto_commit_ms + :auto_commit_late_ms + max(u.poll_ms) AS ok,
               median(u.ms) AS measured,
               :auto_commit_ms - :auto_commit_late_ms AS bound_low,
               :auto_commit_ms + :auto_commit_late_ms + max(u.poll_ms) AS bound_high,
               concat('median of ', count(*), ' gaps, ', min(u.ms), ' to ', max(u.ms), ' ms')
                   AS why,
               min_by(u.evidence, u.at) AS evidence
        FROM (SELECT member, member_id, at, evidence,
                     timestampdiff(MICROSECOND, before, at) / 1e3 AS ms,
                     CASE WHEN :client = 'java' THEN poll_ms + :idle_poll_ms ELSE 0 END AS poll_ms
              FROM undisturbed) u
        GROUP BY u.member_id HAVING count(*) >= 3
        """,
        idle_poll_ms=_IDLE_POLL_MS,
    )


def _auto_repeats(t: Tables) -> Frame:
    """Partitions of crashed members: what came twice, against what was handed over lately.

    Lately is a commit interval, the slowest commit of that member and a poll before the last poll
    that brought it records: all before that had been committed. Java's consumer commits when a
    rebalance begins for it, not in its midst, and counts the interval anew from its end; a
    cooperative member is given records all the while. (ConsumerCoordinator, onJoinPrepare, poll and
    onJoinComplete.)
    """
    return t.sql(
        """
        WITH crashed AS (
            SELECT o.topic, o.partition, o.member, o.from_at, max(d.polled_at) AS last_polled_at,
                   max(f.injected_at) AS killed_at
            FROM {ownership} o JOIN {fault_windows} f
              ON f.kind = 'kill-consumer' AND f.resolved = o.member
            JOIN {deliveries} d ON d.member = o.member
            WHERE o.ended_by = 'killed' AND :commit = 'auto'
            GROUP BY o.topic, o.partition, o.member, o.from_at
        ),
        slowest AS (
            SELECT client_id AS member,
                   max(timestampdiff(MICROSECOND, arrived_at, answered_at)) / 1e3 AS ms
            FROM {requests} WHERE `group` = :group AND api = 'OFFSET_COMMIT' GROUP BY client_id
        ),
        slack AS (
            SELECT d.member, max(timestampdiff(MICROSECOND, d.polled_at, d.next_at)) / 1e3 AS ms
            FROM (SELECT member, polled_at, lead(polled_at) OVER (
                      PARTITION BY member ORDER BY polled_at, poll) AS next_at
                  FROM {deliveries}) d
            GROUP BY d.member
        ),
        -- One that died while it joined has no join on record, but was told of the rebalance.
        rounds AS (
            SELECT client_id AS member, api, arrived_at AS from_at,
                   min(IF(api = 'SYNC_GROUP', answered_at, NULL)) OVER (
                       PARTITION BY client_id ORDER BY arrived_at
                       ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS to_at
            FROM {requests}
            WHERE `group` = :group AND :client = 'java'
              AND (api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = 0
                   OR api = 'HEARTBEAT' AND error_code = 27)
        ),
        rejoined AS (
            SELECT c.member, max(r.from_at) AS from_at, max_by(r.to_at, r.from_at) AS to_at
            FROM (SELECT DISTINCT member, last_polled_at FROM crashed) c
            JOIN rounds r
              ON r.member = c.member AND r.api <> 'SYNC_GROUP' AND r.from_at <= c.last_polled_at
            GROUP BY c.member
        ),
        late AS (
            SELECT c.*, :slack_ms + coalesce(s.ms, 0)
                        + CASE WHEN :client = 'java' THEN coalesce(k.ms, 0) ELSE 0 END AS late_ms
            FROM crashed c LEFT JOIN slowest s USING (member) LEFT JOIN slack k USING (member)
        ),
        reach AS (
            SELECT l.*, greatest(
                       :auto_commit_ms,
                       CASE WHEN coalesce(timestampdiff(MICROSECOND, j.to_at, l.last_polled_at)
                                          / 1e3 <= :auto_commit_ms + l.late_ms, true)
                            THEN timestampdiff(MICROSECOND, j.from_at, l.last_polled_at) / 1e3 END
                   ) + l.late_ms AS ms
            FROM late l LEFT JOIN rejoined j USING (member)
        ),
        fresh AS (
            SELECT r.topic, r.partition, r.member, r.from_at, r.last_polled_at, r.killed_at, r.ms,
                   coalesce(sum(d.count), 0) AS count
            FROM reach r LEFT JOIN {deliveries} d
              ON d.topic = r.topic AND d.partition = r.partition AND d.member = r.member
             AND d.polled_at >= timestampadd(MICROSECOND, -CAST(r.ms * 1e3 AS BIGINT),
                                             r.last_polled_at)
            GROUP BY r.topic, r.partition, r.member, r.from_at, r.last_polled_at, r.killed_at, r.ms
        ),
        again AS (
            SELECT f.topic, f.partition, f.member,
                   coalesce(sum(least(r.last_offset, d.last_offset)
                                - greatest(r.first_offset, d.first_offset) + 1), 0) AS count
            FROM fresh f LEFT JOIN {redeliveries} r
              ON r.topic = f.topic AND r.partition = f.partition AND r.first_member = f.member
             AND r.member <> f.member AND r.polled_at > f.killed_at
            -- What came again may reach beyond this member, to what another had had before it.
            LEFT JOIN {deliveries} d
              ON d.topic = r.topic AND d.partition = r.partition AND d.member = f.member
             AND d.polled_at BETWEEN f.from_at AND f.killed_at
             AND d.first_offset <= r.last_offset AND d.last_offset >= r.first_offset
            GROUP BY f.topic, f.partition, f.member
        )
        SELECT concat(topic, '-', partition, ' of ', member) AS subject, f.killed_at AS at,
               a.count <= f.count AS ok, a.count AS measured, f.count AS bound_high,
               concat('handed over in the last ', round(f.ms), ' ms before its last poll: ',
                      f.count) AS why
        FROM fresh f JOIN again a USING (topic, partition, member)
        """
    )


def _auto_covers(t: Tables) -> Frame:
    """Automatic commits per partition and member, against what was processed when each arrived."""
    return t.sql(
        """
        WITH moments AS (
            SELECT topic, partition, processed_at AS at, last_offset + 1 AS done,
                   CAST(NULL AS BIGINT) AS committed, CAST(NULL AS STRING) AS member
            FROM {deliveries} WHERE processed_at IS NOT NULL
            UNION ALL
            SELECT p.topic, p.partition, arrived_at, NULL, p.committed, client_id
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api = 'OFFSET_COMMIT' AND p.error_code = 0
              AND :commit = 'auto'
        ),
        ordered AS (
            SELECT *, coalesce(max(done) OVER (PARTITION BY topic, partition ORDER BY at
                                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), 0) AS reached
            FROM moments
        )
        SELECT concat(topic, '-', partition, ' by ', member) AS subject,
               max_by(at, committed - reached) AS at,
               max(committed - reached) <= 0 AS ok,
               greatest(0, max(committed - reached)) AS measured, 0 AS bound_high,
               concat(count(*), ' commits, at worst ',
                      max_by(concat(committed, ' when ', reached, ' were processed'),
                             committed - reached)) AS why
        FROM ordered WHERE committed IS NOT NULL GROUP BY topic, partition, member
        """
    )


def _reset(t: Tables) -> Frame:
    """Where each member began to read a partition it was given, and what it should have been.

    The committed position, as its coordinator told it, if there is one and the log still has it.
    If not: what the policy says, which the member looks up at the leader (earliest, latest), or
    nothing at all (none).
    """
    return t.sql(
        """
        WITH named AS (
            SELECT api, client_id AS member, p.topic, p.partition, p.committed AS position,
                   get_json_object(detail, '$.timestamp') AS which, processed_at AS at
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE api IN ('OFFSET_FETCH', 'LIST_OFFSETS', 'DELETE_RECORDS') AND p.error_code = 0
        ),
        started AS (
            SELECT o.topic, o.partition, o.member, o.from_at,
                   coalesce(o.to_at, :ended_at) AS to_at,
                   coalesce(get_json_object(any_value(m.settings), "$['auto.offset.reset']"),
                            'earliest') AS policy
            FROM {ownership} o JOIN {members} m USING (member)
            GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
        ),
        told AS (
            SELECT s.topic, s.partition, s.member, s.from_at, s.to_at, s.policy,
                   min_by(n.position, n.at) FILTER (WHERE n.api = 'OFFSET_FETCH'
                       AND n.member = s.member AND n.at >= s.from_at) AS committed,
                   min_by(struct(n.position, n.which), n.at) FILTER (
                       WHERE n.api = 'LIST_OFFSETS' AND n.member = s.member AND n.at >= s.from_at)
                       AS lookup,
                   coalesce(max(n.position) FILTER (WHERE n.api = 'DELETE_RECORDS'
                       AND n.at < s.from_at), 0) AS log_start
            FROM started s LEFT JOIN named n
              ON n.topic = s.topic AND n.partition = s.partition AND n.at <= s.to_at
            GROUP BY s.topic, s.partition, s.member, s.from_at, s.to_at, s.policy
        ),
        read AS (
            SELECT t.topic, t.partition, t.member, t.from_at, any_value(t.policy) AS policy,
                   any_value(t.committed) AS committed, any_value(t.lookup) AS lookup,
                   any_value(t.log_start) AS log_start,
                   min_by(d.first_offset, d.polled_at) AS first
            FROM told t LEFT JOIN {deliveries} d
              ON d.topic = t.topic AND d.partition = t.partition AND d.member = t.member
             AND d.polled_at >= t.from_at AND d.polled_at <= t.to_at
            WHERE t.committed IS NOT NULL
            GROUP BY t.topic, t.partition, t.member, t.from_at
        ),
        judged AS (
            SELECT *,
                   CASE WHEN committed >= log_start THEN 'committed'
                        WHEN policy = 'none' THEN 'nothing'
                        WHEN policy IN ('latest', 'largest', 'end') THEN 'latest'
                        ELSE 'earliest' END AS begin
            FROM read
        ),
        expected AS (
            SELECT *, CASE begin WHEN 'committed' THEN committed WHEN 'earliest' THEN log_start
                                 WHEN 'latest' THEN lookup.position END AS wanted
            FROM judged
        )
        SELECT concat(topic, '-', partition, ' to ', member) AS subject, from_at AS at,
               CASE begin
                    WHEN 'nothing' THEN first IS NULL
                    WHEN 'committed' THEN first = wanted AND lookup IS NULL
                    WHEN 'latest' THEN coalesce(lookup.which = '-1', false) AND first = wanted
                    ELSE coalesce(lookup.which = '-2', false) AND first = wanted END AS ok,
               first - wanted AS measured, 0 AS bound_low, 0 AS bound_high,
               concat('committed ', CASE WHEN committed < 0 THEN 'nothing'
                                         ELSE string(committed) END,
                      ', the log starts at ', log_start, ', auto.offset.reset is ', policy,
                      ': ', CASE WHEN begin = 'committed' THEN 'the committed position'
                                 ELSE begin END,
                      ', and it began at ', coalesce(string(first), 'nothing')) AS why
        FROM expected WHERE begin = 'nothing' OR first IS NOT NULL
        """
    )


# When the offsets topic had too few replicas in sync to be written to, because a broker was gone.
_UNWRITABLE = """
    unwritable AS (
        SELECT fault, injecting_at, timestampadd(MILLISECOND, :slack_ms, injected_at) AS from_at,
               coalesce(healing_at, :ended_at) AS to_at
        FROM {broker_faults}
        WHERE took_effect AND :brokers - 1 < :offsets_min_isr
    )
"""
# offsets.commit.timeout.ms, Kafka's default. An answer that times out has been through three
# queues, each of which may take the slack: the broker's, the coordinator's, and that again.
_COMMIT_TIMEOUT_MS = 5_000


def _commits_fail(t: Tables) -> Frame:
    """Commits made while the replicas were too few, and those refused that came as a broker died.

    One that was accepted in that moment may have come before: it tells nothing.
    """
    return t.sql(
        "WITH "
        + _UNWRITABLE
        + """
        SELECT concat(r.client_id, ' ', date_format(r.arrived_at, 'HH:mm:ss.SSS')) AS subject,
               r.arrived_at AS at,
               r.error_code <> 0 AND timestampdiff(MICROSECOND, r.arrived_at, r.processed_at) / 1e3
                   <= :commit_timeout_ms + 3 * :slack_ms AS ok,
               timestampdiff(MICROSECOND, r.arrived_at, r.processed_at) / 1e3 AS measured,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               CASE WHEN r.error_code = 0 THEN 'it was accepted'
                    ELSE concat('failed with error ', r.error_code) END AS why,
               r.evidence, r.arrived_at AS guard_from, r.processed_at AS guard_to
        FROM {requests} r JOIN unwritable u
          ON r.arrived_at <= u.to_at
         AND r.arrived_at >= CASE WHEN r.error_code = 0 THEN u.from_at ELSE u.injecting_at END
         -- A commit that waits while the broker comes back may be made after all.
         AND timestampadd(MILLISECOND, :commit_timeout_ms, r.arrived_at) <= u.to_at
        WHERE r.`group` = :group AND r.api = 'OFFSET_COMMIT'
        """,
        commit_timeout_ms=_COMMIT_TIMEOUT_MS,
    )


def _heartbeats_go_on(t: Tables) -> Frame:
    return t.sql(
        "WITH "
        + _UNWRITABLE
        + """
        SELECT concat(r.client_id, ' while ', u.fault) AS subject, u.from_at AS at,
               count_if(r.error_code NOT IN (0, 27)) = 0 AS ok,
               count_if(r.error_code NOT IN (0, 27)) AS measured, 0 AS bound_high,
               concat(count(*), ' heartbeats, ', count_if(r.error_code = 0), ' answered with 0',
                      coalesce(concat(', the first other with ',
                          min_by(CASE WHEN r.error_code <> 0 THEN r.error_code END,
                                 CASE WHEN r.error_code <> 0 THEN r.arrived_at END)), '')) AS why
        FROM {requests} r JOIN unwritable u
          ON r.arrived_at >= u.from_at AND r.arrived_at <= u.to_at
        WHERE r.`group` = :group AND r.api = 'HEARTBEAT' AND r.error_code IS NOT NULL
        GROUP BY r.client_id, u.fault, u.from_at
        """
    )


def _heartbeats_wait(t: Tables) -> Frame:
    return t.sql(
        "WITH "
        + _UNWRITABLE
        + """
        SELECT concat(r.client_id, ' ', date_format(r.arrived_at, 'HH:mm:ss.SSS')) AS subject,
               r.arrived_at AS at,
               r.error_code IN (0, 15, 27)
                   AND timestampdiff(MICROSECOND, r.arrived_at, r.processed_at) / 1e3
                       <= :commit_timeout_ms + 3 * :slack_ms AS ok,
               timestampdiff(MICROSECOND, r.arrived_at, r.processed_at) / 1e3 AS measured,
               :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               concat('answered with ', r.error_code) AS why,
               r.evidence, r.arrived_at AS guard_from, r.processed_at AS guard_to
        FROM {requests} r JOIN unwritable u
          ON r.arrived_at >= u.from_at AND r.arrived_at <= u.to_at
        WHERE r.`group` = :group AND r.api = 'HEARTBEAT'
        """,
        commit_timeout_ms=_COMMIT_TIMEOUT_MS,
    )


def _old_value_served(t: Tables) -> Frame:
    """Positions told while no commit could be made: the last accepted one, and never another."""
    return t.sql(
        "WITH "
        + _UNWRITABLE
        + """,
        moments AS (
            SELECT topic, partition, at, committed AS known, CAST(NULL AS BIGINT) AS told,
                   CAST(NULL AS STRING) AS evidence
            FROM {accepted}
            UNION ALL
            SELECT p.topic, p.partition, arrived_at, NULL, p.committed, evidence
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE `group` = :group AND api = 'OFFSET_FETCH' AND coalesce(error_code, 0) = 0
              AND p.error_code = 0 AND p.topic = :topic
        ),
        ordered AS (
            SELECT *, coalesce(last_value(known, true) OVER (PARTITION BY topic, partition
                          ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), -1)
                          AS expected
            FROM moments
        ),
        failed AS (
            SELECT topic, partition, at FROM {commits_judged} WHERE error_code <> 0
        ),
        served AS (
            SELECT o.topic, o.partition, u.fault, u.from_at, u.to_at, count(*) AS answers,
                   count_if(o.told <> o.expected) AS wrong,
                   max(abs(o.told - o.expected)) AS off_by,
                   min_by(struct(o.told, o.expected, o.evidence),
                          CASE WHEN o.told <> o.expected THEN o.at END) AS first_wrong
            FROM ordered o JOIN unwritable u ON o.at >= u.from_at AND o.at <= u.to_at
            WHERE o.told IS NOT NULL
            GROUP BY o.topic, o.partition, u.fault, u.from_at, u.to_at
        )
        SELECT concat(s.topic, '-', s.partition, ' while ', s.fault) AS subject, s.from_at AS at,
               any_value(s.wrong) = 0 AS ok, any_value(s.off_by) AS measured, 0 AS bound_high,
               concat(any_value(s.answers), ' answers, ', count(f.at), ' commits failed meanwhile',
                      coalesce(concat('; told ', any_value(s.first_wrong).told, ', committed was ',
                                      any_value(s.first_wrong).expected), '')) AS why,
               any_value(s.first_wrong).evidence AS evidence
        FROM served s JOIN failed f
          ON f.topic = s.topic AND f.partition = s.partition
         AND f.at >= s.from_at AND f.at <= s.to_at
        GROUP BY s.topic, s.partition, s.fault, s.from_at
        """
    )


def _expires(t: Tables) -> Frame:
    """Partitions of a group that became empty for good, and when nobody was told a position more.

    The observer asks a few times a second, so the time is known to lie between two answers.
    """
    return t.sql(
        """
        WITH emptied AS (
            SELECT at FROM {coordinator_events} e
            WHERE `group` = :group AND event = 'emptied'
              AND NOT EXISTS (SELECT 1 FROM {coordinator_events} s
                              WHERE s.`group` = :group AND s.event = 'stabilized'
                                AND s.at BETWEEN e.at AND timestampadd(
                                    MILLISECOND, :retention_ms, e.at))
        ),
        told AS (
            SELECT p.topic, p.partition, e.at AS emptied_at, p.committed, r.processed_at,
                   timestampdiff(MICROSECOND, e.at, r.processed_at) / 1e3 AS ms
            FROM emptied e JOIN {requests} r ON r.arrived_at >= e.at
            LATERAL VIEW explode(positions) AS p
            WHERE r.`group` = :group AND r.api = 'OFFSET_FETCH' AND coalesce(r.error_code, 0) = 0
              AND p.error_code = 0
        ),
        seen AS (
            SELECT topic, partition, emptied_at, min(ms) FILTER (WHERE committed < 0) AS none_ms,
                   min(processed_at) FILTER (WHERE committed < 0) AS none_at, max(ms) AS last_ms
            FROM told GROUP BY topic, partition, emptied_at
        ),
        bounded AS (
            SELECT s.*, max(t.ms) FILTER (WHERE t.committed >= 0 AND (s.none_ms IS NULL
                                          OR t.ms < s.none_ms)) AS some_ms
            FROM seen s JOIN told t USING (topic, partition, emptied_at)
            WHERE s.last_ms >= :retention_ms OR s.none_ms IS NOT NULL
            GROUP BY s.topic, s.partition, s.emptied_at, s.none_ms, s.none_at, s.last_ms
        )
        SELECT concat(topic, '-', partition) AS subject, coalesce(none_at, emptied_at) AS at,
               CASE WHEN none_ms < :retention_ms THEN false
                    WHEN some_ms > :retention_ms + :retention_check_ms + :slack_ms THEN false
                    WHEN none_ms IS NULL THEN NULL ELSE true END AS ok,
               none_ms AS measured, :retention_ms AS bound_low,
               :retention_ms + :retention_check_ms + :slack_ms AS bound_high,
               concat('last told a position ', round(some_ms), ' ms after the group was empty')
                   AS why, emptied_at AS guard_from, none_at AS guard_to
        FROM bounded WHERE some_ms IS NOT NULL
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
        "and never one before it once that coordinator has written a commit of its own."
    ),
    source="seed 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets",
    unit="records",
    things="partitions",
    measures="behind the commit",
    examine=_read_your_commit,
    broker=True,
    always=True,
)
AUTO_CADENCE = Rule(
    id="R26",
    title="Automatic commits keep their interval",
    statement="With enable.auto.commit a member commits every auto.commit.interval.ms.",
    source="seed 002, enable.auto.commit; auto.commit.interval.ms",
    unit="ms",
    things="members at work",
    measures="from one commit to the next",
    examine=_auto_cadence,
)
AUTO_REPEATS = Rule(
    id="R26-repeats",
    title="A crash repeats no more than an interval of automatic commits",
    statement=(
        "Of a crashed member's partition no more records come twice than it was given since its "
        "last automatic commit was due; for Java none is due in a rebalance, nor for an interval "
        "after it."
    ),
    source="seed 002, enable.auto.commit; KafkaConsumer, Automatic Offset Committing",
    unit="records",
    things="partitions of crashed members",
    measures="delivered again",
    examine=_auto_repeats,
)
AUTO_COVERS = Rule(
    id="R26-processed",
    title="An automatic commit covers only what is done",
    statement=(
        "An automatic commit covers only records that an application which works off each poll "
        "before the next has processed."
    ),
    source="KafkaConsumer, Automatic Offset Committing (at least once)",
    unit="records",
    things="partitions and members",
    measures="committed and not processed",
    examine=_auto_covers,
)
RESET = Rule(
    id="X18",
    title="auto.offset.reset counts only where nothing usable is committed",
    statement=(
        "A member begins at the committed position; where there is none, or the log no longer "
        "has it, at what auto.offset.reset says."
    ),
    source="auto.offset.reset; KafkaConsumer, Offsets and Consumer Position",
    unit="records",
    things="assignments",
    measures="past where it should begin",
    examine=_reset,
)
COMMITS_FAIL = Rule(
    id="X28",
    title="Without enough replicas commits fail, within their time",
    statement=(
        "While the offsets topic has fewer replicas in sync than it needs, no commit is accepted, "
        "and each is answered within offsets.commit.timeout.ms."
    ),
    source="offsets.commit.timeout.ms; min.insync.replicas",
    unit="ms",
    things="commits",
    measures="to the refusal",
    examine=_commits_fail,
    broker=True,
)
HEARTBEATS_GO_ON = Rule(
    id="X28-alive",
    title="Heartbeats need no replica",
    statement="While no commit can be made, the coordinator goes on accepting heartbeats.",
    source="Kafka documentation, Consumer Configs (heartbeat.interval.ms); GroupCoordinator, 3.9",
    unit="heartbeats",
    things="members",
    measures="refused",
    examine=_heartbeats_go_on,
    broker=True,
    protocols=CLASSIC,
)
HEARTBEATS_WAIT = Rule(
    id="X28-waits",
    title="A heartbeat waits for the commits before it",
    statement=(
        "A heartbeat is answered once everything written before it is replicated, or refused as "
        "COORDINATOR_NOT_AVAILABLE after offsets.commit.timeout.ms."
    ),
    source="CoordinatorRuntime, append (Kafka 4); offsets.commit.timeout.ms",
    unit="ms",
    things="heartbeats",
    measures="to the answer",
    examine=_heartbeats_wait,
    broker=True,
    protocols=CLASSIC,
)
OLD_VALUE = Rule(
    id="R31-append",
    title="A commit that failed is not to be seen",
    statement=(
        "While commits fail because they cannot be appended everywhere, the position accepted "
        "last is the one that is told."
    ),
    source="seed 003, OFFSET_COMMIT (visible only after the append)",
    unit="records",
    things="partitions",
    measures="from the position accepted last",
    examine=_old_value_served,
    broker=True,
)
EXPIRES = Rule(
    id="X17",
    title="Positions of an empty group expire",
    statement=(
        "A group's committed positions are kept for offsets.retention.minutes after it became "
        "empty, and removed at the check after that."
    ),
    source="offsets.retention.minutes; offsets.retention.check.interval.ms",
    unit="ms",
    things="partitions",
    measures="after the group was empty",
    examine=_expires,
    broker=True,
    protocols=CLASSIC,  # whose coordinators say when a group is empty
)
