"""What a library commits by itself: how often, how much of it, and what a crash repeats."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.delivery import removed_cannot_commit
from harness.rules.rights import TOPIC_AUTHORIZATION_FAILED  # noqa: F401 (a query names it)
from harness.rules.rule import A_MEMBERS_WRITE, Groups, Rule
from harness.tables.heartbeats import MINUTE_MS  # noqa: F401 (a query names it)

# How long a member waits in a poll that brings nothing (consumers/consumer.py).
IDLE_POLL_MS: Final = 200
# The least and the most of an interval that a single gap can be, on top of what R26 allows.
EARLIEST: Final = 0.7
LATEST: Final = 1.5
# Polls that brought something, each with when the next such poll began.
POLLS: Final = """
    polls AS (
        SELECT member, polled_at,
               lead(polled_at) OVER (PARTITION BY member ORDER BY polled_at, poll) AS next_at
        FROM {deliveries} WHERE :commit = 'auto'
    )
"""
# Gaps between commits, and what was polled (of POLLS, which comes first), both by the minute: a day
# has too many of either to look at each poll for each gap.
GAPS: Final = """
    asked AS (
        SELECT member, member_id, arrived_at AS at, evidence, error_code,
               lag(struct(arrived_at, answered_at, error_code)) OVER (
                   PARTITION BY member_id ORDER BY arrived_at, evidence) AS former
        FROM {own_requests} WHERE api = 'OFFSET_COMMIT' AND generation >= 0
    ), commit_gaps AS (
        SELECT *, former.arrived_at AS before,
               explode(sequence(unix_millis(former.arrived_at) DIV :MINUTE_MS,
                                unix_millis(at) DIV :MINUTE_MS)) AS minute
        FROM asked WHERE former.arrived_at IS NOT NULL
    ), polled AS (
        SELECT p.*, explode(sequence(unix_millis(p.polled_at) DIV :MINUTE_MS,
                                     unix_millis(coalesce(p.next_at, greatest(p.polled_at, a.at)))
                                         DIV :MINUTE_MS)) AS minute
        FROM polls p
        JOIN (SELECT member, max(at) AS at FROM asked GROUP BY member) a USING (member)
    )
