"""Whether what a run has on record is whole: its journals, its brokers' logs, and both together.

Each table has one row per journal or log: `subject`, `at` (its end), `measured` (how many frames or
rows it has), `unknown` (a clause that says what of it is missing; null where it is whole), `note`,
and `files`, the history files that are made from it, in one text.
"""

from typing import Final

# How long a broker that answers the observer may be without a line of it in its request log. The
# observer looks at every broker again after 200 ms, asks each who the coordinator is, and waits 500
# ms at most for an answer; in 76 recorded runs, paused brokers and all, 1.9 s was the longest time.
QUIET_MS: Final = 5_000
# How long the observer waits for an answer, before it notes that there is none.
ASKED_MS: Final = 500
# How long the observer may ask nobody. It asks each broker in every look: with three of them, five
# seconds without a question to one hold a second at least without a question to any.
PAUSED_MS: Final = 1_000
# Stamps are of one machine's time of day, which may be corrected a little between two processes.
APART_MS: Final = 1_000

OF_CONSUMERS: Final = "client_events deliveries commits"
_MADE_FROM: Final = {
    "consumer": OF_CONSUMERS,
    "producer": "sends",
    "probe": "calls",
    "observer": "topology host",
    "faults": "faults",
    "watchdog": "faults",
    "output": "outputs",
    "programs": "members effects",
    "sink": "effects",
    "written": "effects",
}
# Of one whose settings are damaged it is not known whose it is.
MADE_FROM: Final = "CASE role {} ELSE '{}' END".format(
    " ".join(f"WHEN '{role}' THEN '{files}'" for role, files in _MADE_FROM.items()),
    f"{OF_CONSUMERS} sends calls",
)
ANOTHER: Final = """
    WHEN changed THEN 'is not as the run left it'
    WHEN first_at < after(-:APART_MS, :started_at) OR last_at > after(:APART_MS, :ended_at)
    THEN 'is of another time than the run'
"""


def record_of_journals() -> str:
    """One row per journal of the run.

    Runs of before schema 4 say less of theirs, and of members' journals only. A program of somebody
    else's keeps no journal; what the harness has written of it is one.
    """
    return """
        SELECT concat('journal of ', journal) AS subject, last_at AS at,
               coalesce(frames, 0) AS measured,
               CASE WHEN frames IS NULL THEN 'is missing'
                    WHEN frames = 0 THEN 'has no whole frame'
                    WHEN torn AND NOT (coalesce(ending, '') = 'killed' AND cut)
                    THEN clause('is torn behind frame ', frames)
                    WHEN gaps > 0
                    THEN clause('has frames missing, twice or out of order in ', gaps, ' places')
                    WHEN ending IS NULL
                    THEN 'does not say how it ended: its last frames may be missing'
                    {ANOTHER} END AS unknown,
               CASE WHEN torn THEN 'SIGKILL cut off its last frame' END AS note,
               {MADE_FROM} AS files
        FROM {journals}
        UNION ALL
        SELECT concat('journal of ', member), coalesce(ended_at, started_at), journal_frames,
               CASE WHEN coalesce(journal_frames, 0) = 0 THEN 'is empty'
                    WHEN `end` = 'killed' THEN NULL
                    WHEN journal_torn THEN 'is torn, although its process was not killed'
                    WHEN journal_torn IS NULL THEN 'may be torn: nothing on record says whether'
                    END,
               CASE WHEN journal_torn THEN 'SIGKILL cut off its last frame' END,
               IF(role = 'producer', 'sends', '{OF_CONSUMERS}')
        FROM {members} CROSS JOIN (SELECT count(*) AS told FROM {journals})
        WHERE told = 0 AND coalesce(client, '') <> 'app'
    """


