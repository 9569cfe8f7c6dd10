"""Where a member begins to read, and that nothing comes before what it follows from."""

from typing import Final

from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# A client may ask for its positions just before its application hears of its partitions.
ASKED_MS: Final = 1_000


@Rule(
    "X58",
    title="A member reads on from the position that it was told",
    statement="A member that is handed a partition asks its coordinator for the committed "
    "position, and the first record that it hands on is the one there. If no usable position is "
    "committed, it begins at the end of the log that it looked up.",
    source="KafkaConsumer, Offsets and Consumer Position; auto.offset.reset",
    unit="records",
    things="partitions that members began to read",
    measures="from the position told",
    too_low="began before the position that it was told",
    too_high="began behind the position that it was told, and skipped records",
    matters="What lies between the committed position and the first record is processed twice, or "
    "by nobody.",
    in_passing=True,
    compares_clocks=True,
)
def reads_on() -> str:
    """The first records after each assignment, beside the last answers before them.

    A position in a store of the application's own is nothing that a broker knows. While a broker
    is broken, an answer may be on no log. librdkafka does not look an end of the log up again.
    """
    return """
        WITH mixed AS (
            SELECT member, topic, partition, event_at AS at, event AS what, 0 AS rank,
                   CAST(NULL AS BIGINT) AS first_offset
            FROM {callbacks}
            UNION ALL
            SELECT member, topic, partition, polled_at, 'record', 1, first_offset FROM {deliveries}
        ), followed AS (
            SELECT *, lag(what) OVER w AS before, lag(at) OVER w AS handed_at
            FROM mixed WINDOW w AS (PARTITION BY member, topic, partition
                                    ORDER BY at, rank, first_offset)
        ), starts AS (
            SELECT f.member, f.topic, f.partition, f.at, f.handed_at, f.first_offset
            FROM followed f
            LEFT ANTI JOIN {unsettled} b
              ON b.from_at <= f.at
             AND b.to_at >= f.handed_at
            WHERE f.what = 'record' AND f.before = 'assigned' AND :commit <> 'external'
        ), answers AS (
            -- Who looks an end of the log up names no group.
            SELECT api, coalesce(program, client_id) AS member, p.topic, p.partition, p.committed,
                   arrived_at, evidence
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)
              AND p.error_code = :NONE
        ), ranked AS (
            -- First the last before the record; or else, stamped late, the first one after it.
            SELECT s.member, s.topic, s.partition, s.at, s.handed_at, s.first_offset,
                   p.api, p.committed, p.evidence,
                   p.arrived_at >= after(-:ASKED_MS, s.handed_at) AS just_asked,
                   row_number() OVER (
                       PARTITION BY s.member, s.topic, s.partition, s.at, p.api
                       ORDER BY p.arrived_at > after(:slack_ms, s.at),
                                abs(ms_between(p.arrived_at, s.at)), p.evidence) AS place
            FROM starts s LEFT JOIN answers p ON same(p, s, member, topic, partition)
             AND p.arrived_at <= after(:STAMP_LATE_MS, s.at)
        ), told AS (
            SELECT member, topic, partition, at, handed_at, first_offset,
                   max(struct(committed, evidence))
                       FILTER (WHERE api = 'OFFSET_FETCH' AND just_asked) AS position,
                   max(struct(committed, evidence))
                       FILTER (WHERE api = 'LIST_OFFSETS' AND just_asked) AS looked_up,
                   max(committed) FILTER (WHERE api = 'LIST_OFFSETS') AS known
            FROM ranked WHERE place = 1
            GROUP BY member, topic, partition, at, handed_at, first_offset
        ), due AS (
            SELECT *, CASE WHEN position.committed >= 0
                                AND first_offset IS DISTINCT FROM looked_up.committed
                           THEN position.committed
                           WHEN position.committed IS NOT NULL
                           THEN coalesce(looked_up.committed, known) END AS due
            FROM told
        )
        SELECT concat(topic, '-', partition, ' at ', member) AS subject, at,
               first_offset - due AS measured, 0 AS bound_low, 0 AS bound_high,
               CASE WHEN position.committed IS NULL
                    THEN 'began to read without having asked for its position'
                    WHEN due IS NULL THEN 'began to read without a position' END AS wrong,
               concat('began at ', first_offset, ', told ',
                      coalesce(CAST(position.committed AS STRING), 'nothing'),
                      coalesce(concat(', looked up ', looked_up.committed), '')) AS note,
               coalesce(position.evidence, looked_up.evidence) AS evidence
        FROM due
    """