"""


@Rule(
    "R26",
    title="Automatic commits keep their interval",
    statement="A member with enable.auto.commit commits every auto.commit.interval.ms.",
    source="document 002, enable.auto.commit; auto.commit.interval.ms",
    unit="ms",
    things="members at work",
    measures="from one commit to the next",
    too_low="committed too often",
    too_high="committed too rarely",
    matters="A crash repeats the work of one interval at most.",
)
def auto_cadence() -> str:
    """Gaps between automatic commits of a member, with work and without a rebalance between.

    Medians over a member's stay in its group, so that one late commit of a busy machine does not
    count.

    The library commits by its own clock, or in the first poll after it (Java): up to a batch's
    work and an idle poll later. It leaves out a commit of what is committed already, so gaps in
    which nothing was delivered are not examined, nor are those in which the member stalled.
    """
    return """
        WITH {POLLS}, {GAPS},
        worked AS (
            SELECT a.member, a.member_id, a.before, a.at, min(a.evidence) AS evidence,
                   max(ms_between(p.polled_at, p.next_at)) AS poll_ms
            FROM commit_gaps a JOIN polled p
              ON same(p, a, member, minute) AND p.polled_at >= a.before AND p.next_at <= a.at
            GROUP BY a.member, a.member_id, a.before, a.at
        ), undisturbed AS (
            SELECT w.*, ms_between(w.before, w.at) AS ms FROM worked w
            LEFT ANTI JOIN {rebalances} r
              ON r.started_at <= w.at AND coalesce(r.completed_at, r.started_at) >= w.before
            LEFT ANTI JOIN {client_events} c
              ON c.member = w.member AND c.event IN ('stall_started', 'stall_ended', 'closing')
             AND c.event_at BETWEEN w.before AND w.at
        )
        SELECT concat(min(member), ' (', member_id, ')') AS subject, max(at) AS at,
               median(ms) AS measured, :auto_commit_ms - :auto_commit_late_ms AS bound_low,
               :auto_commit_ms + :auto_commit_late_ms
                   + IF(:client = 'java', max(poll_ms) + :IDLE_POLL_MS, 0) AS bound_high,
               concat('median of ', count(*), ' gaps from ', min(ms), ' to ', max(ms), ' ms')
                   AS note,
               min_by(evidence, struct(at, evidence)) AS evidence
        FROM undisturbed GROUP BY member_id HAVING count(*) >= 3
    """


@Rule(
    "X97",
    title="No automatic commit is left out, and none is made twice",
    statement="A member with enable.auto.commit that is given records in an interval commits at "
    "the end of that interval, and once only.",
    source="document 002, enable.auto.commit; ConsumerCoordinator.maybeAutoCommitOffsetsAsync; "
    "rd_kafka_cgrp_offset_commit_tmr_cb",
    unit="ms",
    things="gaps between automatic commits",
    measures="from one commit to the next",
    too_low="came too soon after the commit before",
    too_high="came after a commit had been left out",
    matters="A crash repeats what a commit that was left out would have saved.",
    in_passing=True,
    delayed_by=A_MEMBERS_WRITE,
)
def no_commit_is_left_out() -> str:
    """Each gap of undisturbed time; a commit in it was left out if one was due before its end.

    It was due if a poll brought records in that interval: one that began with the interval can have
    been committed by the commit before. A gap is shorter by as much as the commit before it came
    late, and longer by as much as its own did: of 293 such gaps in 23 recorded runs none was
    shorter by more than 2 % of the interval, nor longer by more than 7 % and a poll. So one
    interval is told from two, and from a half.
    Where a commit was refused or not answered at once, the next may come sooner.
    """
    return """
        WITH {POLLS}, {GAPS},
        worked AS (
            SELECT a.member, a.member_id, a.before, a.at, a.evidence,
                   max(ms_between(p.polled_at, least(coalesce(p.next_at, a.at), a.at))) AS poll_ms,
                   count_if(p.polled_at >= after(:IDLE_POLL_MS, a.before)
                            AND p.polled_at <= after(:auto_commit_ms - :auto_commit_late_ms,
                                                     a.before)) > 0 AS due
            FROM commit_gaps a JOIN polled p
              ON same(p, a, member, minute) AND p.polled_at < a.at
             AND coalesce(p.next_at, a.at) > a.before
            WHERE a.error_code = :NONE AND a.former.error_code = :NONE
              AND a.former.answered_at <= after(:slack_ms, a.before)
            GROUP BY ALL
        ), undisturbed AS (
            SELECT w.*, ms_between(w.before, w.at) AS ms FROM worked w
            LEFT ANTI JOIN {rebalances} r
              ON r.started_at <= w.at AND coalesce(r.completed_at, r.started_at) >= w.before
            LEFT ANTI JOIN {client_events} c
              ON c.member = w.member AND c.event NOT IN ('heartbeat_sent', 'fetched')
             AND c.event_at BETWEEN w.before AND w.at
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = w.member, true) AND d.from_at <= w.at
             AND after(:session_ms, d.to_at) >= w.before
        )
        SELECT concat(member, ' (', member_id, ')') AS subject, at, ms AS measured,
               :EARLIEST * :auto_commit_ms - :auto_commit_late_ms AS bound_low,
               IF(due, :LATEST * :auto_commit_ms + :auto_commit_late_ms
                       + IF(:client = 'java', poll_ms + :IDLE_POLL_MS, 0), NULL) AS bound_high,
               evidence, after(-:guard_ms, before) AS guard_from, guard_to(at) AS guard_to
        FROM undisturbed WHERE :EARLIEST * :auto_commit_ms > :auto_commit_late_ms
    """


@Rule(
    "R26-repeats",
    title="A crash repeats at most one interval of automatic commits",
    statement="A crashed member's partition has no more records delivered again than the member "
    "was given since its last automatic commit was due. For Java no commit is due in a rebalance, "
    "nor for an interval after it.",
    source="document 002, enable.auto.commit; KafkaConsumer, Automatic Offset Committing",
    unit="records",
    things="partitions of crashed members",
    measures="delivered again",
    too_high="had more records delivered again than the member was given since a commit was due",
    matters="This bounds the work that is done twice after a crash.",
)
def auto_repeats() -> str:
    """Partitions of crashed members: what came twice, against what was delivered lately.

    Lately is a commit interval, how late its timer may be, the slowest commit of that member and a
    poll before the last poll that brought it records: all before that had been committed. Java's
    consumer commits when a rebalance begins for it, not in its midst, and counts the interval anew
    from its end; a cooperative member is given records all the while. (ConsumerCoordinator,
    onJoinPrepare, poll and onJoinComplete.)
    """
    return """
        WITH {POLLS},
        crashed AS (
            SELECT o.topic, o.partition, o.member, o.from_at, max(p.polled_at) AS last_polled_at,
                   max(ms_between(p.polled_at, p.next_at)) AS poll_ms,
                   min(f.injected_at) AS killed_at
            FROM {ownership} o JOIN {fault_windows} f
              ON f.killed AND f.ends_member AND f.resolved = o.member
            JOIN polls p ON p.member = o.member
            WHERE o.ended_by = 'killed'
            GROUP BY o.topic, o.partition, o.member, o.from_at
        ), slowest AS (
            SELECT member, max(ms_between(arrived_at, answered_at)) AS ms
            FROM {own_requests} WHERE api = 'OFFSET_COMMIT' GROUP BY member
        ),
        -- One that died while it joined has no join on record, but was told of the rebalance.
        rounds AS (
            SELECT member, api, arrived_at AS from_at,
                   min(IF(api = 'SYNC_GROUP', answered_at, NULL)) OVER (
                       PARTITION BY member ORDER BY arrived_at, evidence
                       ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS to_at
            FROM {own_requests}
            WHERE :client = 'java'
              AND (api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = :NONE
                   OR api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS)
        ), late AS (
            SELECT c.topic, c.partition, c.member, c.from_at, c.last_polled_at, c.killed_at,
                   coalesce(s.ms, 0)
                       + IF(:client = 'java', :slack_ms + coalesce(c.poll_ms, 0),
                            :auto_commit_late_ms) AS late_ms,
                   max_by(struct(r.from_at, r.to_at), struct(r.from_at, r.to_at)) AS joined
            FROM crashed c LEFT JOIN slowest s USING (member)
            LEFT JOIN rounds r
              ON r.member = c.member AND r.api <> 'SYNC_GROUP' AND r.from_at <= c.last_polled_at
            GROUP BY ALL
        ), reach AS (
            SELECT *, late_ms + greatest(
                       :auto_commit_ms,
                       IF(coalesce(ms_between(joined.to_at, last_polled_at)
                                   <= :auto_commit_ms + late_ms, true),
                          ms_between(joined.from_at, last_polled_at), NULL)) AS ms
            FROM late
        ), fresh AS (
            SELECT r.* EXCEPT (joined), coalesce(sum(d.count), 0) AS count
            FROM reach r LEFT JOIN {deliveries} d ON same(d, r, topic, partition, member)
             AND d.polled_at >= after(-r.ms, r.last_polled_at)
            GROUP BY ALL
        )
        SELECT concat(f.topic, '-', f.partition, ' of ', f.member) AS subject, f.killed_at AS at,
               coalesce(sum(least(r.last_offset, d.last_offset)
                            - greatest(r.first_offset, d.first_offset) + 1), 0) AS measured,
               f.count AS bound_high,
               concat('the last ', CAST(round(f.ms) AS BIGINT), ' ms before its last poll count')
                   AS note
        FROM fresh f LEFT JOIN {redeliveries} r
          ON same(r, f, topic, partition) AND r.first_member = f.member
         AND r.member <> f.member AND r.polled_at > f.killed_at
        -- What came again may reach beyond this member, to what another had been given before it.
        LEFT JOIN {deliveries} d ON same(d, r, topic, partition) AND d.member = f.member
         AND d.polled_at BETWEEN f.from_at AND f.killed_at
         AND d.first_offset <= r.last_offset AND d.last_offset >= r.first_offset
        GROUP BY f.topic, f.partition, f.member, f.from_at, f.killed_at, f.count, f.ms
    """


@Rule(
    "R26-processed",
    title="An automatic commit covers only processed records",
    statement="An automatic commit covers only processed records, if the application processes "
    "each poll's records before its next poll.",
    source="KafkaConsumer, Automatic Offset Committing (at least once)",
    unit="records",
    things="partitions and members",
    measures="committed and not processed",
    too_high="had records committed that were not processed",
    matters="A record that is committed before it is processed is lost if the member dies in "
    "between.",
    contradicted=(Groups(client="librdkafka"), Groups(client="java", protocol="consumer")),
)
def auto_covers() -> str:
    """Automatic commits per partition and member, against what was processed when each arrived."""
    return """
        WITH moments AS (
            SELECT topic, partition, processed_at AS at, last_offset + 1 AS done,
                   CAST(NULL AS BIGINT) AS committed, NULL AS member
            FROM {deliveries} WHERE processed_at IS NOT NULL
            UNION ALL
            SELECT topic, partition, arrived_at, NULL, committed, member FROM {positions}
            WHERE api = 'OFFSET_COMMIT' AND error_code = :NONE AND :commit = 'auto'
        ), ordered AS (
            SELECT *, coalesce(max(done) OVER (PARTITION BY topic, partition ORDER BY at), 0)
                       AS processed
            FROM moments
        )
        SELECT concat(topic, '-', partition, ' by ', member) AS subject,
               max_by(at, struct(committed - processed, at)) AS at,
               greatest(0, max(committed - processed)) AS measured, 0 AS bound_high,
               max_by(concat('at worst ', committed, ' was committed when ', processed,
                             ' were processed'), struct(committed - processed, at)) AS note
        FROM ordered WHERE committed IS NOT NULL GROUP BY topic, partition, member
    """


@Rule(
    "R19-auto",
    title="Automatic commits do not save the work of a removed member",
    statement="Automatic commits of a removed member are refused, and records that it had not "
    "committed are delivered again.",
    source="document 002, session.timeout.ms (enable.auto.commit, auto.offset.reset)",
    unit="error code",
    things="commits after a removal and partitions left uncommitted",
    measures="in the answer",
    matters="Work that takes longer than the limit is done twice, with automatic commits too.",
    # librdkafka has committed by then what it handed out (R26-processed), and in KIP-848 Java may.
    clients=("java",),
    protocols=CLASSIC,
)
def removed_cannot_commit_automatically() -> str:
    """As where the application commits."""
    return f"""
        SELECT * FROM ({removed_cannot_commit.examine()}) WHERE :commit = 'auto'
    """
