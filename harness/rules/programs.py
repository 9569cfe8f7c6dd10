"""What is asked of a program of somebody else's: what it reads, commits and repeats."""

from harness.experiment import APP
from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# Where the time of a stop went, as far as the record tells. What took less than 5 ms is left out,
# because it would read 0.0 s.
WHERE_IT_WENT = """concat_ws(', ',
                   CASE WHEN detection_ms >= 5
                        THEN concat(round(detection_ms / 1e3, 2), ' s until it was noticed') END,
                   CASE WHEN coalesce(notice_ms, 0) + coalesce(revoke_ms, 0)
                             + coalesce(join_ms, 0) + coalesce(sync_ms, 0) >= 5
                        THEN concat(round((coalesce(notice_ms, 0) + coalesce(revoke_ms, 0)
                                           + coalesce(join_ms, 0) + coalesce(sync_ms, 0)) / 1e3, 2),
                                    ' s for the rebalance') END,
                   CASE WHEN first_fetch_ms >= 5
                        THEN concat(round(first_fetch_ms / 1e3, 2), ' s to the first records')
                        END,
                   CASE WHEN redelivered > 0
                        THEN concat(redelivered, IF(redelivered = 1, ' record', ' records'),
                                    ' came again') END)"""


@Rule(
    "P1",
    title="The group catches up",
    statement="The program reaches the end of every partition within the time that its owner "
    "promises, or 60 s without a promise, once nothing is broken and nothing more is produced. A "
    "partition's end is reached by a commit, or by processing if the program shows that.",
    source="kafka-chaos, programs under test",
    unit="ms",
    things="partitions",
    measures="until the end was reached",
    too_high="was read to its end too late",
    matters="A group that does not catch up after a fault has stopped, even if it looks well.",
    clients=(APP,),
    headline="catching up",
    limit="drained_s",
)
def catches_up() -> str:
    """A partition whose end was reached before the producer stopped took no time."""
    return """
        WITH ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
        ), reached AS (
            SELECT e.topic, e.partition, e.end_offset, any_value(p.how) AS how,
                   max(p.position) AS position,
                   min(p.at) FILTER (WHERE p.position >= e.end_offset) AS done_at
            FROM ends e LEFT JOIN {advances} p ON same(p, e, topic, partition)
            GROUP BY e.topic, e.partition, e.end_offset
        )
        SELECT concat(topic, '-', partition) AS subject, coalesce(done_at, :drain_at) AS at,
               -- `greatest` passes over a null.
               IF(done_at IS NULL, NULL, greatest(0, ms_between(:drain_at, done_at))) AS measured,
               :limit_drained_ms AS bound_high,
               CASE WHEN end_offset = 0 THEN NULL
                    WHEN position IS NULL THEN 'was never committed'
                    WHEN done_at IS NULL
                    THEN clause('was ', how, ' to ', position, ' of ', end_offset,
                                ' when the run ended') END AS wrong,
               IF(end_offset = 0, 'holds no record', NULL) AS excused
        FROM reached
    """


