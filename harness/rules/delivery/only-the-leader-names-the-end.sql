-- Only the leader of a partition names its end
-- Only the leader of a partition answers ListOffsets for it without an error.
-- why: A follower may be behind. A reader that begins at the end of its log reads records twice, or
--   takes records that are left for read.
-- source: Kafka protocol, ListOffsets; ReplicaManager.fetchOffset; KIP-207
-- id: X90 | rows: brokers | unit: answers | measured: of a broker that is not the leader | high:
--   answered for partitions that it does not lead | delayed by: broker | kind: broker, in passing
--
-- A broker that was paused or cut off may not know yet that it leads no more.

-- let LED_LATE_MS = 5000
--   How long the observer may see another leader than there is: it asks five times a second, and
--   waits half a second for each answer. In the kept runs each answer was that of the leader seen
--   last.

-- let SAYS
{FIRST_ODD} AS wrong, concat(count(*), ' answers') AS note,
-- While this machine was held up, the observer saw no change of a leader.
after(-:LED_LATE_MS, min(at) FILTER (WHERE odd IS NOT NULL)) AS guard_from,
after(:LED_LATE_MS, min(at) FILTER (WHERE odd IS NOT NULL)) AS guard_to

-- query
WITH led AS (
    SELECT topic, partition, leader, at,
           lead(at) OVER (PARTITION BY topic, partition ORDER BY at) AS until
    FROM {topology} WHERE what = 'partition' AND leader IS NOT NULL
), asked AS (
    SELECT r.broker, p.topic, p.partition, r.arrived_at, r.evidence
    FROM {requests} r LATERAL VIEW explode(positions) AS p
    WHERE r.api = 'LIST_OFFSETS' AND p.error_code = :NONE
), judged AS (
    SELECT concat('broker-', a.broker, ' (ends)') AS subject, a.arrived_at AS at, a.evidence,
           IF(count_if(l.leader = a.broker) = 0,
              clause('answered with the end of ', a.topic, '-', a.partition,
                     ', whose leader was broker-',
                     max_by(l.leader, struct(l.at, l.leader))), NULL) AS odd
    FROM asked a JOIN led l ON same(l, a, topic, partition)
     AND l.at <= after(:LED_LATE_MS, a.arrived_at)
     AND (l.until IS NULL OR l.until >= after(-:LED_LATE_MS, a.arrived_at))
    LEFT ANTI JOIN {unsettled} u
      ON NOT u.killed AND u.resolved = concat('broker-', a.broker)
     AND u.from_at <= a.arrived_at AND u.to_at >= a.arrived_at
    GROUP BY a.broker, a.topic, a.partition, a.arrived_at, a.evidence
)
{ODD_ONES} GROUP BY subject