@Rule(
    "X60",
    title="Effects are never earlier than their causes",
    statement="A record is handed over only after it was sent, and processed only after it was "
    "handed over, by one poll after the other; a commit is answered only after it was asked for, "
    "and a request only after it came.",
    source="KafkaConsumer, poll; KafkaProducer, send",
    unit="times",
    things="members",
    measures="out of order",
    matters="A history whose times contradict each other shows a wrong clock, or a wrong record.",
    in_passing=True,
)
def in_this_order() -> str:
    """Each member's records, commits and requests beside what they follow from.

    All but a record's sending is noted by the clock of one process. A record was sent no earlier
    than the first of those that were sent with it.
    """
    return """
        WITH mixed AS (
            SELECT topic, partition, first_offset AS position, 0 AS rank, first_sent_at AS sent_at,
                   last_offset AS until, CAST(NULL AS STRING) AS member,
                   CAST(NULL AS TIMESTAMP) AS at
            FROM {sends} WHERE outcome = 'acknowledged'
            UNION ALL
            SELECT topic, partition, last_offset, 1, NULL, NULL, member, polled_at FROM {deliveries}
        ), sent AS (
            SELECT member, at, topic, partition, position,
                   max(struct(position AS sends_at, until, sent_at)) FILTER (WHERE rank = 0) OVER (
                       PARTITION BY topic, partition ORDER BY position, rank {SO_FAR}) AS s
            FROM (SELECT *, position AS sends_at FROM mixed)
        ), odd AS (
            SELECT member, at, concat('was handed ', topic, '-', partition, ':', position,
                                      ' before it was sent') AS what
            FROM sent
            WHERE member IS NOT NULL AND s.until >= position AND s.sent_at > after(:slack_ms, at)
            UNION ALL
            SELECT member, polled_at, concat('had processed ', topic, '-', partition, ':',
                                             first_offset, ' before it was handed over')
            FROM {deliveries} WHERE processed_at < polled_at
            UNION ALL
            SELECT d.member, min(d.polled_at),
                   concat('was handed ', sum(d.count), ' records by poll ', d.poll)
            FROM {deliveries} d JOIN {members} m ON m.member = d.member
            GROUP BY d.member, d.poll
            HAVING sum(d.count) > max(m.batch_records)
            UNION ALL
            SELECT s.member, e.event_at, 'ended its stall too soon'
            FROM {client_events} s JOIN {client_events} e
              ON e.member = s.member AND e.event = 'stall_ended' AND e.event_at > s.event_at
             AND e.event_at < after(s.duration_ms - :rounding_ms, s.event_at)
            WHERE s.event = 'stall_started'
            UNION ALL
            SELECT d.member, d.polled_at, concat('had processed ', d.count, ' records of ', d.topic,
                                                 '-', d.partition, ' sooner than it can')
            FROM {deliveries} d JOIN {members} m ON m.member = d.member
            WHERE ms_between(d.polled_at, d.processed_at)
                  < d.count * m.process_us / 1e3 - :rounding_ms
            UNION ALL
            SELECT member, polled_at, concat('was handed records by poll ', poll,
                                             ' after those of poll ', later)
            FROM (SELECT member, polled_at, poll, max(poll) OVER (
                      PARTITION BY member ORDER BY polled_at, poll {SO_FAR}) AS later
                  FROM {deliveries}) WHERE poll < later
            UNION ALL
            SELECT member, asked_at, concat('was answered a commit of ', topic, '-', partition,
                                            ' before it had asked')
            FROM {commits} WHERE answered_at < asked_at
            UNION ALL
            SELECT member, next_at, concat('was handed records by poll ', poll_after,
                                           ' before it had processed those of poll ', poll)
            FROM (SELECT member, poll, processed_at, lead(polled_at) OVER w AS next_at,
                         lead(poll) OVER w AS poll_after
                  FROM {deliveries} WINDOW w AS (PARTITION BY member ORDER BY poll, polled_at))
            WHERE poll_after > poll AND processed_at > next_at
            UNION ALL
            SELECT member, at, concat('was handed records while it waited for the answer to a ',
                                      'commit')
            FROM (SELECT member, at, rank, max(IF(rank = 0, until, NULL)) OVER (
                      PARTITION BY member ORDER BY at, rank {SO_FAR}) AS waits_to
                  FROM (SELECT member, asked_at AS at, answered_at AS until, 0 AS rank
                        FROM {awaited_commits}
                        UNION ALL
                        SELECT member, polled_at, NULL, 1 FROM {deliveries}))
            WHERE rank = 1 AND waits_to > after(:rounding_ms, at)
            UNION ALL
            SELECT e.member, a.at, concat(a.what, ' while it stood still')
            FROM {client_events} e JOIN (
                SELECT member, polled_at AS at, 'was handed records' AS what FROM {deliveries}
                UNION ALL
                SELECT member, asked_at, 'asked for a commit' FROM {commits}) a
              ON a.member = e.member AND a.at > after(:rounding_ms, e.event_at)
             AND a.at < after(e.duration_ms - :rounding_ms, e.event_at)
            WHERE e.event = 'stall_started'
            UNION ALL
            SELECT 'producer', first_sent_at, concat('was answered for ', topic, '-', partition,
                                                     ':', first_offset, ' before it had sent it')
            FROM {sends} WHERE last_answered_at < first_sent_at
            UNION ALL
            SELECT member, polled_at, concat('was handed ', count, ' records of ', topic, '-',
                                             partition, ':', first_offset, ' to ', last_offset)
            FROM {deliveries} WHERE count <> last_offset - first_offset + 1
            UNION ALL
            SELECT member, arrived_at, concat('was answered a ', api, ' before it had come')
            FROM {own_requests} WHERE processed_at < arrived_at OR answered_at < processed_at
        ), members AS (
            SELECT member, min(polled_at) AS at, count(*) AS deliveries
            FROM {deliveries} GROUP BY member
            UNION ALL
            SELECT 'producer', min(first_sent_at), count(*) FROM {sends} HAVING count(*) > 0
        ), worst AS (
            SELECT member, count(*) AS times, min(struct(at, what)) AS first
            FROM odd GROUP BY member
        )
        SELECT concat(m.member, ' (order)') AS subject, coalesce(w.first.at, m.at) AS at,
               coalesce(w.times, 0) AS measured, 0 AS bound_high,
               IF(w.times > 0, clause(w.first.what), NULL) AS wrong,
               concat(m.deliveries, ' ranges of records') AS note,
               IF(w.times > 0, w.first.at, NULL) AS guard_from, w.first.at AS guard_to
        FROM members m LEFT JOIN worst w ON w.member = m.member
    """


