"""What a client does when nobody answers it for as long as its session lasts."""

from harness.experiment import CLASSIC
from harness.rules.rule import A_MEMBER, Groups, Need, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# Answers that say something of the member, and not only that the group is elsewhere or not yet
# loaded or that the log did not take it in time. What a coordinator writes into an isolated link
# does not arrive; while the link is being cut, or mended, it may or may not (`doubtful`).
ANSWERS = """
    WITH cut_off AS (
        SELECT m.member, f.injecting_at AS from_at, coalesce(f.healed_at, :ended_at) AS to_at,
               -- A line is stamped late: an answer may have gone just before.
               after(:slack_ms, f.injected_at) AS surely_from_at,
               coalesce(f.healing_at, :ended_at) AS surely_to_at
        FROM {fault_windows} f JOIN {members} m ON f.resolved IN (m.member, m.lane)
        WHERE f.link_cut
    ), told AS (
        SELECT r.member, r.member_id, r.api, r.error_code, r.processed_at, r.answered_at,
               IF(r.api IN ('JOIN_GROUP', 'SYNC_GROUP'), r.arrived_at, r.answered_at) AS heard_at,
               count(c.from_at) > 0 AS cut,
               count_if(r.answered_at BETWEEN c.surely_from_at AND c.surely_to_at) > 0 AS surely_cut
        FROM {own_requests} r LEFT JOIN cut_off c
          ON c.member = r.member AND r.answered_at BETWEEN c.from_at AND c.to_at
        WHERE r.member_id IS NOT NULL
          AND r.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
          AND r.error_code IN (:NONE, :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                               :REBALANCE_IN_PROGRESS, :FENCED_INSTANCE_ID)
        GROUP BY ALL
    ), answers AS (SELECT * FROM told WHERE NOT cut),
    doubtful AS (SELECT * FROM told WHERE cut AND NOT surely_cut),
"""

# How much longer than from the last answer that it surely had (`heard_at`) a client may take until
# its session ends (`at`): `doubt_ms` for an answer that it may have had as well, and `stopped_ms`
# until it went on where it had been stopped, since a process that is stopped looks at no timer. It
# may have been answered while it was being stopped, and it may write before it is seen to go on.
EXCUSES = """
    excuses AS (
        SELECT h.member, h.at, coalesce(max(ms_between(h.heard_at, d.answered_at)), 0) AS doubt_ms,
               coalesce(max(ms_between(h.heard_at, f.healed_at)), 0) AS stopped_ms
        FROM heard h LEFT JOIN doubtful d
          ON d.member = h.member AND d.answered_at BETWEEN h.heard_at AND h.at
         AND d.api <> 'OFFSET_COMMIT' AND d.error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
        LEFT JOIN {fault_windows} f
          ON f.resolved = h.member AND f.breaks = 'member' AND f.disturbs_heartbeats
         AND NOT f.ends_member AND NOT f.link_cut
         AND f.injecting_at <= h.at AND f.healed_at >= h.heard_at
        GROUP BY h.member, h.at
    )
"""

# Each time-out of a client's session, with when the application was told that its assignment is
# lost, if it was. librdkafka decides on a thread of its own and tells by callback from poll: so it
# has a second from when the application could poll, which it cannot while it waits for the answer
# to a commit or works on a batch.
TIME_OUTS = """
    noticed AS (
        SELECT e.member, e.event_at AS at, max(e.duration_ms) AS duration_ms,
               greatest(e.event_at, max(b.to_at)) AS could_poll_at
        FROM {client_events} e LEFT JOIN {busy} b
          ON b.member = e.member AND b.reason IN ('commit', 'work')
         AND b.from_at <= e.event_at AND b.to_at > e.event_at
        WHERE e.event = 'session_timed_out'
        GROUP BY e.member, e.event_at
    ), time_outs AS (
        SELECT n.member, n.at, n.duration_ms, min(l.event_at) AS lost_at
        FROM noticed n LEFT JOIN {client_events} l
          ON l.member = n.member AND l.event = 'lost' AND l.event_at >= n.at
         AND l.event_at <= after(1000, n.could_poll_at)
        GROUP BY n.member, n.at, n.duration_ms
    ),
"""


