-- A member gets no records of a partition without a leader
-- A member keeps a partition that has no leader, and gets no records of it except those that it had
-- fetched before.
-- why: A partition with a single replica stops until its broker is back.
-- source: document 000, broker crash (an idle consumer)
-- id: R11-idle | rows: partitions without a leader | unit: records | measured: handed out without a
--   leader | high: handed out records that it could not have fetched | kind: broker

-- let FETCHED_MS = 1000
--   What a member fetched before the leader was gone it may still hand out, as fast as it works.

WITH seen AS (
    SELECT topic, partition, at, leader < 0 AS alone,
           lag(leader < 0) OVER (PARTITION BY topic, partition ORDER BY at) AS alone_before
    FROM {topology} WHERE what = 'partition' AND topic = :topic AND leader IS NOT NULL
), turns AS (
    SELECT topic, partition, alone, at AS from_at,
           coalesce(lead(at) OVER (PARTITION BY topic, partition ORDER BY at), :ended_at) AS to_at
    FROM seen WHERE alone_before IS NULL OR alone <> alone_before
), held AS (
    SELECT l.*, min(o.member) AS member
    FROM turns l LEFT JOIN {ownership} o
      ON same(o, l, topic, partition) AND o.from_at <= l.from_at
     AND (o.to_at IS NULL OR o.to_at > l.from_at)
    WHERE l.alone AND ms_between(l.from_at, l.to_at) > 2 * :FETCHED_MS
    GROUP BY ALL
)
SELECT concat(h.topic, '-', h.partition, ' of ', coalesce(h.member, 'no member')) AS subject,
       h.from_at AS at, coalesce(sum(d.count), 0) AS measured, 0 AS bound_high,
       concat('without a leader for ', ms_between(h.from_at, h.to_at), ' ms') AS note
FROM held h LEFT JOIN {deliveries} d ON same(d, h, topic, partition)
 AND d.polled_at > after(:FETCHED_MS, h.from_at)
 -- The observer may be late to see that there is a leader again.
 AND d.polled_at < after(-:FETCHED_MS, h.to_at)
GROUP BY h.topic, h.partition, h.member, h.from_at, h.to_at
