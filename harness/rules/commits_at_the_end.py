"""What a library commits by itself as it gives partitions up, and that it leaves none out."""

from typing import Final

from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)

# A commit at a revocation names what is given up alone: how long such a commit may take.
GIVEN_UP_MS: Final = 1_000
# Whom something else may keep from a commit, until a session later; null is everybody. While Java
# asks a partition's new leader whether its position is right, it does not commit that.
HINDERED: Final = """
    hindered AS (
        SELECT member, from_at, to_at FROM {disturbances}
        UNION ALL
        SELECT NULL, from_at, to_at FROM {unsettled}
        UNION ALL
        SELECT NULL, from_at, from_at FROM {tenures} WHERE loaded
        UNION ALL
        SELECT resolved, injecting_at, coalesce(healed_at, injecting_at) FROM {fault_windows}
        WHERE killed AND injecting_at IS NOT NULL
        UNION ALL
        SELECT member, event_at, event_at FROM {client_events}
        WHERE event IN ('error', 'coordinator_lost', 'session_timed_out', 'max_poll_exceeded')
        UNION ALL
        SELECT NULL, at, at
        FROM (SELECT at, leader, lag(leader) OVER (PARTITION BY topic, partition ORDER BY at)
                                     AS leader_before
              FROM {topology} WHERE what = 'partition')
        WHERE leader <> leader_before
    )
"""
# Answers after which a member is none any more, and does not commit.
OUT: Final = """(:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID,
    :FENCED_MEMBER_EPOCH)"""


@Rule(
    "X102",
    title="What a member was given is committed before it gives the partition up",
    statement="A member with enable.auto.commit commits what it was given before it gives "
    "partitions up: when it closes, when a rebalance takes them away, and with Java before each "
    "JoinGroup.",
    source="ConsumerCoordinator.onJoinPrepare, close; ConsumerMembershipManager, "
    "CommitRequestManager.maybeAutoCommitSyncBeforeRebalance; "
    "rd_kafka_assignment_serve_removals",
    unit="partitions",
    things="times at which partitions were given up",
    measures="left uncommitted",
    too_high="were given up, and what had been given of them was not committed",
    matters="The next owner repeats all that came since the last commit, in each deploy.",
    in_passing=True,
    compares_clocks=True,
)
def commits_before_it_gives_up() -> str:
    """Each time at which partitions of a member were given up, with those it did not commit.

    librdkafka commits as its application gives a partition up, and sends that when it can. Java has
    its answer before it goes on, so records of a poll after that commit are left out here: what a
    commit may take, of this member's. A cooperative Java member hears what it gives up after it
    has joined, and commits nothing then. Nor can it commit between JoinGroup and assignment.
    """
    return """
        WITH {HINDERED}, slowest AS (
            SELECT member, max(ms_between(arrived_at, answered_at)) AS ms
            FROM {own_requests} WHERE api = 'OFFSET_COMMIT' GROUP BY member
        ), steps AS (
            SELECT member, member_id, api, error_code, arrived_at,
                   lag(struct(api, error_code, member_id)) OVER w AS former,
                   lead(arrived_at) OVER w AS next_at
            FROM {own_requests}
            WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP') OR error_code IN {OUT}
               OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0
            WINDOW w AS (PARTITION BY member ORDER BY arrived_at, evidence)
        ), given_up AS (
            SELECT c.member, c.topic, c.partition, c.at, count(h.at) > 0 AS closes, false AS joins
            FROM {callbacks} c LEFT JOIN {halts} h
              ON h.member = c.member AND h.what = 'close' AND h.at <= c.at
            WHERE c.event = 'revoked' GROUP BY c.member, c.topic, c.partition, c.at
            UNION ALL
            SELECT s.member, o.topic, o.partition, s.arrived_at, false, true
            FROM steps s JOIN {ownership} o
              ON o.member = s.member AND o.from_at <= s.arrived_at
             AND coalesce(o.to_at > s.arrived_at, true)
            WHERE :client = 'java' AND s.api = 'JOIN_GROUP' AND s.error_code = :NONE
              AND s.former.api = 'SYNC_GROUP' AND s.former.error_code = :NONE
              AND s.former.member_id = s.member_id
        ), free AS (
            SELECT g.* FROM given_up g
            LEFT ANTI JOIN hindered h
              ON coalesce(h.member = g.member, true) AND h.from_at <= after(:session_ms, g.at)
             AND after(:session_ms, h.to_at) >= g.at
            LEFT ANTI JOIN steps s
              ON NOT g.joins AND s.member = g.member
             AND s.arrived_at <= g.at AND coalesce(s.next_at > g.at, true)
             AND (s.error_code IN {OUT}
                  OR :client = 'java' AND (s.api = 'JOIN_GROUP' OR s.error_code <> :NONE))
            WHERE :commit = 'auto' AND (g.joins OR g.closes OR :client = 'librdkafka'
                                        OR :protocol <> 'cooperative')
        ), due AS (
            SELECT f.member, f.topic, f.partition, f.at, f.joins,
                   max_by(d.last_offset + 1, struct(d.polled_at, d.last_offset)) AS given
            FROM free f JOIN {ownership} o
              ON same(o, f, member, topic, partition) AND o.from_at <= f.at
             AND coalesce(o.to_at >= f.at, true) AND o.removed_at IS NULL
            LEFT JOIN slowest s ON s.member = f.member
            JOIN {deliveries} d
              ON same(d, f, member, topic, partition) AND d.polled_at >= o.from_at
             AND d.polled_at <= after(IF(:client = 'java', -:STAMP_LATE_MS - coalesce(s.ms, 0), 0),
                                      f.at)
            GROUP BY f.member, f.topic, f.partition, f.at, f.joins
        ), compared AS (
            SELECT u.*, max(p.committed) AS committed
            FROM due u LEFT JOIN {positions} p
              ON p.api = 'OFFSET_COMMIT' AND same(p, u, member, topic, partition)
             AND p.arrived_at <= after(IF(u.joins, :STAMP_LATE_MS, :session_ms), u.at)
            GROUP BY u.member, u.topic, u.partition, u.at, u.joins, u.given
        ), judged AS (
            SELECT *, coalesce(committed < given, true) AS lacking FROM compared
        )
        SELECT concat(member, IF(joins, ' (joins again)', ' (gives up)')) AS subject, at,
               count_if(lacking) AS measured, 0 AS bound_high,
               coalesce(min(clause(topic, '-', partition, ' was given up to ', given,
                                   ', and committed up to ', coalesce(committed, 0)))
                            FILTER (WHERE lacking), clause(count(*), ' partitions')) AS note
        FROM judged GROUP BY member, joins, at
    """