@Rule(
    "P2",
    title="Nothing is committed that was not fetched",
    statement="No member commits a position beyond the records that it has fetched by then.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="members and partitions",
    measures="committed before they were fetched",
    too_high="committed records that it had not fetched",
    matters="Records below a committed position are never read again: such a commit loses them.",
    clients=(APP,),
)
def commits_follow_fetches() -> str:
    """The worst of a member's commits of each partition of the topic that it is fed.

    A position that the group had committed already may be committed again. A broker that was killed
    may have answered a fetch that its log has not got. A member's next fetch tells how far it got,
    unless it was told a position before: it begins there, and may have kept what it had.
    """
    return """
        WITH asked_or_told AS (
            SELECT member, topic, partition, fetch_offset, bytes, end_offset, arrived_at,
                   answered_at
            FROM {asked}
            UNION ALL
            SELECT member, topic, partition, NULL, NULL, NULL, arrived_at, answered_at
            FROM {positions} WHERE api = 'OFFSET_FETCH'
        ), answers AS (
            SELECT *, lead(fetch_offset) OVER (
                PARTITION BY member, topic, partition ORDER BY arrived_at, answered_at)
                AS next_offset
            FROM asked_or_told
        ), steps AS (
            SELECT member, topic, partition, answered_at AS at,
                   IF(next_offset > fetch_offset, least(next_offset, end_offset), end_offset)
                       AS reached,
                   CAST(NULL AS BIGINT) AS committed, CAST(NULL AS BIGINT) AS before
            FROM answers WHERE bytes > 0 AND fetch_offset < end_offset
            UNION ALL
            SELECT member, topic, partition, arrived_at, fetch_offset, NULL, NULL
            FROM {fetches} WHERE fetch_offset IS NOT NULL AND member IS NOT NULL
            UNION ALL
            -- A fetch's line may be stamped after that of the commit that follows it.
            SELECT member, topic, partition, after(:STAMP_LATE_MS, at), NULL, committed,
                   previous_committed
            FROM {accepted} WHERE topic = :topic
        ), ordered AS (
            SELECT *, max(reached) OVER w AS seen,
                   max(IF(reached IS NULL, NULL, at)) OVER w AS seen_at
            FROM steps
            WINDOW w AS (PARTITION BY member, topic, partition ORDER BY at, reached NULLS LAST
                         {SO_FAR})
        ), beyond AS (
            SELECT *, greatest(0, committed - greatest(coalesce(seen, 0), coalesce(before, 0)))
                       AS unseen
            FROM ordered WHERE committed IS NOT NULL
        ), worst AS (
            SELECT member, topic, partition, max(unseen) AS unseen, count(*) AS times,
                   max_by(at, struct(unseen, at)) AS at,
                   max_by(committed, struct(unseen, at)) AS committed,
                   max_by(seen, struct(unseen, at)) AS seen,
                   max_by(seen_at, struct(unseen, at)) AS seen_at
            FROM beyond GROUP BY member, topic, partition
        ), killed AS (
            SELECT DISTINCT w.member, w.topic, w.partition
            FROM worst w JOIN {broker_faults} b
              ON b.killed AND b.injecting_at <= w.at
             AND b.injecting_at >= coalesce(w.seen_at, :started_at)
            WHERE w.unseen > 0
        )
        SELECT clause(w.member, ' ', w.topic, '-', w.partition) AS subject,
               after(-:STAMP_LATE_MS, w.at) AS at, w.unseen AS measured, 0 AS bound_high,
               CASE WHEN k.member IS NOT NULL
                    THEN 'a broker that was killed may have answered a fetch that it did not log'
                    END AS unknown,
               IF(w.unseen > 0,
                  clause('committed ', w.committed, ', and had fetched to ', coalesce(w.seen, 0)),
                  clause(w.times, ' commits')) AS note
        FROM worst w LEFT JOIN killed k ON same(k, w, member, topic, partition)
    """