@Rule(
    "R06",
    title="A client without heartbeat answers keeps its assignment",
    statement="A client that gets no heartbeat answer for its session timeout marks its "
    "coordinator unknown and keeps its assignment.",
    source="document 000, AbstractCoordinator (client side of session.timeout.ms)",
    unit="ms",
    things="session timeouts without a heartbeat answer",
    measures="until the assignment was declared lost",
    matters="A client that gives up its assignment stops processing and repeats its batch, even "
    "if no other member has its partitions.",
    needs=(Need.SESSION_END,),
    protocols=CLASSIC,
    contradicted=(Groups(client="librdkafka"),),
)
def keeps_its_assignment() -> str:
    """By librdkafka's own word when its session times out; for Java each long silence counts.

    Java's log does not always tell: a coordinator that dies closes the connection, and each lookup
    that names the dead one again gives the client a new session.
    """
    return """
        {ANSWERS}{TIME_OUTS}
        followed AS (
            SELECT member, processed_at, lag(answered_at) OVER w AS before_at,
                   ms_between(lag(answered_at) OVER w, heard_at) AS ms
            FROM answers
            WINDOW w AS (PARTITION BY member_id ORDER BY answered_at, heard_at, processed_at)
        ), silences AS (
            SELECT f.member, f.ms, f.processed_at, after(m.session_timeout_ms, f.before_at) AS at
            FROM followed f JOIN {members} m USING (member)
            WHERE m.client = 'java' AND f.ms > m.session_timeout_ms + :timer_late_ms + :slack_ms
        ), examined AS (
            SELECT member, at, lost_at, CAST(NULL AS DOUBLE) AS ms FROM time_outs
            WHERE :client <> 'java'
            UNION ALL
            SELECT s.member, s.at, min(l.event_at), max(s.ms)
            FROM silences s LEFT JOIN {client_events} l
              ON l.member = s.member AND l.event = 'lost' AND l.event_at >= s.at
             -- It may be logged late that the answer was on the wire, not that it was ready.
             AND l.event_at < s.processed_at
            GROUP BY s.member, s.at
        )
        SELECT member AS subject, at, ms_between(at, lost_at) AS measured,
               CASE WHEN lost_at IS NOT NULL THEN 'declared its assignment lost' END AS wrong,
               concat(CAST(round(ms) AS INT), ' ms without an answer') AS note
        FROM examined
    """


