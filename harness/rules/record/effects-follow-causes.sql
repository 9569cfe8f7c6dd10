-- Effects are never earlier than their causes
-- A record is handed over only after it was sent, and processed only after it was handed over, by
-- one poll after the other; a commit is answered only after it was asked for, and a request only
-- after it came. A leader that was killed acknowledges nothing, until another one is elected. A
-- member asks nothing of a broker before its process has started, and reads nothing after it was
-- killed, or after its client gave up. It is killed by a fault alone, fails only if its client gave
-- up, and closes only when it is asked to.
-- why: A history whose times contradict each other shows a wrong clock, or a wrong record. A
--   process that ends, or works, when it should not makes every other measurement one of something
--   else.
-- source: KafkaConsumer, poll; KafkaProducer, send; kafka-chaos, record of the fleet
-- id: X60 | was: X80 | rows: members | unit: times | measured: out of order | kind: in passing,
--   compares clocks
--
-- All but a record's sending is noted by the clock of one process. A record was sent no earlier
-- than the first of those that were sent with it. A run that is broken off ends its producer by
-- force, and its members too. What a member asked a broker that was stopped, or over a disturbed
-- link, may arrive after its process has ended.

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
), asked AS (
    SELECT member, min(arrived_at) AS at, max(struct(arrived_at, broker)) AS last
    FROM {own_requests} GROUP BY member
), last_asked AS (
    SELECT a.member, a.last.arrived_at AS at
    FROM asked a
    LEFT ANTI JOIN {stopped_brokers} s
      ON s.broker = a.last.broker AND s.from_at <= a.last.arrived_at
     AND s.to_at >= a.last.arrived_at
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = a.member, true) AND d.from_at <= a.last.arrived_at
     AND after(:slack_ms, d.to_at) >= a.last.arrived_at
), polled AS (
    SELECT member, max(polled_at) AS at FROM {deliveries} GROUP BY member
), noted AS (
    SELECT member, min(event_at) FILTER (WHERE event = 'error') AS gave_up_at,
           min(event_at) FILTER (WHERE event = 'closing') AS closing_at
    FROM {client_events}
    WHERE event = 'closing' OR event = 'error' AND detail LIKE 'process: %'
    GROUP BY member
), killed AS (
    SELECT resolved AS member, min(coalesce(injected_at, injecting_at)) AS at
    FROM {fault_windows} WHERE killed GROUP BY resolved
)
{ODD_ONES} GROUP BY subject HAVING count(*) > count(odd)
UNION ALL
SELECT concat(m.member, ' (process)'),
       IF(a.at < after(-:slack_ms, m.started_at), m.started_at,
          coalesce(m.ended_at, m.started_at)), NULL, NULL,
       CASE WHEN a.at < after(-:slack_ms, m.started_at)
            THEN clause('had asked a broker ',
                        CAST(round(ms_between(a.at, m.started_at)) AS INT),
                        ' ms before its process started')
            WHEN m.`end` = 'killed' AND k.at IS NULL AND (
                     SELECT count(*) FROM {members} WHERE role = 'producer' AND `end` IS NULL) = 0
            THEN 'was killed by no fault'
            WHEN m.`end` = 'failed' AND t.gave_up_at IS NULL
            THEN 'failed, and its client had not given up'
            WHEN m.`end` = 'closed' AND t.closing_at IS NULL
            THEN 'closed, and was not asked to'
            WHEN l.at > after(:STAMP_LATE_MS, m.ended_at)
            THEN clause('asked a broker ',
                        CAST(round(ms_between(m.ended_at, l.at)) AS INT),
                        ' ms after its process ended')
            WHEN p.at > after(:slack_ms, IF(m.`end` = 'killed', k.at, t.gave_up_at))
            THEN clause('read records ', CAST(round(ms_between(
                     IF(m.`end` = 'killed', k.at, t.gave_up_at), p.at)) AS INT),
                        ' ms after its end') END,
       m.`end`, NULL, NULL, NULL
FROM {members} m LEFT JOIN asked a USING (member)
LEFT JOIN last_asked l USING (member) LEFT JOIN polled p USING (member)
LEFT JOIN noted t USING (member) LEFT JOIN killed k USING (member)
WHERE m.role = 'consumer' AND m.client <> 'app'