@Rule(
    "X103",
    title="An automatic commit leaves no partition out",
    statement="A member with enable.auto.commit commits in each interval all that it was given "
    "before, of every partition that it has.",
    source="ConsumerCoordinator.maybeAutoCommitOffsetsAsync (allConsumed); "
    "rd_kafka_cgrp_offset_commit_tmr_cb (rd_kafka_cgrp_assigned_offsets_commit)",
    unit="records",
    things="members and partitions",
    measures="left out at worst",
    too_high="had records that a later automatic commit left out",
    matters="A crash repeats all that came of a partition since it was committed last, however "
    "often its member commits.",
    in_passing=True,
    compares_clocks=True,
)
def leaves_no_partition_out() -> str:
    """Partitions that a member held, at each of its automatic commits, by what they lacked.

    What was given in the last moment before a commit arrived may have come after it was made. At a
    revocation librdkafka commits what it gives up, and nothing else.
    """
    return """
        WITH {HINDERED}, timed AS (
            SELECT r.member, r.arrived_at AS at, r.evidence
            FROM (SELECT * FROM {own_requests}
                  WHERE api = 'OFFSET_COMMIT' AND generation >= 0 AND :commit = 'auto') r
            LEFT ANTI JOIN hindered h
              ON coalesce(h.member = r.member, true) AND h.from_at <= r.arrived_at
             AND after(:session_ms, h.to_at) >= r.arrived_at
            LEFT ANTI JOIN {client_events} c
              ON c.member = r.member AND c.event IN ('revoked', 'lost', 'closing')
             AND c.event_at <= after(:STAMP_LATE_MS, r.arrived_at)
             AND after(:GIVEN_UP_MS, coalesce(c.observed_at, c.event_at)) >= r.arrived_at
        ), held AS (
            SELECT topic, partition, member, from_at,
                   coalesce(removed_at, to_at, :ended_at) AS to_at
            FROM {ownership}
        ), moments AS (
            SELECT h.*, after(:STAMP_LATE_MS + :auto_commit_late_ms, d.polled_at) AS at, 1 AS rank,
                   d.last_offset + 1 AS given, NULL AS committed, NULL AS evidence
            FROM held h JOIN {deliveries} d
              ON same(d, h, member, topic, partition) AND d.polled_at BETWEEN h.from_at AND h.to_at
            UNION ALL
            SELECT h.*, p.arrived_at, 2, NULL, p.committed, NULL
            FROM held h JOIN {positions} p
              ON p.api = 'OFFSET_COMMIT' AND same(p, h, member, topic, partition)
             AND p.arrived_at BETWEEN h.from_at AND h.to_at
            UNION ALL
            SELECT h.*, t.at, 3, NULL, NULL, t.evidence
            FROM held h JOIN timed t ON t.member = h.member AND t.at >= h.from_at AND t.at < h.to_at
        ), ordered AS (
            SELECT *, last_value(given, true) OVER w AS due,
                   coalesce(max(committed) OVER w, 0) AS done
            FROM moments
            WINDOW w AS (PARTITION BY member, topic, partition, from_at ORDER BY at, rank, given
                         {SO_FAR})
        ), judged AS (
            SELECT member, topic, partition, at, evidence, greatest(0, due - done) AS records
            FROM ordered WHERE rank = 3 AND due IS NOT NULL
        )
        SELECT concat(topic, '-', partition, ' of ', member) AS subject,
               coalesce(min(IF(records > 0, at, NULL)), min(at)) AS at,
               max(records) AS measured, 0 AS bound_high,
               concat(count_if(records > 0), ' of ', count(*), ' commits left some out') AS note,
               min_by(evidence, struct(at, evidence)) FILTER (WHERE records > 0) AS evidence
        FROM judged GROUP BY member, topic, partition
    """
