-- Effects are never earlier than their causes
-- A record is handed over only after it was sent, and processed only after it was handed over, by
-- one poll after the other; a commit is answered only after it was asked for, and a request only
-- after it came. A leader that was killed acknowledges nothing, until another one is elected.
-- why: A history whose times contradict each other shows a wrong clock, or a wrong record.
-- source: KafkaConsumer, poll; KafkaProducer, send
-- id: X60 | rows: members | unit: times | measured: out of order | kind: in passing
--
-- All but a record's sending is noted by the clock of one process. A record was sent no earlier
-- than the first of those that were sent with it.

-- let ELECTED_MS = 2000
--   How late the observer, which asks five times a second, may see a new leader.

-- let SAYS
{FIRST_ODD} AS wrong, concat(count(*) - count(odd), ' ranges of records') AS note,
min(at) FILTER (WHERE odd IS NOT NULL) AS guard_from,
min(at) FILTER (WHERE odd IS NOT NULL) AS guard_to

-- query
WITH leaders AS (
    SELECT topic, partition, leader, at, lead(at) OVER w AS next_at
    FROM {topology} WHERE what = 'partition' AND leader > 0
    WINDOW w AS (PARTITION BY topic, partition ORDER BY at)
), leaderless AS (
    SELECT l.topic, l.partition, after(:STAMP_LATE_MS, f.injected_at) AS from_at,
           after(-:ELECTED_MS, min(n.at)) AS to_at
    FROM {broker_faults} f JOIN leaders l
      ON f.resolved = concat('broker-', l.leader) AND l.at <= f.injecting_at
     AND l.next_at > f.injecting_at
    JOIN leaders n
      ON same(n, l, topic, partition) AND n.leader <> l.leader AND n.at > f.injecting_at
    WHERE f.killed AND f.took_effect GROUP BY f.fault, f.injected_at, l.topic, l.partition
), mixed AS (
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
    SELECT e.member, a.at, concat(a.what, ' while it stalled')
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
    SELECT 'producer', s.last_answered_at, concat('was answered for ', s.topic, '-', s.partition,
                                                  ':', s.last_offset, ' by a dead leader')
    FROM {sends} s JOIN leaderless l
      ON same(l, s, topic, partition) AND s.last_answered_at > l.from_at
     AND s.last_answered_at < l.to_at
    WHERE s.outcome = 'acknowledged'
    UNION ALL
    SELECT member, polled_at, concat('was handed ', count, ' records of ', topic, '-',
                                     partition, ':', first_offset, ' to ', last_offset)
    FROM {deliveries} WHERE count <> last_offset - first_offset + 1
    UNION ALL
    SELECT member, arrived_at, concat('was answered a ', api, ' before it had come')
    FROM {own_requests} WHERE processed_at < arrived_at OR answered_at < processed_at
), judged AS (
    SELECT concat(member, ' (order)') AS subject, at, what AS odd, CAST(NULL AS STRING) AS evidence
    FROM odd
    UNION ALL
    SELECT concat(member, ' (order)'), polled_at, NULL, NULL FROM {deliveries}
    UNION ALL
    SELECT 'producer (order)', first_sent_at, NULL, NULL FROM {sends}
)
{ODD_ONES} GROUP BY subject HAVING count(*) > count(odd)