@Rule(
    "X72",
    title="A member reads each partition onwards",
    statement="A member that goes on with a partition is handed records behind those that it was "
    "handed before. It goes back only when the partition is handed to it anew.",
    source="KafkaConsumer, Offsets and Consumer Position",
    unit="records",
    things="members and partitions",
    measures="back",
    too_high="was handed records again, or out of order",
    matters="Whoever relies on the order of a partition applies an older record over a newer one.",
    in_passing=True,
)
def reads_onwards() -> str:
    """Per member and partition the largest step back from one poll to the next.

    A position that is set anew may be anywhere, so a callback for assigned partitions, and a lookup
    of a log's end, begin anew. A member with transactions goes back when one is aborted, and is not
    examined.
    """
    return """
        WITH mixed AS (
            SELECT d.member, topic, partition, polled_at AS at, first_offset, last_offset,
                   0 AS begins
            FROM {deliveries} d
            LEFT ANTI JOIN {members} m ON m.member = d.member AND m.commit = 'transaction'
            UNION ALL
            SELECT member, topic, partition, event_at, NULL, NULL, 1
            FROM {callbacks} WHERE event = 'assigned'
            UNION ALL
            SELECT coalesce(program, client_id), p.topic, p.partition, arrived_at, NULL, NULL, 1
            FROM {requests} LATERAL VIEW explode(positions) AS p WHERE api = 'LIST_OFFSETS'
        ), parts AS (
            SELECT *, sum(begins) OVER (
                PARTITION BY member, topic, partition ORDER BY at, begins DESC, first_offset
                {SO_FAR}) AS part
            FROM mixed
        ), stepped AS (
            SELECT *, lag(last_offset) OVER (
                PARTITION BY member, topic, partition, part ORDER BY at, first_offset) AS before
            FROM parts WHERE begins = 0
        ), worst AS (
            SELECT member, topic, partition, min(at) AS at, count(*) AS ranges,
                   max(struct(before + 1 - first_offset AS back, at, first_offset, before))
                       FILTER (WHERE before IS NOT NULL) AS found
            FROM stepped GROUP BY member, topic, partition
        )
        SELECT concat(member, ' on ', topic, '-', partition) AS subject,
               IF(found.back > 0, found.at, at) AS at,
               greatest(0, coalesce(found.back, 0)) AS measured, 0 AS bound_high,
               IF(found.back > 0, concat('record ', found.first_offset, ' after ', found.before),
                  NULL) AS note
        FROM worst
    """