@Rule(
    "R06-librdkafka",
    title="librdkafka declares its assignment lost when its session ends",
    statement="librdkafka ends its session within 500 ms after a session timeout without an answer "
    "to a heartbeat. Its application is told within a second, or when it polls next, that its "
    "assignment is lost.",
    source="librdkafka rdkafka_cgrp.c (SESSTMOUT); session.timeout.ms",
    unit="ms",
    things="client session time-outs",
    measures="after the last answer",
    too_low="declared its assignment lost too early",
    too_high="declared its assignment lost too late",
    matters="From then on the application knows that another member may process its partitions.",
    clients=("librdkafka",),
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def librdkafka_gives_up() -> str:
    """The client's own time-out, from the last accepted request whose answer can have arrived."""
    return """
        {ANSWERS}{TIME_OUTS}
        heard AS (
            SELECT t.member, t.at, t.duration_ms, t.lost_at, max(a.answered_at) AS heard_at
            FROM time_outs t LEFT JOIN answers a
              ON a.member = t.member AND a.answered_at <= after(-:slack_ms, t.at)
             AND a.api <> 'OFFSET_COMMIT'
             AND (a.error_code = :NONE
                  OR a.api = 'HEARTBEAT' AND a.error_code = :REBALANCE_IN_PROGRESS)
            GROUP BY t.member, t.at, t.duration_ms, t.lost_at
        ), {EXCUSES}
        SELECT h.member AS subject, h.at, ms_between(heard_at, h.at) AS measured,
               :session_ms - :slack_ms AS bound_low,
               greatest(:session_ms + e.doubt_ms, e.stopped_ms) + 500 + :slack_ms AS bound_high,
               CASE WHEN heard_at IS NULL THEN 'no answer to it is on record' END AS unknown,
               CASE WHEN lost_at IS NULL THEN 'did not declare its assignment lost' END AS wrong,
               concat('its own log says ', CAST(round(duration_ms) AS INT), ' ms') AS note,
               guard_from(after(:session_ms, heard_at), h.at) AS guard_from,
               guard_to(h.at) AS guard_to
        FROM heard h JOIN excuses e ON same(e, h, member, at)
    """


@Rule(
    "R06-java",
    title="Java gives up its coordinator when its session ends",
    statement="The Java client marks its coordinator unknown one session timeout after the last "
    "heartbeat answer. It may be late by the 100 ms of its timer and one poll of the application, "
    "because a poll holds the network connection that both threads share. So does a commit for as "
    "long as the application waits for its answer.",
    source="document 000, AbstractCoordinator (HeartbeatThread); session.timeout.ms",
    unit="ms",
    things="client session time-outs",
    measures="after the last answer",
    too_low="gave up its coordinator too early",
    too_high="gave up its coordinator too late",
    matters="The client looks for another coordinator only from then on.",
    clients=("java",),
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def java_gives_up() -> str:
    """From what gave the client a new session last: an answer, a join, or a coordinator found.

    Measured with 4.4.0 where a commit waited and heartbeats were 2 s apart: 9.1 and 9.3 s in a
    session of 6 s.
    """
    return """
        {ANSWERS}
        armed AS (
            -- An answer is on its way for a while; its own note is at once.
            SELECT member, answered_at AS at, api AS what,
                   after(:slack_ms, answered_at) AS known_at
            FROM answers
            WHERE api IN ('HEARTBEAT', 'JOIN_GROUP')
              AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
            UNION ALL
            SELECT member, event_at, 'a coordinator found', event_at FROM {client_events}
            WHERE event = 'coordinator_found'
        ), heard AS (
            SELECT e.member, e.event_at AS at, max(a.at) AS heard_at,
                   max_by(a.what, struct(a.at, a.what)) AS what
            FROM {client_events} e LEFT JOIN armed a
              ON a.member = e.member AND a.known_at <= e.event_at
            WHERE e.event = 'session_timed_out'
            GROUP BY e.member, e.event_at
        ), {EXCUSES}, due AS (
            SELECT h.member, h.at, h.heard_at, h.what,
                   greatest(:session_ms + e.doubt_ms, e.stopped_ms) + :timer_late_ms + :poll_ms
                       + :slack_ms AS high
            FROM heard h JOIN excuses e ON same(e, h, member, at)
        )
        SELECT d.member AS subject, d.at, ms_between(heard_at, d.at) AS measured,
               :session_ms - :slack_ms AS bound_low, high AS bound_high,
               CASE WHEN heard_at IS NULL THEN 'nothing before it is on record' END AS unknown,
               CASE WHEN ms_between(heard_at, d.at) > high AND c.member IS NOT NULL
                    THEN 'its application waited for a commit' END AS excused,
               concat('since ', what) AS note,
               guard_from(after(:session_ms, heard_at), d.at) AS guard_from,
               guard_to(d.at) AS guard_to
        FROM due d LEFT JOIN {awaited_commits} c
          ON c.member = d.member AND c.asked_at <= after(high, heard_at)
         AND coalesce(c.answered_at >= after(high, heard_at), true)
    """


@Rule(
    "X86",
    title="Java's notes of its coordinator are true",
    statement="The Java client notes in its log that it found a coordinator only if a broker has "
    "named that one in answer to its lookup, and that its session timed out only if no heartbeat "
    "was answered for that long. It gives its coordinator up for another reason only if that "
    "refused it, let it wait for a session, or could not be reached.",
    source="AbstractCoordinator, FindCoordinatorResponseHandler, HeartbeatThread and "
    "markCoordinatorUnknown",
    unit="",
    things="notes",
    matters="A client that takes another broker for its coordinator is refused until it looks "
    "again. One that gives its coordinator up too early stops to commit.",
    clients=("java",),
    in_passing=True,
    compares_clocks=True,
)
def notes_are_true() -> str:
    """Notes of coordinators beside lookups of the session before, and of sessions beside answers.

    Up to 4.3 the classic client writes 2147483647 less the broker's id, which is how it names the
    connection. A broker's time of an answer is not that of its arrival where a link is disturbed.

    What a client gives up once it may give up again, by each of its threads and for each request
    that was on its way.
    """
    return """
        WITH found AS (
            SELECT member, event_at AS at,
                   CASE WHEN detail LIKE '%nodeId=%'
                        THEN CAST(regexp_extract(detail, 'nodeId=([0-9]+)', 1) AS INT)
                        WHEN detail LIKE '%(id: +%'
                        THEN CAST(regexp_extract(detail, '[(]id: [+]([0-9]+)', 1) AS INT)
                        ELSE 2147483647 - CAST(regexp_extract(detail, '[(]id: ([0-9]+)', 1) AS INT)
                   END AS broker
            FROM {client_events} WHERE event = 'coordinator_found'
        ), lost AS (
            SELECT e.member, e.event_at AS at, m.session_timeout_ms, max(h.answered_at) AS heard_at
            FROM {client_events} e JOIN {members} m ON m.member = e.member
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = e.member, true) AND d.from_at <= e.event_at
             AND d.to_at >= after(-m.session_timeout_ms, e.event_at)
            JOIN {own_requests} h
              ON h.member = e.member AND h.api = 'HEARTBEAT'
             AND h.answered_at <= after(-:slack_ms, e.event_at)
             AND h.error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
            WHERE e.event = 'coordinator_lost' AND e.detail LIKE '%session timed out%'
            GROUP BY e.member, e.event_at, m.session_timeout_ms
        ), given_up AS (
            SELECT DISTINCT member, event_at AS at, after(-:session_ms, event_at) AS from_at
            FROM {client_events}
            WHERE event = 'coordinator_lost' AND detail NOT LIKE '%session timed out%'
        ), explained AS (
            SELECT g.member, g.at, 'a fault' AS reason
            FROM given_up g LEFT SEMI JOIN {fault_windows} f
              ON f.injecting_at <= g.at AND coalesce(f.healed_at >= g.from_at, true)
             AND f.breaks NOT IN ('topic', 'positions')
             AND (f.resolved = g.member OR f.resolved NOT LIKE 'member-%')
             AND (f.breaks <> 'member' OR f.disturbs_heartbeats OR f.stalls OR f.ends_member)
            UNION ALL
            SELECT g.member, g.at, 'an answer' FROM given_up g LEFT SEMI JOIN {own_requests} r
              ON r.member = g.member
             AND (r.processed_at BETWEEN g.from_at AND after(:STAMP_LATE_MS, g.at)
                      AND r.error_code IN (:REQUEST_TIMED_OUT, :COORDINATOR_LOAD_IN_PROGRESS,
                                           :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
                  OR r.arrived_at <= g.from_at AND r.answered_at >= g.at)
            UNION ALL
            SELECT g.member, g.at, 'its own note' FROM given_up g LEFT SEMI JOIN {client_events} e
              ON e.member = g.member AND e.event IN ('coordinator_lost', 'closing')
             AND e.event_at >= g.from_at AND e.event_at < g.at
        )
        SELECT concat(n.member, ' (found)') AS subject, n.at,
               IF(count(l.broker) = 0,
                  clause('found broker-', n.broker, ', and no broker had named it'), NULL) AS wrong,
               concat('broker-', n.broker) AS note
        FROM found n LEFT JOIN {own_requests} l
          ON l.member = n.member AND l.api = 'FIND_COORDINATOR' AND l.error_code = :NONE
         AND CAST(get_json_object(l.detail, '$.coordinator') AS INT) = n.broker
         AND l.arrived_at <= after(:STAMP_LATE_MS, n.at)
         AND l.arrived_at >= after(-:session_ms, n.at)
        GROUP BY n.member, n.at, n.broker
        UNION ALL
        SELECT concat(member, ' (lost)'), at,
               IF(ms_between(heard_at, at) < session_timeout_ms - :slack_ms,
                  clause('gave its coordinator up ', CAST(round(ms_between(heard_at, at)) AS INT),
                         ' ms after a heartbeat was answered'), NULL),
               'its session timed out'
        FROM lost
        UNION ALL
        SELECT concat(g.member, ' (given up)'), g.at,
               IF(min(x.reason) IS NULL, 'gave up its coordinator, which had not refused it', NULL),
               concat('after ', coalesce(min(x.reason), 'nothing'))
        FROM given_up g LEFT JOIN explained x ON x.member = g.member AND x.at = g.at
        GROUP BY g.member, g.at
    """
