"""Times in which nobody processed a partition, and which of them are stops."""

from typing import Final

BUCKET_S: Final = 10  # gaps are joined with episodes and faults within buckets of time
# A record that comes later than this after the last one was worked off was not waiting. In recorded
# runs, of 50 records a second and partition, the next one was sent up to 145 ms later.
PAUSE_MS: Final = 250


def gaps() -> str:
    """One row per time that nobody processed a partition, between two members' (or one's) polls.

    From the end of the work on all that was delivered before to the next poll with records.

    Law: A partition stands still only while a record that nobody has read waits for somebody.

    So it begins no earlier than a record beyond all that was delivered was sent, by the range that
    the producer noted it in: one that its broker took late waited as well.
    """
    return """
        WITH followed AS (
            SELECT topic, partition, busy_until, polled_at AS to_at, reached,
                   lag(member) OVER w AS old_member, lag(member_id) OVER w AS old_member_id,
                   member AS new_member, member_id AS new_member_id
            FROM {progress}
            WINDOW w AS (PARTITION BY topic, partition ORDER BY polled_at, poll)
        ), waited AS (
            -- A day has millions of both, so each is set before the ranges that go further: to
            -- join the two would look at every pair of them.
            SELECT *, min(sent_at) OVER (PARTITION BY topic, partition
                                         ORDER BY reached DESC, to_at NULLS LAST {SO_FAR}) AS due_at
            FROM (
                SELECT *, CAST(NULL AS TIMESTAMP) AS sent_at FROM followed
                UNION ALL
                SELECT topic, partition, NULL, NULL, last_offset, NULL, NULL, NULL, NULL,
                       first_sent_at
                FROM {sends} WHERE outcome = 'acknowledged'
            )
        ), begun AS (
            SELECT topic, partition,
                   IF(due_at > after(:PAUSE_MS, busy_until), due_at, busy_until) AS from_at, to_at,
                   old_member, old_member_id, new_member, new_member_id
            FROM waited
        )
        SELECT *, ms_between(from_at, to_at) AS ms
        FROM begun WHERE from_at < to_at
    """


def never_again() -> str:
    """One row per partition whose last records nobody read before the members were told to end.

    `position` is the first of these, and `from_at` when the last one before it was worked off and
    it, or one after it, was sent; both are null where none ever was. `ms` is the time from then to
    the end.
    """
    return """
        WITH ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
        ), read AS (
            SELECT topic, partition, max(last_offset) + 1 AS position,
                   max(coalesce(processed_at, polled_at)) AS from_at,
                   max_by(member, struct(polled_at, poll)) AS member
            FROM {reads} GROUP BY topic, partition
        ), waiting AS (
            SELECT r.topic, r.partition, r.position, r.member, r.from_at,
                   min(s.first_sent_at) AS sent_at
            FROM read r LEFT JOIN {sends} s ON same(s, r, topic, partition)
             AND s.outcome = 'acknowledged' AND s.last_offset >= r.position
            GROUP BY r.topic, r.partition, r.position, r.member, r.from_at
        ), begun AS (
            SELECT topic, partition, position, member,
                   IF(sent_at > after(:PAUSE_MS, from_at), sent_at, from_at) AS from_at
            FROM waiting
        )
        SELECT e.topic, e.partition, e.end_offset, r.position, r.member, r.from_at,
               ms_between(r.from_at, :stopped_at) AS ms
        FROM ends e LEFT JOIN begun r ON same(r, e, topic, partition)
        WHERE e.end_offset > coalesce(r.position, 0)
          AND (r.from_at IS NULL OR r.from_at < :stopped_at)
    """


