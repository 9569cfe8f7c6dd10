"""`heartbeats`: every heartbeat that the coordinator answered, and the gap before it."""

from typing import Final

MINUTE_MS: Final = 60_000
_FOLLOWED: Final = """
        WITH disturbed AS (
            -- A member's own link or process; everybody's where the fault is of no one member.
            SELECT collect_list(struct(from_at AS `from`, to_at AS `to`, member AS whose))
                       AS windows
            FROM {disturbances}
        ), beats AS (
            SELECT *, coalesce(program, client_id) AS member,
                   CASE api WHEN 'HEARTBEAT' THEN processed_at ELSE arrived_at END AS at
            FROM {requests}
            WHERE `group` = :group AND member_id IS NOT NULL
              AND (api = 'HEARTBEAT' OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation >= 0)
        ), followed AS (
            SELECT `group`, member, member_id, generation, broker, at, arrived_at, error_code,
                   lag(at) OVER w AS before_at,
                   lag(coalesce(answered_at, at)) OVER w AS before_answered_at,
                   lag(broker) OVER w AS broker_before, lag(generation) OVER w AS generation_before,
                   lag(error_code) OVER w AS error_before,
                   owned IS NULL AND lag(owned) OVER w IS NULL
                       AND lag(assigned) OVER w IS NULL AS in_turn
            FROM beats WINDOW w AS (PARTITION BY member_id ORDER BY at, arrived_at)
        ), parked AS (
"""
# Heartbeats that came late because the member waited for the answer to a commit.
_BEHIND_COMMITS: Final = """
            -- By the minute: a day has too many commits of a member to look at each pair.
            SELECT f.member_id, f.at, count(*) AS commits
            FROM (SELECT *, explode(sequence(unix_millis(before_at) DIV :MINUTE_MS,
                                             unix_millis(at) DIV :MINUTE_MS)) AS minute
                  FROM followed WHERE before_at IS NOT NULL) f
            JOIN {requests} c
              ON same(c, f, member_id, broker)
             AND unix_millis(c.answered_at) DIV :MINUTE_MS = f.minute
             AND c.arrived_at <= after(:heartbeat_ms + :cadence_ms, f.before_at)
             AND c.answered_at > after(:heartbeat_ms + :cadence_ms, f.before_at)
             AND c.answered_at <= f.at
             -- It has to be about as long as the heartbeat was late.
             AND ms_between(f.before_at, f.at) - ms_between(c.arrived_at, c.answered_at)
                 <= :heartbeat_ms + 2 * :cadence_ms
            WHERE c.api = 'OFFSET_COMMIT'
            GROUP BY f.member_id, f.at
"""
_JUDGED: Final = """
        ), grouped AS (
            SELECT f.*, p.commits,
                   last_value(CASE WHEN f.before_answered_at < after(-:slack_ms, f.at)
                                   THEN f.before_at END, true) OVER w AS settled_at
            FROM followed f LEFT JOIN parked p ON same(p, f, member_id, at)
            WINDOW w AS (PARTITION BY f.member_id ORDER BY f.at, f.arrived_at)
        ), placed AS (
            SELECT *, lag(settled_at) OVER w AS earlier_at,
                   commits IS NOT NULL OR lag(commits) OVER w IS NOT NULL AS waited
            FROM grouped WINDOW w AS (PARTITION BY member_id ORDER BY at, arrived_at)
        )
        SELECT `group`, member, member_id, generation, broker, at,
               ms_between(before_at, at) AS gap_ms, error_code,
               before_at IS NOT NULL AND error_code = 0 AND error_before = 0
                   AND broker = broker_before AND generation = generation_before
                   AND NOT exists(windows, w -> w.`from` <= at
                                              AND w.`to` >= coalesce(earlier_at, before_at)
                                              AND coalesce(w.whose = member, true))
                   AND in_turn AND NOT waited AS steady
        FROM placed CROSS JOIN disturbed
"""


def heartbeats() -> str:
    """One row per heartbeat.

    A gap is steady if nothing that may stretch it fell into it: both heartbeats were answered by
    one broker for one generation without an error, and no fault of a broker, of the member's own
    link or of its frozen process was active, in this gap or the one before it: a heartbeat that was
    held up comes late, and the next one all the sooner after it. Those that were held up together,
    each read within :slack_ms of the answer to the one before, count as one: a broker that goes on
    after a pause may need more than that for the first. Stalled processing and members that join,
    leave or crash do not count as such: heartbeats must not depend on them. A broker reads the next
    request of a connection when it has answered the one before, so a gap is not steady either, nor
    is the one after it, if a commit of the member was without an answer when the heartbeat had to
    have come, and for about as long as it was late: 1.8 s in a group of two hundred on two cores.

    A heartbeat of KIP-848 is timed by its arrival, for its answer waits until what the coordinator
    wrote before is replicated. One that tells what the member owns is sent out of turn, as is the
    one after an answer that changes the assignment: gaps beside such are not steady.
    """
    return _FOLLOWED + _BEHIND_COMMITS + _JUDGED


def heartbeats_of_an_app() -> str:
    """The same of programs, of which nobody knows when a heartbeat was due: none counts as late."""
    none = "SELECT member_id, at, count(*) AS commits FROM followed WHERE false GROUP BY ALL"
    return f"{_FOLLOWED}{none}{_JUDGED}"
