-- One row per commit and partition, by what the application of the member knew.

-- let OFF_MS = 2000
--   A commit is on its way for a while, and its line is stamped late. No kept run has one that is
--   more than 50 ms off; on a busy machine one run with a cut link had eight.

WITH committed AS (
    {COMMITTED}
), astray AS (
    SELECT DISTINCT c.member, c.topic, c.partition, c.arrived_at
    FROM committed c LEFT ANTI JOIN {ownership} o ON same(o, c, member, topic, partition)
     AND o.from_at <= after(:OFF_MS, c.arrived_at)
     AND (o.to_at IS NULL OR o.to_at >= after(-:OFF_MS, c.arrived_at))
), sent AS (
    -- What a fault held up on its way may have been sent when it began.
    SELECT c.member, c.topic, c.partition, c.arrived_at, min(d.from_at) AS at
    FROM astray c LEFT JOIN {disturbances} d
      ON coalesce(d.member = c.member, true) AND d.from_at <= c.arrived_at
     AND after(:OFF_MS, d.to_at) >= c.arrived_at
    GROUP BY c.member, c.topic, c.partition, c.arrived_at
)
SELECT c.member, c.topic, c.partition, c.arrived_at AS at
FROM sent c LEFT ANTI JOIN {ownership} o ON same(o, c, member, topic, partition)
 AND o.from_at <= after(:OFF_MS, c.arrived_at)
 AND (o.to_at IS NULL OR o.to_at >= after(-:OFF_MS, c.at))