@Rule(
    "P3",
    title="A new owner reads on from the committed position",
    statement="A member that is given a partition begins with the committed position that the "
    "coordinator returns: it neither skips records nor reads committed ones again.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="partitions taken over",
    measures="from the committed position to the first fetch",
    too_low="reads committed records again",
    too_high="skips records that nobody had committed",
    matters="The position at which a new owner begins decides what comes twice after a fault, and "
    "what is lost.",
    clients=(APP,),
)
def begins_where_committed() -> str:
    """First fetches of a partition after the coordinator told a member its position.

    One that goes on with a partition that it has held all along only asked what is committed. A
    fetch that was under way when a member gave the partition up may be the first of those that
    follow, if it gets it back and the answer begins at the committed position. A fetch from just
    that position may be stamped before the answer that told it, which another broker logged late
    (seen by 1.5 ms).
    """
    return """
        WITH steps AS (
            SELECT member, topic, partition, arrived_at AS at, committed AS told,
                   CAST(NULL AS BIGINT) AS fetch_offset, evidence
            FROM {positions} WHERE api = 'OFFSET_FETCH' AND error_code = :NONE
            UNION ALL
            SELECT member, topic, partition, arrived_at, NULL, fetch_offset, evidence
            FROM {asked} WHERE fetch_offset IS NOT NULL
        ), followed AS (
            SELECT *, lag(told) OVER w AS committed, lag(at) OVER w AS told_at,
                   max(IF(fetch_offset IS NULL, NULL, at)) OVER (
                       PARTITION BY member, topic, partition
                       ORDER BY at, fetch_offset NULLS FIRST {BEFORE}) AS fetched_at
            FROM steps
            WINDOW w AS (PARTITION BY member, topic, partition
                         ORDER BY at, fetch_offset NULLS FIRST)
        ), after_told AS (
            SELECT f.member, f.topic, f.partition, f.at, f.told_at, f.committed, f.fetch_offset,
                   f.evidence
            FROM followed f LEFT ANTI JOIN {ownership} o ON same(o, f, member, topic, partition)
             AND o.from_at <= f.fetched_at AND coalesce(o.to_at, :ended_at) >= f.at
            WHERE f.fetch_offset IS NOT NULL AND f.committed IS NOT NULL
        ), waited AS (
            SELECT a.member, a.topic, a.partition, a.at
            FROM after_told a JOIN {fetched} w ON same(w, a, member, topic, partition)
             AND w.arrived_at <= a.told_at AND w.first_offset = a.committed
             AND w.last_offset + 1 = a.fetch_offset
            JOIN {ownership} o ON same(o, a, member, topic, partition) AND o.to_at <= a.told_at
            GROUP BY a.member, a.topic, a.partition, a.at
            HAVING max(w.answered_at) >= after(-:slack_ms, max(o.to_at))
            UNION
            SELECT a.member, a.topic, a.partition, a.at
            FROM after_told a JOIN {asked} e ON same(e, a, member, topic, partition)
             AND e.arrived_at <= a.told_at AND e.arrived_at >= after(-:slack_ms, a.told_at)
             AND e.fetch_offset = a.committed
        ), begun AS (
            SELECT a.member, a.topic, a.partition, a.at, a.committed, a.evidence,
                   IF(w.member IS NULL, a.fetch_offset, a.committed) AS fetch_offset
            FROM after_told a LEFT JOIN waited w ON same(w, a, member, topic, partition, at)
        ), others AS (
            SELECT b.member, b.topic, b.partition, b.at,
                   max_by(f.member, struct(f.last_offset, f.member)) AS old_member,
                   max(f.last_offset) + 1 - any_value(b.fetch_offset) AS again
            FROM begun b JOIN {fetched} f ON same(f, b, topic, partition) AND f.arrived_at < b.at
            GROUP BY b.member, b.topic, b.partition, b.at
        )
        SELECT clause(b.topic, '-', b.partition, ' to ', b.member) AS subject, b.at,
               IF(b.committed < 0, NULL, b.fetch_offset - b.committed) AS measured,
               0 AS bound_low, 0 AS bound_high,
               IF(b.committed < 0,
                  clause('nothing was committed, so it began at ', b.fetch_offset,
                         ' as its auto.offset.reset says'), NULL) AS excused,
               CASE WHEN b.fetch_offset <> b.committed
                    THEN clause('began at ', b.fetch_offset, ', and ', b.committed,
                                ' was committed')
                    WHEN o.again > 0
                    THEN clause(o.again, ' records that ', o.old_member,
                                ' had fetched and not committed come again') END AS note,
               b.evidence
        FROM begun b LEFT JOIN others o ON same(o, b, member, topic, partition, at)
    """


@Rule(
    "P4",
    title="Partitions stand still no longer than promised",
    statement="No partition stands still for longer than the program's owner promises after a "
    "fault or a change of the group. Without a promise the time is only measured.",
    source="kafka-chaos, programs under test",
    unit="ms",
    things="standstills",
    measures="without records read",
    too_high="stood still for longer than promised",
    matters="This is the outage that the users of the program notice.",
    clients=(APP,),
    headline="standstill",
    limit="standstill_s",
)
def stands_still() -> str:
    """Stops of partitions with where their time went, as far as the record has moments of them.

    A stop is on record only once it is over, so one that never was has a row of its own. Where
    something is promised and nothing stood still, that is said of all that was read.
    """
    return """
        SELECT clause(topic, '-', partition, ' after ', coalesce(cause, trigger, 'a change'),
                      coalesce(concat(' of ', subject), '')) AS subject,
               coalesce(cause_at, from_at) AS at, ms AS measured,
               IF(:limit_standstill_ms < 0, NULL, :limit_standstill_ms) AS bound_high,
               {WHERE_IT_WENT} AS note
        FROM {stops} WHERE stopped
        UNION ALL
        SELECT clause(topic, '-', partition, ' until the end'), from_at, ms,
               IF(:limit_standstill_ms < 0, NULL, :limit_standstill_ms),
               clause(end_offset - position, ' records from ', position, ' on were never read')
        FROM {never_again} WHERE from_at IS NOT NULL
        UNION ALL
        SELECT 'all partitions', max(polled_at), 0, :limit_standstill_ms, 'none stood still'
        FROM {reads}
        WHERE NOT EXISTS (SELECT 1 FROM {stops} WHERE stopped)
          AND NOT EXISTS (SELECT 1 FROM {never_again})
        HAVING count(*) > 0 AND :limit_standstill_ms >= 0
    """