def record_of_logs() -> str:
    """One row per log of a broker that the run has, or should have; none in runs before schema 4.

    A broker that answers the observer has each of its questions in its request log, and one that a
    fault stops may log nothing more.

    Law: a broker that answers the observer has a question of it in its request log every 5 s at
    least, not counting the half seconds in which the observer waited for somebody's answer in vain,
    nor the time of a fault that stops this broker, nor a second and more in which the observer
    asked nobody, while the logs together have a line of anybody every 5 s.
    """
    return """
        WITH looks AS (
            SELECT broker, alive, at AS from_at,
                   least(coalesce(lead(at) OVER (PARTITION BY broker ORDER BY at), :drained_at),
                         :drained_at) AS to_at
            FROM {topology} WHERE what = 'broker'
        ), marks AS (
            SELECT broker, answered_at AS at FROM {requests}
            WHERE client_id = 'observer' AND api = 'FIND_COORDINATOR'
            UNION ALL SELECT broker, from_at FROM looks WHERE alive
            UNION ALL SELECT broker, to_at FROM looks WHERE alive
        ), gaps AS (
            SELECT broker, at AS to_at, lag(at) OVER (PARTITION BY broker ORDER BY at) AS from_at
            FROM marks
        ), pauses AS (
            SELECT * FROM (SELECT at AS to_at, lag(at) OVER (ORDER BY at) AS from_at FROM marks)
            WHERE ms_between(from_at, to_at) > :PAUSED_MS
        ), steps AS (
            SELECT l.at AS to_at, lag(l.at) OVER (PARTITION BY p.from_at ORDER BY l.at) AS from_at
            FROM pauses p
            JOIN (SELECT answered_at AS at FROM {requests} UNION ALL SELECT at FROM marks) l
              ON l.at BETWEEN p.from_at AND p.to_at
        ), excuses AS (
            SELECT f.resolved AS whose, f.injecting_at AS from_at,
                   coalesce(f.healed_at, :ended_at) AS to_at
            FROM {fault_windows} f WHERE f.breaks = 'broker'
            UNION ALL
            -- It asks one after the other, so whoever it waits for, it asks nobody meanwhile.
            SELECT NULL, greatest(after(-:ASKED_MS, at),
                                  coalesce(lag(at) OVER (ORDER BY at), after(-:ASKED_MS, at))), at
            FROM {topology}
            WHERE what = 'unreachable'
              AND (detail LIKE '%timed out' OR detail LIKE '%came in time')
            UNION ALL
            -- Beside a busy machine it may ask nobody for seconds; a cut through all logs differs.
            SELECT NULL, from_at, to_at FROM steps WHERE ms_between(from_at, to_at) <= :QUIET_MS
        ), overlaps AS (
            -- What two excuses have in common counts once.
            SELECT g.broker, g.from_at, g.to_at, e.to_at AS until_at,
                   greatest(g.from_at, e.from_at, max(e.to_at) OVER (
                       PARTITION BY g.broker, g.from_at, g.to_at ORDER BY e.from_at, e.to_at
                       {BEFORE})) AS since_at
            FROM gaps g JOIN looks s
              ON s.broker = g.broker AND s.alive AND g.from_at >= s.from_at AND g.to_at <= s.to_at
            LEFT JOIN excuses e
              ON e.from_at < g.to_at AND e.to_at > g.from_at
             AND coalesce(e.whose = concat('broker-', g.broker), true)
            WHERE ms_between(g.from_at, g.to_at) > :QUIET_MS
        ), silences AS (
            SELECT broker, ms_between(from_at, to_at) - sum(IF(until_at IS NULL, 0, greatest(
                       0, ms_between(since_at, least(to_at, until_at))))) AS quiet_ms
            FROM overlaps GROUP BY broker, from_at, to_at
        ), quiet AS (
            SELECT broker, max(quiet_ms) AS longest_ms FROM silences
            WHERE quiet_ms > :QUIET_MS GROUP BY broker
        ), strange AS (
            SELECT broker, sum(times) AS times, count(*) AS kinds,
                   max_by(reason, struct(times, reason)) AS most
            FROM (SELECT broker, reason, count(*) AS times FROM {coordinator_events}
                  WHERE event = 'unknown' GROUP BY broker, reason)
            GROUP BY broker
        )
        SELECT concat(IF(log = 'requests', 'request', 'server'), ' log of broker-', l.broker)
                   AS subject,
               last_at AS at, coalesce(lines, 0) AS measured,
               CASE WHEN lines IS NULL THEN 'is missing'
                    WHEN lines = 0 THEN 'is empty'
                    WHEN unread > 0
                    THEN clause('has ', unread, ' lines that cannot be read, the first at ',
                                example)
                    {ANOTHER}
                    WHEN log = 'requests' AND q.longest_ms > 0
                    THEN clause('has no question of the observer for ',
                                round(q.longest_ms / 1e3, 1), ' s in which its broker answered')
                    END AS unknown,
               IF(log = 'server' AND s.times > 0,
                  clause('has ', s.times, ' lines of ', s.kinds, ' kinds whose texts are not ',
                         'known, most of them ', s.most), NULL) AS note,
               IF(log = 'requests', 'requests fetches', 'coordinator_events') AS files
        FROM {logs} l LEFT JOIN quiet q ON q.broker = l.broker
        LEFT JOIN strange s ON s.broker = l.broker
    """


