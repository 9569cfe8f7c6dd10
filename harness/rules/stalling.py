"""What becomes of a member whose application does not poll, and of its heartbeats meanwhile."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_MEMBER, Groups, Need, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)


@Rule(
    "R07",
    title="A consumer that does not poll leaves the group",
    statement="A dynamic member whose application does not poll for max.poll.interval.ms leaves "
    "by itself and is not evicted. It leaves at most one tick of its timer late (librdkafka: 500 "
    "ms, Java: 100 ms); in KIP-848 Java leaves with its next heartbeat.",
    source="document 000, max.poll.interval.ms; document 004, HeartbeatThread",
    unit="ms",
    things="stalls longer than max.poll.interval.ms",
    measures="from the last poll to LeaveGroup",
    matters="A batch that takes longer costs the consumer its partitions and is processed again.",
    needs=(Need.MAX_POLL_END,),
    contradicted=(Groups(client="librdkafka", protocol="consumer"),),
    delayed_by=A_MEMBER,
)
def leaves_without_polls() -> str:
    """The limit counts from the last poll; the stall begins when its batch has been handed over."""
    return left_by_limit("stall_started")


# It follows on a table of events named e, and leaves out those during which a JoinGroup of Java's
# waited for its answer: its heartbeat thread sleeps then, and the poll that reads the answer begins
# the time anew (AbstractCoordinator, HeartbeatThread).
NOT_JOINING: Final = """
            LEFT ANTI JOIN {own_requests} j
              ON :client = 'java' AND j.member = e.member AND j.api = 'JOIN_GROUP'
             AND j.arrived_at <= e.event_at AND j.processed_at >= e.event_at
