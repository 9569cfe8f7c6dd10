-- The cluster is whole, and stores records, where nothing is broken
-- While no broker is broken, every broker is alive, and every partition has a leader among its
-- in-sync replicas. Before the first fault of a broker, leaders stay, and no replica falls out of
-- sync. While nothing is broken, every record that the producer sends is acknowledged.
-- why: What a group does in a cluster that broke by itself shows nothing about the fault that was
--   meant.
-- source: Kafka documentation, Replication; KafkaProducer, delivery.timeout.ms; acks
-- id: X77 | was: X89 | rows: brokers, topics and partitions | unit: sights or records | measured:
--   otherwise | high: were seen otherwise, or not stored, while nothing was broken | delayed by:
--   broker, controller | kind: broker, in passing, compares clocks
--
-- A broker that is back is in sync again within a session. What passed within a second may be a
-- question that this machine held up. A broker that refuses a connection is dead. A silent one is
-- alive while it answers any request or writes a line, at least every 5 s, and while it waits for a
-- processor.
--
-- Law: a broker is dead where it refuses the observer, or answers no request and waits for nothing,
-- be it for 5 s of a longer silence.

-- let ALIVE_MS = 5000
--   For how long an answer shows that a broker is alive. Members ask it more often, and the
--   observer.
-- let GLIMPSE_MS = 1000
--   For how long something has to be seen: a broker once seemed dead for less on a busy machine.

-- let SAYS
{FIRST_ODD} AS wrong, concat('seen ', count(*), ' times') AS note,
-- The observer takes for dead what does not answer it in time.
after(-3 * :GLIMPSE_MS, min(at) FILTER (WHERE odd IS NOT NULL)) AS guard_from,
min(at) FILTER (WHERE odd IS NOT NULL) AS guard_to

-- query
WITH changed AS (
    SELECT *, lead(at) OVER w AS next_at, lag(leader) OVER w AS leader_before,
           size(lag(isr) OVER w) AS in_sync_before
    FROM {topology} WHERE what IN ('broker', 'partition')
    WINDOW w AS (PARTITION BY what, broker, topic, partition ORDER BY at)
), broken AS (
    SELECT min(injecting_at) AS first_at FROM {broker_faults}
), at_work AS (
    SELECT broker, answered_at AS at FROM {requests}
    UNION ALL SELECT broker, answered_at FROM {fetches}
    UNION ALL SELECT broker, at FROM {coordinator_events}
), answers AS (
    SELECT c.broker, c.at, coalesce(c.next_at, :stopped_at) AS to_at, a.at AS answered_at,
           coalesce(lag(a.at) OVER w, c.at) AS before_at
    FROM changed c LEFT JOIN at_work a
      ON a.broker = c.broker AND a.at >= c.at AND a.at <= coalesce(c.next_at, :stopped_at)
    WHERE c.what = 'broker' AND c.detail = 'silent'
    WINDOW w AS (PARTITION BY c.broker, c.at ORDER BY a.at)
), silences AS (
    SELECT broker, at, to_at,
           coalesce(greatest(max(ms_between(before_at, answered_at)),
                             ms_between(max(answered_at), to_at)) <= :ALIVE_MS, false) AS answered
    FROM answers GROUP BY broker, at, to_at
), silent AS (
    SELECT s.broker, s.at, s.answered,
           ms_between(s.at, s.to_at) - sum(w.waited_ms) < :GLIMPSE_MS AS held_up
    FROM silences s LEFT JOIN {waits} w
      ON w.process = concat('broker-', s.broker) AND w.from_at <= s.to_at
     -- The question that was not answered in time.
     AND w.at >= after(-:GLIMPSE_MS, s.at)
    GROUP BY s.broker, s.at, s.to_at, s.answered
), judged AS (
    SELECT concat(IF(t.what = 'broker', concat('broker-', t.broker), t.topic), ' (seen)')
               AS subject, t.at, CAST(NULL AS STRING) AS evidence,
           CASE WHEN t.at < :steady_at OR t.at > :stopped_at
                     OR ms_between(t.at, t.next_at) < :GLIMPSE_MS THEN NULL
                WHEN s.answered OR s.held_up THEN NULL
                WHEN s.at IS NOT NULL THEN 'was silent, and answered no request'
                WHEN t.what = 'broker' AND NOT t.alive THEN 'was dead'
                WHEN t.what = 'partition' AND t.leader < 1
                THEN concat(t.topic, '-', t.partition, ' had no leader')
                WHEN t.what = 'partition' AND NOT array_contains(t.isr, t.leader)
                THEN concat(t.topic, '-', t.partition, ' had a leader out of sync')
                WHEN t.what = 'partition' AND array_max(t.isr) > :brokers
                THEN concat(t.topic, '-', t.partition, ' was in sync on broker-',
                            array_max(t.isr), ', which there is not')
                WHEN t.what = 'partition' AND t.leader <> t.leader_before
                     AND coalesce(b.first_at > t.at, true)
                THEN concat(t.topic, '-', t.partition, ' had another leader')
                WHEN t.what = 'partition' AND size(t.isr) < t.in_sync_before
                     AND coalesce(b.first_at > t.at, true)
                THEN concat(t.topic, '-', t.partition, ' was in sync on ', size(t.isr),
                            ' brokers, and on ', t.in_sync_before, ' before')
           END AS odd
    FROM changed t CROSS JOIN broken b
    LEFT JOIN silent s ON t.what = 'broker' AND s.broker = t.broker AND s.at = t.at
    LEFT ANTI JOIN {unsettled} u
      ON u.from_at <= t.at AND u.to_at >= t.at
     AND (t.what <> 'broker' OR u.resolved = concat('broker-', t.broker))
), failed AS (
    SELECT s.topic, s.partition, min(s.first_sent_at) AS at, sum(s.count) AS records
    FROM {sends} s LEFT ANTI JOIN {fault_windows} f
      ON f.injecting_at <= coalesce(s.last_answered_at, s.first_sent_at)
     AND after(:session_ms, coalesce(f.healed_at, :ended_at)) >= s.first_sent_at
    WHERE s.outcome = 'failed' GROUP BY s.topic, s.partition
)
{ODD_ONES} GROUP BY subject
UNION ALL
SELECT concat(s.topic, '-', s.partition, ' (failed)'), coalesce(f.at, s.at),
       coalesce(f.records, 0), 0,
       IF(f.records > 0, 'has records that failed while nothing was broken', NULL),
       concat(s.records, ' records'), NULL, NULL, NULL
FROM (SELECT topic, partition, min(first_sent_at) AS at, sum(count) AS records
      FROM {sends} GROUP BY topic, partition) s
LEFT JOIN failed f ON same(f, s, topic, partition)
