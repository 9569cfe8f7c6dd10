-- Only the leader of a partition tells its end
-- Only the leader of a partition answers ListOffsets for it without an error.
-- why: A follower may be behind. A reader that begins at the end of its log reads records twice, or
--   takes records that are left for read.
-- source: Kafka protocol, ListOffsets; ReplicaManager.fetchOffset; KIP-207
-- id: X90 | rows: brokers | unit: answers | measured: of a broker that is not the leader | high:
--   answered for partitions that it does not lead | delayed by: broker | kind: broker, in passing
--
-- Answers to whoever asked, of partitions that the observer saw, outside a broker's trouble.
--
-- One in trouble may not know yet that it leads no more.

-- let SEEN_LATE_MS = 5000
--   How long the observer may see another leader than there is: it asks five times a second, and
--   waits half a second for each answer. Over the kept runs each answer was that of the leader seen
--   last.

WITH led AS (
    SELECT topic, partition, leader, at,
           lead(at) OVER (PARTITION BY topic, partition ORDER BY at) AS until
    FROM {topology} WHERE what = 'partition' AND leader IS NOT NULL
), asked AS (
    SELECT r.broker, p.topic, p.partition, r.arrived_at, r.evidence
    FROM {requests} r LATERAL VIEW explode(positions) AS p
    WHERE r.api = 'LIST_OFFSETS' AND p.error_code = :NONE
), compared AS (
    SELECT a.broker, a.topic, a.partition, a.arrived_at, a.evidence,
           count_if(l.leader = a.broker) AS times,
           max_by(l.leader, struct(l.at, l.leader)) AS leader
    FROM asked a JOIN led l ON same(l, a, topic, partition)
     AND l.at <= after(:SEEN_LATE_MS, a.arrived_at)
     AND (l.until IS NULL OR l.until >= after(-:SEEN_LATE_MS, a.arrived_at))
    LEFT ANTI JOIN {unsettled} u
      ON u.from_at <= a.arrived_at AND u.to_at >= a.arrived_at
    GROUP BY a.broker, a.topic, a.partition, a.arrived_at, a.evidence
), worst AS (
    SELECT broker, min(arrived_at) AS at, count(*) AS answers,
           count_if(times = 0) AS others,
           min(struct(arrived_at, evidence, topic, partition, leader))
               FILTER (WHERE times = 0) AS first,
           min_by(evidence, struct(arrived_at, evidence)) AS evidence
    FROM compared GROUP BY broker
)
SELECT concat('broker-', broker, ' (ends)') AS subject,
       coalesce(first.arrived_at, at) AS at, others AS measured, 0 AS bound_high,
       IF(others > 0, clause('told the end of ', first.topic, '-', first.partition,
                             ', whose leader was broker-', first.leader), NULL) AS wrong,
       concat(answers, ' answers') AS note,
       coalesce(first.evidence, evidence) AS evidence,
       -- While this machine stood still, the observer saw no change of a leader.
       after(-:SEEN_LATE_MS, first.arrived_at) AS guard_from,
       after(:SEEN_LATE_MS, first.arrived_at) AS guard_to
FROM worst