"""


def left_by_limit(event: str) -> str:
    """Stalls past max.poll.interval.ms that begin with `event`, and when their members left.

    A member that is stopped, cut off, or ended by a fault before it had to cannot leave.
    """
    return f"""
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, e.duration_ms,
                   CAST(m.max_poll_interval_ms AS BIGINT) AS limit_ms
            FROM {{client_events}} e JOIN {{members}} m USING (member)
            LEFT ANTI JOIN {{disturbances}} d
              ON coalesce(d.member = e.member, true) AND d.to_at >= e.event_at
             AND d.from_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
            LEFT ANTI JOIN {{fault_windows}} f
              ON f.resolved = e.member AND (f.ends_member OR f.killed)
             AND f.injecting_at >= e.event_at
             AND f.injecting_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
            {NOT_JOINING}
            WHERE e.event = '{event}' AND e.duration_ms > m.max_poll_interval_ms
              AND m.instance_id IS NULL
        ), leaves AS (
            SELECT s.member, s.at, s.duration_ms, s.limit_ms, min(r.arrived_at) AS left_at,
                   min_by(r.member_id, struct(r.arrived_at, r.evidence)) AS member_id,
                   min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
            FROM stalls s LEFT JOIN {{requests}} r
              ON r.client_id = s.member AND r.arrived_at > s.at
             AND (r.api = 'LEAVE_GROUP'
                  OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
             AND r.arrived_at <= after(s.duration_ms + 1000, s.at)
            GROUP BY s.member, s.at, s.duration_ms, s.limit_ms
        ), judged AS (
            SELECT l.member, l.at, l.limit_ms, l.left_at, l.evidence,
                   count(v.member_id) AS evictions,
                   coalesce(l.left_at, after(l.limit_ms + :timer_late_ms, l.at)) AS seen_at
            FROM leaves l LEFT JOIN {{evictions}} v
              ON v.member = l.member AND v.evicted_at > l.at
             AND (v.member_id = l.member_id OR l.left_at IS NULL)
             AND v.evicted_at <= after(l.duration_ms + :session_ms + 1000, l.at)
            GROUP BY ALL
        )
        SELECT concat(member, ' (stall)') AS subject, at, ms_between(at, left_at) AS measured,
               limit_ms - :poll_ms - :slack_ms AS bound_low,
               limit_ms + :timer_late_ms + :slack_ms AS bound_high,
               CASE WHEN evictions > 0 THEN 'was evicted instead of leaving by itself'
                    WHEN left_at IS NULL THEN 'did not leave the group' END AS wrong,
               'left too early' AS too_low, 'left too late' AS too_high, evidence,
               guard_from(after(limit_ms, at), seen_at) AS guard_from,
               guard_to(seen_at) AS guard_to
        FROM judged
    """


@Rule(
    "R36",
    title="Java's heartbeat thread wakes up every retry.backoff.ms",
    statement="Java's heartbeat thread looks at its timers every retry.backoff.ms, not every "
    "heartbeat.interval.ms. So it notices a missed poll at most 100 ms late, where librdkafka "
    "takes up to 500 ms.",
    source="document 004, HeartbeatThread (retryBackoffMs)",
    unit="ms",
    things="missed polls",
    measures="after max.poll.interval.ms",
    too_low="was noticed too early",
    too_high="was noticed too late",
    matters="A longer heartbeat interval does not delay the detection of a stall.",
    clients=("java",),
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def missed_poll_is_noticed() -> str:
    return """
        WITH noticed AS (
            SELECT e.member, e.event_at AS at, m.max_poll_interval_ms AS limit_ms,
                   max(s.event_at) AS stalled_at
            FROM {client_events} e JOIN {members} m ON m.member = e.member
            JOIN {client_events} s
              ON s.member = e.member AND s.event = 'stall_started' AND s.event_at < e.event_at
            WHERE e.event = 'max_poll_exceeded'
            GROUP BY e.member, e.event_at, m.max_poll_interval_ms
        )
        SELECT concat(member, ' (stall)') AS subject, at,
               ms_between(stalled_at, at) - limit_ms AS measured,
               -:poll_ms - :slack_ms AS bound_low, :timer_late_ms + :slack_ms AS bound_high,
               concat('with a heartbeat interval of ', :heartbeat_ms, ' ms') AS note,
               guard_from(after(limit_ms, stalled_at), at) AS guard_from, guard_to(at) AS guard_to
        FROM noticed
    """


SLOW = """
    WITH slow AS (
        SELECT * FROM (
            -- It ends with the process at the latest.
            SELECT e.member, e.event_at AS at, m.session_timeout_ms, m.max_poll_interval_ms,
                   least(e.duration_ms, min(ms_between(e.event_at, f.injecting_at))) AS duration_ms,
                   least(after(e.duration_ms, e.event_at), min(f.injecting_at)) AS to_at
            FROM {client_events} e JOIN {members} m USING (member)
            LEFT JOIN {fault_windows} f
              ON f.resolved = e.member AND f.killed AND f.injecting_at >= e.event_at
            WHERE e.event = 'stall_started'
            GROUP BY e.member, e.event_at, e.duration_ms, m.session_timeout_ms,
                     m.max_poll_interval_ms)
        WHERE duration_ms > session_timeout_ms AND duration_ms < max_poll_interval_ms
    )
"""


@Rule(
    "R18",
    title="Slow processing removes a consumer (documented, outdated)",
    statement="A consumer that takes longer than session.timeout.ms to process what it polled is "
    "removed from the group.",
    source="document 002, session.timeout.ms; outdated since KIP-62",
    unit="ms",
    things="stalls longer than the session and shorter than max.poll.interval.ms",
    measures="without a poll",
    matters="Raising session.timeout.ms does not help slow processing; max.poll.interval.ms does.",
    needs=(Need.STALL_WITHIN_MAX_POLL,),
    contradicted=(Groups(),),
)
def slow_is_dropped() -> str:
    return """
        {SLOW}
        SELECT concat(s.member, ' (stall)') AS subject, s.at,
               coalesce(min(ms_between(s.at, r.removed_at)), s.duration_ms) AS measured,
               CASE WHEN count(r.member_id) = 0
                    THEN clause('stayed in the group through ', CAST(round(s.duration_ms) AS INT),
                                ' ms without a poll') END AS wrong,
               concat('removed: ', min_by(r.removed_by, struct(r.removed_at, r.removed_by))) AS note
        FROM slow s LEFT JOIN {memberships} r
          ON r.member = s.member AND r.removed_at >= s.at
         AND r.removed_at <= after(:slack_ms, s.to_at)
        GROUP BY s.member, s.at, s.duration_ms
    """


@Rule(
    "R34",
    title="Heartbeats do not depend on poll",
    statement="The heartbeats of a member go on as before while its application processes for "
    "longer than the session timeout, but less than max.poll.interval.ms.",
    source="document 004, HeartbeatThread; KIP-62",
    unit="ms",
    things="stalls longer than the session and shorter than max.poll.interval.ms",
    measures="between heartbeats at most",
    too_high="stopped its heartbeats for too long",
    matters="A long batch alone does not cost a consumer its session.",
    needs=(Need.STALL_WITHIN_MAX_POLL,),
    delayed_by=A_MEMBER,
)
def heartbeats_go_on() -> str:
    """Gaps that touch the stall; the one to its end counts too, so that silence cannot hide.

    A stall in which a fault held up heartbeats as well shows nothing of what it did to them.
    """
    return """
        {SLOW}, gaps AS (
            SELECT s.member, s.at, s.to_at, count(h.at) AS heartbeats,
                   max(struct(coalesce(h.gap_ms, ms_between(s.at, h.at)) AS ms, h.at)) AS pause,
                   ms_between(coalesce(max(h.at), s.at), s.to_at) AS rest_ms,
                   :heartbeat_ms + :cadence_ms AS high
            FROM slow s LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = s.member, true) AND d.from_at <= s.to_at AND d.to_at >= s.at
            LEFT JOIN {heartbeats} h
              ON h.member = s.member AND h.at >= s.at AND h.at <= s.to_at
             AND h.error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
            GROUP BY s.member, s.at, s.to_at
        ), longest AS (
            SELECT *, IF(pause.ms > rest_ms, pause.ms, rest_ms) AS ms,
                   IF(pause.ms > rest_ms, pause.at, to_at) AS longest_to
            FROM gaps
        )
        SELECT concat(member, ' (stall)') AS subject, at, ms AS measured, high AS bound_high,
               concat(heartbeats, ' heartbeats while nothing was polled') AS note,
               -- A machine that stood still can only have made it longer.
               CASE WHEN ms > high THEN after(-ms, longest_to) END AS guard_from,
               IF(ms > high, longest_to, to_at) AS guard_to
        FROM longest
    """


# What Java's AbstractCoordinator says when its application closes it, and when nobody polls.
CLOSED: Final = "'the consumer is being closed'"
NOT_POLLED: Final = "'consumer poll timeout has expired.'"


@Rule(
    "R07-reason",
    title="A Java member gives the reason why it leaves",
    statement="A LeaveGroup of the Java client carries its reason, and the coordinator logs it: "
    "the consumer is being closed, or its poll timeout has expired.",
    source="KIP-800 (since 3.2); AbstractCoordinator.maybeLeaveGroup",
    unit="",
    things="members that left",
    matters="The coordinator's log alone then tells a deploy from a consumer that is too slow.",
    clients=("java",),
    protocols=CLASSIC,
    in_passing=True,
    compares_clocks=True,
)
def says_why() -> str:
    """Members that left, by whether their application had begun to close them.

    One that begins just as its member leaves may have come first or second.
    """
    return """
        WITH gone AS (
            SELECT e.member_id, m.member, e.at, e.reason, e.evidence,
                   count(c.event_at) AS closed, count(l.member) AS limits,
                   count_if(c.event_at <= after(-:slack_ms, e.at)) AS closed_before
            FROM {coordinator_events} e JOIN {memberships} m
              ON m.member_id = e.member_id AND m.joined_at <= e.at
            LEFT JOIN {client_events} c
              ON c.member = m.member AND c.event = 'closing' AND c.event_at >= m.joined_at
             AND c.event_at <= after(:slack_ms, e.at)
            LEFT JOIN {client_events} l
              ON l.member = m.member AND l.event = 'max_poll_exceeded'
             AND l.event_at >= m.joined_at AND l.event_at <= after(:slack_ms, e.at)
            WHERE e.`group` = :group AND e.event = 'left'
              AND e.reason NOT LIKE 'Member % left the %'  -- of KIP-848, which names none
            GROUP BY e.member_id, m.member, e.at, e.reason, e.evidence
        )
        SELECT concat(member, ' leaves') AS subject, at,
               CASE WHEN reason NOT IN (:CLOSED, :NOT_POLLED)
                    THEN clause('left for another reason: ', reason)
                    WHEN reason = :NOT_POLLED AND closed_before > 0
                      OR reason = :CLOSED AND closed = 0
                    THEN clause(IF(closed > 0, 'was closed', 'was not closed'), ', and left as: ',
                                reason)
                    WHEN reason = :NOT_POLLED AND limits = 0
                    THEN clause('had said nothing of its poll limit, and left as: ', reason)
                    END AS wrong,
               concat('left as: ', reason) AS note, evidence
        FROM gone
    """


@Rule(
    "X78",
    title="A client gives up only when its poll limit is over",
    statement="A client says that max.poll.interval.ms was exceeded only if its application has "
    "not polled for that long.",
    source="max.poll.interval.ms; rd_kafka_max_poll_exceeded; AbstractCoordinator",
    unit="ms",
    things="times that a client gave up",
    measures="after the last poll on record",
    too_low="gave up before its poll limit was over",
    matters="A member that gives up too early stops a group that works.",
    in_passing=True,
    compares_clocks=True,
    delayed_by=A_MEMBER,
)
def gives_up_in_time() -> str:
    """By the last poll that returned records: a later one that returned none is on no record.

    Java counts from the call of a poll, which may have waited for its records (R07, R36).
    """
    return """
        SELECT concat(e.member, ' (poll limit)') AS subject, e.event_at AS at,
               ms_between(max(d.polled_at), e.event_at) AS measured,
               m.max_poll_interval_ms - :poll_ms - :slack_ms AS bound_low
        FROM {client_events} e JOIN {members} m USING (member)
        JOIN {deliveries} d ON d.member = e.member AND d.polled_at < e.event_at
        WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at, m.max_poll_interval_ms
    """


@Rule(
    "X85",
    title="A client says that its poll limit is over",
    statement="A client whose application has not polled for max.poll.interval.ms says so: "
    "librdkafka by an error, Java in its log.",
    source="max.poll.interval.ms; rd_kafka_max_poll_exceeded; AbstractCoordinator",
    unit="",
    things="stalls longer than max.poll.interval.ms",
    matters="Nobody finds a consumer that is too slow if its client leaves the group in silence.",
    in_passing=True,
    compares_clocks=True,
)
def says_that_its_limit_is_over() -> str:
    """Stalls that outlast the limit, unless the process ended before.

    librdkafka's application is told when it polls again. Java looks at the limit only while it has
    a coordinator.
    """
    return """
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, after(e.duration_ms, e.event_at) AS to_at
            FROM {client_events} e JOIN {members} m USING (member)
            LEFT ANTI JOIN {disturbances} d
              ON :client = 'java' AND coalesce(d.member = e.member, true)
             AND d.to_at >= e.event_at
             AND d.from_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
            {NOT_JOINING}
            WHERE e.event = 'stall_started'
              AND e.duration_ms - :timer_late_ms - :slack_ms > m.max_poll_interval_ms
        )
        SELECT concat(s.member, ' (limit)') AS subject, s.at,
               IF(count(n.member) = 0, 'said nothing of its poll limit', NULL) AS wrong,
               concat('said so ', CAST(round(ms_between(s.at, min(n.event_at))) AS INT),
                      ' ms after its last poll') AS note
        FROM stalls s LEFT ANTI JOIN {fault_windows} f
          ON f.resolved = s.member AND (f.ends_member OR f.killed) AND f.injecting_at >= s.at
         AND f.injecting_at <= after(:slack_ms, s.to_at)
        LEFT JOIN {client_events} n
          ON n.member = s.member AND n.event = 'max_poll_exceeded' AND n.event_at >= s.at
         AND n.event_at <= after(:slack_ms, s.to_at)
        GROUP BY s.member, s.at
    """


@Rule(
    "X99",
    title="A member that was too slow hears that it is out before it is handed a record",
    statement="A member whose application did not poll for max.poll.interval.ms is out of its "
    "group. When the application polls again, it is told that its partitions are lost before it is "
    "handed any record.",
    source="KIP-62; ConsumerRebalanceListener, onPartitionsLost; librdkafka rdkafka_cgrp.c "
    "(rd_kafka_cgrp_revoke_all_rejoin_maybe)",
    unit="records",
    things="members that were too slow",
    measures="handed over before the member heard that it is out",
    too_high="were handed over though the member had left, and another may have had them by then",
    matters="Two members work on the same records, and what the late one commits is refused.",
    in_passing=True,
)
def hears_that_it_is_out_first() -> str:
    """Records that were polled between the limit and the callback, or the next join, after it."""
    return """
        WITH heard AS (
            SELECT member, event_at AS at FROM {client_events}
            WHERE event IN ('lost', 'revoked', 'closing')
            UNION ALL
            SELECT member, arrived_at FROM {own_requests}
            WHERE api = 'JOIN_GROUP' OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0
        ), late AS (
            SELECT e.member, e.event_at AS at, min(h.at) AS heard_at
            FROM {client_events} e LEFT JOIN heard h
              ON h.member = e.member AND h.at > e.event_at
            WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at
        )
        SELECT concat(l.member, ' (too slow)') AS subject, l.at,
               coalesce(sum(d.count), 0) AS measured, 0 AS bound_high,
               concat('in ', count(d.count), ' polls, from ',
                      CAST(round(ms_between(l.at, min(d.polled_at))) AS INT), ' ms to ',
                      CAST(round(ms_between(l.at, max(d.polled_at))) AS INT),
                      ' ms after its limit') AS note
        FROM late l LEFT JOIN {deliveries} d
          ON d.member = l.member AND d.polled_at > l.at
         AND (l.heard_at IS NULL OR d.polled_at < l.heard_at)
        GROUP BY l.member, l.at
    """


@Rule(
    "X104",
    title="A member that was too slow joins again when its application polls",
    statement="A member whose application did not poll for max.poll.interval.ms asks to join "
    "again only when the application polls again.",
    source="KIP-62; rdkafka_cgrp.c (rd_kafka_cgrp_join: RD_KAFKA_CGRP_F_MAX_POLL_EXCEEDED); "
    "ConsumerCoordinator.poll; ConsumerMembershipManager.maybeRejoinStaleMember",
    unit="requests to join",
    things="members that were too slow",
    measures="while the application did not poll",
    too_high="asked to join before its application polled",
    matters="A member that joins while nobody polls is given partitions that nobody reads, and "
    "each such join costs the group a rebalance.",
    in_passing=True,
    compares_clocks=True,
)
def joins_again_when_polled() -> str:
    """Requests to join between the limit and the end of the stall, in callbacks as well.

    One that was sent before the limit is stamped late at most so much after it. A stall in which a
    fault held up requests, or ended the process, shows nothing.
    """
    return """
        WITH stalls AS (
            SELECT member, event_at AS at, after(duration_ms, event_at) AS to_at
            FROM {client_events} WHERE event IN ('stall_started', 'callback_stall_started')
        ), late AS (
            SELECT e.member, e.event_at AS at, min(s.to_at) AS to_at
            FROM {client_events} e JOIN stalls s
              ON s.member = e.member AND s.at <= e.event_at AND s.to_at > e.event_at
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = e.member, true) AND d.to_at >= e.event_at
             AND d.from_at <= s.to_at
            LEFT ANTI JOIN {fault_windows} f
              ON f.resolved = e.member AND (f.ends_member OR f.killed)
             AND f.injecting_at >= s.at AND f.injecting_at <= s.to_at
            WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at
        )
        SELECT concat(l.member, ' (too slow)') AS subject, l.at,
               count(r.arrived_at) AS measured, 0 AS bound_high,
               concat('did not poll for ', CAST(round(ms_between(l.at, l.to_at)) AS INT),
                      ' ms after its limit') AS note,
               min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence,
               after(-:guard_ms, min(r.arrived_at)) AS guard_from,
               guard_to(max(r.arrived_at)) AS guard_to
        FROM late l LEFT JOIN {own_requests} r
          ON r.member = l.member
         AND (r.api = 'JOIN_GROUP' OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation = 0)
         AND r.arrived_at > after(:STAMP_LATE_MS, l.at)
         AND r.arrived_at < after(-:slack_ms, l.to_at)
        GROUP BY l.member, l.at, l.to_at
    """