def record_of_group() -> str:
    """What brokers have on record of the group under test: a row for requests, one for events.

    Each is held against the other, and against what members know. An accepted commit has a request
    in some log, and whoever said that it leaves is told of by the coordinator, as is a generation
    or an epoch that members were given.

    A killed member closes no journal, so what its end lacks is told by others alone: a row for each
    of whose end something is. Frames that were cut off are not noticed where no commit was to
    follow, and the member lived for less than QUIET_MS (and a batch's work) after them. Members
    that break rules on purpose may well do what their journals lack.

    Law: after a killed member's last batch or commit on record no broker gets a commit of it that
    it did not ask for, or of records that it did not get; nor does it live on for 5 s with records
    to read and nothing that keeps it from reading.
    """
    return """
        WITH killed AS (
            SELECT m.member, any_value(m.commit) AS commit, any_value(m.journal_frames) AS frames,
                   :QUIET_MS + coalesce(max(m.batch_records * m.process_us) / 1e3, 0) AS busy_ms,
                   max(greatest(m.started_at, w.at)) AS last_at
            FROM {members} m LEFT JOIN (
                SELECT member, greatest(polled_at, processed_at) AS at FROM {deliveries}
                UNION ALL SELECT member, greatest(asked_at, answered_at) FROM {commits}) w
              ON w.member = m.member
            WHERE m.`end` = 'killed' AND m.role = 'consumer' AND m.client <> 'app'
              AND m.sabotage IS NULL
            GROUP BY m.member
        ), unasked AS (
            SELECT k.member, count(*) AS commits
            FROM killed k JOIN {positions} p
              ON p.member = k.member AND p.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
             AND p.arrived_at > after(-:slack_ms, k.last_at)
            LEFT ANTI JOIN {commits} c ON same(c, p, member, topic, partition, committed)
            WHERE k.commit <> 'auto' GROUP BY k.member
        ), unread AS (
            -- The library commits by itself what it has handed out, or where it began to read.
            SELECT k.member, count(*) AS commits
            FROM killed k JOIN {positions} p
              ON p.member = k.member AND p.api = 'OFFSET_COMMIT' AND p.arrived_at > k.last_at
            LEFT SEMI JOIN (
                SELECT member, topic, partition FROM {deliveries}
                UNION ALL SELECT member, topic, partition FROM {positions}
                WHERE api = 'OFFSET_FETCH' AND committed >= 0) b
              ON same(b, p, member, topic, partition)
            LEFT ANTI JOIN (
                SELECT member, topic, partition, last_offset + 1 AS up_to FROM {deliveries}
                UNION ALL SELECT member, topic, partition, committed FROM {positions}
                WHERE api IN ('OFFSET_FETCH', 'LIST_OFFSETS')) d
              ON same(d, p, member, topic, partition) AND d.up_to >= p.committed
            WHERE k.commit = 'auto' GROUP BY k.member
        ), living AS (
            SELECT k.member, k.busy_ms, k.last_at, max(r.arrived_at) AS lived_at
            FROM killed k JOIN {own_requests} r ON r.member = k.member
            GROUP BY k.member, k.busy_ms, k.last_at
        ), idle AS (
            SELECT l.member, ms_between(l.last_at, l.lived_at) AS ms
            FROM living l LEFT SEMI JOIN (
                SELECT o.member, s.last_answered_at AS at FROM {ownership} o JOIN {sends} s
                  ON same(s, o, topic, partition) AND s.outcome = 'acknowledged'
                 AND s.last_answered_at >= o.from_at
                 AND s.last_answered_at < coalesce(o.to_at, :ended_at)) s
              ON s.member = l.member AND s.at > l.last_at AND s.at < after(-l.busy_ms, l.lived_at)
            LEFT ANTI JOIN {fault_windows} f
              ON f.injecting_at < l.lived_at
             AND coalesce(f.healed_at, f.injected_at, :ended_at) >= l.last_at
        ), own AS (
            SELECT count(*) AS requests, max(answered_at) AS at FROM {own_requests}
        ), unheard AS (
            SELECT count(*) AS commits, min_by(c.member, struct(c.at, c.member)) AS member,
                   min(c.at) AS at
            FROM (SELECT *, coalesce(asked_at, answered_at) AS at FROM {commits}
                  WHERE error_code = :NONE AND how <> 'external') c
            -- A broker logs what it has answered, unless it is killed in between.
            LEFT ANTI JOIN {fault_windows} f
              ON f.breaks = 'broker' AND f.killed AND c.answered_at <= f.injected_at
             AND c.answered_at >= after(-:slack_ms, f.injecting_at)
            LEFT ANTI JOIN {positions} p
              ON p.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
             AND same(p, c, member, topic, partition, committed)
        ), events AS (
            SELECT count(*) AS lines, max(at) AS at FROM {coordinator_events}
            WHERE `group` = :group
        ), departures AS (
            SELECT count(*) AS members, min(r.member_id) AS member_id
            FROM {own_requests} r
            LEFT ANTI JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event IN ('left', 'left_for_now')
             AND e.member_id = r.member_id
            WHERE r.error_code = :NONE
              AND (r.api = 'LEAVE_GROUP'
                   OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
        ), given AS (
            SELECT generation FROM {own_requests} WHERE api = 'JOIN_GROUP' AND error_code = :NONE
            UNION
            SELECT member_epoch FROM {own_requests}
            WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE
        ), generations AS (
            SELECT count(*) AS times, min(g.generation) AS generation
            FROM given g
            LEFT ANTI JOIN {coordinator_events} e
              ON e.`group` = :group AND e.generation = g.generation
             AND e.event IN ('stabilized', 'epoch_bumped', 'target_computed')
            WHERE g.generation > 0
        )
        SELECT 'request log' AS subject, o.at, requests AS measured,
               CASE WHEN requests = 0 THEN 'has no request of the group'
                    WHEN commits > 0
                    THEN clause('lacks ', commits, ' commits that were accepted, the first of ',
                                member)
                    END AS unknown,
               CAST(NULL AS STRING) AS note, 'requests' AS files
        FROM own o CROSS JOIN unheard
        UNION ALL
        SELECT 'coordinator log', e.at, lines,
               CASE WHEN lines = 0 THEN 'has no line of the group'
                    WHEN members > 0
                    THEN clause('does not tell that ', member_id, ' left, as ', members,
                                ' members asked to')
                    WHEN times > 0
                    THEN clause('does not tell of generation ', generation, ', nor of ',
                                times - 1, ' others that members were given')
                    END,
               NULL, 'coordinator_events'
        FROM events e CROSS JOIN departures CROSS JOIN generations
        UNION ALL
        SELECT concat('end of the journal of ', k.member), k.last_at, k.frames,
               CASE WHEN a.commits > 0
                    THEN clause('lacks ', a.commits, ' commits that brokers got from its member')
                    WHEN u.commits > 0
                    THEN clause('lacks the records of ', u.commits,
                                ' commits that brokers got from its member')
                    ELSE clause('lacks the last ', round(i.ms / 1e3, 1),
                                ' s of its member, which had records to read')
                    END,
               NULL, '{OF_CONSUMERS}'
        FROM killed k LEFT JOIN unasked a ON a.member = k.member
        LEFT JOIN unread u ON u.member = k.member LEFT JOIN idle i ON i.member = k.member
        WHERE coalesce(a.member, u.member, i.member) IS NOT NULL
    """
