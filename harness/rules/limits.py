"""What is promised of our own members, each limit judged where it is given.

Of a program of somebody else's the rules of programs.py and processing.py have these bounds.
"""

from harness.rules.delivery import COUNTED  # noqa: F401 (a query names it)
from harness.rules.programs import WHERE_IT_WENT  # noqa: F401 (a query names it)
from harness.rules.rule import THE_GROUP, Rule


@Rule(
    "L1",
    title="Partitions stand still no longer than promised",
    statement="No partition stands still for longer than the group's owner promises, once the "
    "group is in steady state.",
    source="kafka-chaos, limits",
    unit="ms",
    things="partitions",
    measures="without records read",
    too_high="stood still for longer than promised",
    matters="This is the outage that the users of the group notice.",
    limit="standstill_s",
    delayed_by=THE_GROUP,
)
def stands_still() -> str:
    """The longest stop of each partition that has records, 0 where it never stopped.

    That of a partition which nobody came back to lasts until the members were told to end.
    """
    return """
        WITH ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
        ), stood AS (
            SELECT topic, partition, ms, from_at, to_at,
                   clause(' after ', coalesce(cause, trigger, 'a change'),
                          coalesce(concat(' of ', subject), '')) AS after_what,
                   {WHERE_IT_WENT} AS note
            FROM {stops} WHERE stopped AND to_at > :steady_at
            UNION ALL
            SELECT topic, partition, ms, from_at, :stopped_at, ' until the end',
                   clause(end_offset - position, ' records from ', position, ' on were never read')
            FROM {never_again} WHERE from_at IS NOT NULL
        ), longest AS (
            SELECT topic, partition, max(ms) AS ms, max_by(from_at, struct(ms, from_at)) AS from_at,
                   max_by(to_at, struct(ms, from_at)) AS to_at,
                   max_by(after_what, struct(ms, from_at)) AS after_what,
                   max_by(note, struct(ms, from_at)) AS note
            FROM stood GROUP BY topic, partition
        )
        SELECT concat(e.topic, '-', e.partition, coalesce(l.after_what, '')) AS subject,
               l.from_at AS at, IF(n.partition IS NULL, coalesce(l.ms, 0), NULL) AS measured,
               :limit_standstill_ms AS bound_high,
               IF(n.partition IS NULL, NULL,
                  clause('was never read, and has ', e.end_offset, ' records')) AS wrong,
               l.note, guard_from(l.from_at, l.to_at) AS guard_from, guard_to(l.to_at) AS guard_to
        FROM ends e
        LEFT JOIN longest l ON same(l, e, topic, partition)
        LEFT JOIN {never_again} n ON same(n, e, topic, partition) AND n.from_at IS NULL
        WHERE e.end_offset > 0
    """


@Rule(
    "L2",
    title="No more records come again than promised",
    statement="The group is given no more records again in the whole run than its owner promises.",
    source="kafka-chaos, limits",
    unit="records",
    things="runs",
    measures="that came again",
    too_high="repeats more records than promised",
    matters="A record that comes twice is processed twice, unless the application takes care of "
    "it.",
    limit="repeats",
)
def repeats_as_promised() -> str:
    """All that was given to members again, whatever explains it; of a run in which any was."""
    return """
        WITH again AS (
            SELECT coalesce(sum(count), 0) AS records, max(polled_at) AS at FROM {redeliveries}
        ), read AS (SELECT sum(count) AS records FROM {deliveries})
        SELECT 'the run' AS subject, coalesce(a.at, :stopped_at) AS at, a.records AS measured,
               :limit_repeats AS bound_high,
               clause('of ', r.records, ' that were delivered') AS note
        FROM again a CROSS JOIN read r WHERE r.records > 0
    """


@Rule(
    "L3",
    title="No more records are lost than promised",
    statement="No more acknowledged records stay unprocessed in the whole run than the group's "
    "owner promises.",
    source="kafka-chaos, limits",
    unit="records",
    things="runs",
    measures="lost",
    too_high="lost more records than promised",
    matters="An acknowledged record that is never processed is work that nobody will do.",
    limit="lost",
)
def lost_as_promised() -> str:
    """As X32a counts them: what lies past the last position read is unseen, not lost."""
    return """
        WITH {COUNTED}, summed AS (
            SELECT sum(acknowledged) AS acknowledged,
                   sum(IF(read_all, missing, greatest(0, skipped))) AS lost,
                   sum(IF(read_all, 0, missing - greatest(0, skipped))) AS unseen
            FROM counted
        )
        SELECT 'the run' AS subject, :stopped_at AS at, lost AS measured,
               :limit_lost AS bound_high,
               IF(unseen > 0 AND lost <= :limit_lost,
                  clause(unseen, ' records lie past the last position read: unseen, not lost'),
                  NULL) AS unknown,
               clause('of ', acknowledged, ' that were acknowledged') AS note
        FROM summed WHERE acknowledged > 0
    """


@Rule(
    "L4",
    title="The group catches up in the time promised",
    statement="Every partition is processed to its end within the time that the group's owner "
    "promises, once nothing is broken and nothing more is produced.",
    source="kafka-chaos, limits",
    unit="ms",
    things="partitions",
    measures="until the end was reached",
    too_high="was read to its end too late",
    matters="The group is behind until then, and its results are old.",
    limit="drained_s",
    delayed_by=THE_GROUP,
)
def drains_as_promised() -> str:
    """A partition whose end was reached before the producer stopped took no time."""
    return """
        WITH ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
        ), reached AS (
            SELECT e.topic, e.partition, e.end_offset, max(d.last_offset) + 1 AS position,
                   min(d.processed_at) FILTER (WHERE d.last_offset + 1 >= e.end_offset) AS done_at
            FROM ends e LEFT JOIN {deliveries} d
              ON same(d, e, topic, partition) AND d.processed_at IS NOT NULL
            GROUP BY e.topic, e.partition, e.end_offset
        )
        SELECT concat(topic, '-', partition) AS subject, coalesce(done_at, :drain_at) AS at,
               -- `greatest` passes over a null.
               IF(done_at IS NULL, NULL, greatest(0, ms_between(:drain_at, done_at))) AS measured,
               :limit_drained_ms AS bound_high,
               IF(done_at IS NULL AND end_offset > 0,
                  clause('was processed to ', coalesce(position, 0), ' of ', end_offset,
                         ' when the run ended'), NULL) AS wrong,
               IF(end_offset = 0, 'holds no record', NULL) AS excused,
               guard_from(:drain_at, done_at) AS guard_from, guard_to(done_at) AS guard_to
        FROM reached
    """