@Rule(
    "P10",
    title="No more committed records are lost than promised",
    statement="At most as many records of a partition below the last committed position as its "
    "owner promises, by default none, were not processed, or not fetched if the program does not "
    "show what it processes.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="partitions",
    measures="lost",
    too_high="has committed records that nobody read",
    matters="A record below the committed position is never read again: it is lost without an "
    "error.",
    clients=(APP,),
    headline="loss",
    limit="lost",
)
def nothing_lost() -> str:
    """Holes in what was read of each partition, from the first fetch to the committed position.

    Law: A record is lost if it is of the topic that the program is fed, lies below the last
    committed position, and was not read.

    Where auto.offset.reset is latest, a program passes over what was there before it came.
    """
    return """
        WITH upto AS (
            SELECT topic, partition, max(committed) AS committed FROM {accepted}
            GROUP BY topic, partition
        ), seen AS (
            SELECT topic, partition, first_offset, last_offset FROM {reads}
            UNION ALL
            -- As if it had read what is before its first fetch.
            SELECT topic, partition, 0, min(first_offset) - 1 FROM {fetched}
            GROUP BY topic, partition
        ), followed AS (
            SELECT topic, partition, first_offset, last_offset,
                   max(last_offset) OVER (
                       PARTITION BY topic, partition ORDER BY first_offset, last_offset
                       {BEFORE}) AS reached
            FROM seen
        ), holes AS (
            SELECT f.topic, f.partition, u.committed, f.reached + 1 AS from_offset,
                   least(f.first_offset, u.committed) - f.reached - 1 AS records
            FROM followed f JOIN upto u USING (topic, partition)
            WHERE f.reached IS NOT NULL
            UNION ALL
            SELECT f.topic, f.partition, any_value(u.committed), max(f.last_offset) + 1,
                   any_value(u.committed) - max(f.last_offset) - 1
            FROM followed f JOIN upto u USING (topic, partition)
            GROUP BY f.topic, f.partition
        ), counted AS (
            SELECT topic, partition, any_value(committed) AS committed,
                   coalesce(sum(records) FILTER (WHERE records > 0), 0) AS lost,
                   min(from_offset) FILTER (WHERE records > 0) AS first_lost
            FROM holes GROUP BY topic, partition
        ), shown AS (SELECT count(*) AS times FROM {effects})
        SELECT concat(topic, '-', partition) AS subject, :stopped_at AS at, lost AS measured,
               :limit_lost AS bound_high,
               IF(s.times = 0 AND :shown_by <> '',
                  'it showed nothing, and a fetched record need not have been processed', NULL)
                  AS unknown,
               clause(IF(s.times > 0, 'by what it showed', 'by what it fetched'),
                      ', to the committed position ', committed,
                      IF(lost > 0, concat('; the first is at ', first_lost), '')) AS note
        FROM counted CROSS JOIN shown s
    """


@Rule(
    "P11",
    title="No more records come again than promised",
    statement="The program reads no more records again in the whole run than its owner promises.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="runs",
    measures="that came again",
    too_high="repeats more records than promised",
    matters="A record that comes twice is processed twice, unless the program takes care of it.",
    clients=(APP,),
    limit="repeats",
)
def repeats_as_promised() -> str:
    """Judged where a limit was declared."""
    return """
        SELECT 'the run' AS subject, coalesce(max(polled_at), :stopped_at) AS at,
               coalesce(sum(count), 0) AS measured, :limit_repeats AS bound_high,
               CASE WHEN (SELECT count(*) FROM {reads}) = 0 THEN 'nothing was read'
                    WHEN (SELECT count(*) FROM {effects}) = 0 AND :shown_by <> ''
                    THEN 'it showed nothing, and what is fetched twice need not be processed twice'
                    END AS unknown,
               IF((SELECT count(*) FROM {effects}) > 0, 'by what it showed',
                  'by what it fetched') AS note
        FROM {redeliveries} HAVING :limit_repeats >= 0
    """