def disturbed_gaps() -> str:
    """The gaps that overlap an episode or a fault, once for each, and when the gap ended for whom.

    `assigned_at` is when the new owner was given the partition, if within the gap; null if nobody
    was. `episode` is null for a row that is about a fault, and `whose` is what the fault happened
    to.
    """
    return """
        WITH windows AS (
            SELECT DISTINCT episode, CAST(NULL AS STRING) AS fault, CAST(NULL AS STRING) AS whose,
                   first_at AS began_at, last_at AS over_at
            FROM {episodes}
            UNION ALL
            SELECT NULL, fault, resolved, injecting_at, coalesce(healed_at, failed_at, injected_at)
            FROM {fault_windows} WHERE injecting_at IS NOT NULL
        ), spread AS (
            SELECT *, explode(sequence(unix_seconds(began_at) DIV :BUCKET_S,
                                       unix_seconds(over_at) DIV :BUCKET_S)) AS bucket
            FROM windows
        ), spread_gaps AS (
            SELECT *, explode(sequence(unix_seconds(from_at) DIV :BUCKET_S,
                                       unix_seconds(to_at) DIV :BUCKET_S)) AS bucket
            FROM {gaps}
        ), around AS (
            SELECT DISTINCT w.episode, w.fault, w.whose, w.began_at, g.topic, g.partition,
                   g.from_at, g.to_at, g.ms, g.old_member, g.old_member_id, g.new_member,
                   g.new_member_id
            FROM spread w JOIN spread_gaps g
              ON g.bucket = w.bucket AND g.from_at <= w.over_at AND g.to_at >= w.began_at
        ), given AS (
            SELECT member, at, topic, partition FROM {callbacks} WHERE event = 'assigned'
        )
        SELECT a.episode, a.fault, a.whose, a.began_at, a.topic, a.partition, a.from_at, a.to_at,
               a.ms, a.old_member, a.old_member_id, a.new_member, a.new_member_id,
               max(g.at) AS assigned_at
        FROM around a LEFT JOIN given g
          ON g.member = a.new_member AND same(g, a, topic, partition)
         AND g.at BETWEEN a.from_at AND a.to_at
        GROUP BY ALL
    """


def stop_gaps() -> str:
    """The gap that each row of `stops` is about: `usual_ms` is the longest one of quiet times.

    A gap that spans several episodes belongs to the last that had begun when the new owner got the
    partition. Of an episode's gaps of a partition the longest counts in which it was given to
    somebody; else the longest, unless a fault that touches it explains it better: such a one is a
    stop without a rebalance, where it is longer than usual. So is a gap that no episode touches,
    whoever got the partition: a static member that came back. Of several faults the one of the old
    owner itself counts, or else the last.
    """
    return """
        WITH quiet AS (
            SELECT max(g.ms) AS usual_ms
            FROM {gaps} g LEFT ANTI JOIN {disturbed_gaps} d ON same(d, g, topic, partition, from_at)
        ), seen AS (
            SELECT *, max(CASE WHEN episode IS NOT NULL AND began_at <= coalesce(assigned_at, to_at)
                               THEN began_at END) OVER w AS last_began_at,
                   count(fault) OVER w > 0 AS faulty, count(episode) OVER w = 0 AS alone
            FROM {disturbed_gaps} WINDOW w AS (PARTITION BY topic, partition, from_at)
        ), sorted AS (
            SELECT s.*, q.usual_ms,
                   s.faulty AND (s.assigned_at IS NULL OR s.alone)
                       AND s.ms > coalesce(q.usual_ms, 0) + :slack_ms AS by_fault
            FROM seen s CROSS JOIN quiet q
        ), candidates AS (
            SELECT *, CASE WHEN by_fault THEN concat(from_at) ELSE concat(episode) END AS about
            FROM sorted
            WHERE CASE WHEN by_fault THEN fault IS NOT NULL
                       ELSE episode IS NOT NULL AND began_at = last_began_at END
        ), ranked AS (
            SELECT *, row_number() OVER (
                PARTITION BY by_fault, about, topic, partition
                ORDER BY assigned_at IS NOT NULL DESC, ms DESC,
                         coalesce(whose = old_member, false) DESC, began_at DESC) AS place
            FROM candidates
        )
        SELECT episode, fault, began_at, topic, partition, from_at, to_at, ms, old_member,
               old_member_id, new_member, new_member_id, assigned_at, usual_ms
        FROM ranked WHERE place = 1
    """
