-- One row per commit and partition, by what the application of the member knew.

-- A commit counts from when the application asked for it, if that is on record: asynchronous ones
-- wait for each other, and came 3.9 s later on a busy machine.

-- let OFF_MS = 2000
--   A commit that the library made by itself is on its way for a while, and its line is stamped
--   late. No kept run has one that is more than 50 ms off; on a busy machine one run with a cut
--   link had eight.

WITH committed AS (
    {COMMITTED}
), asked AS (
    SELECT c.member, c.topic, c.partition, c.arrived_at,
           coalesce(after(-:slack_ms, max(k.asked_at)), after(-:OFF_MS, c.arrived_at)) AS at
    FROM committed c LEFT JOIN {commits} k
      ON same(k, c, member, topic, partition, committed)
     AND k.asked_at <= after(:slack_ms, c.arrived_at)
    GROUP BY c.member, c.topic, c.partition, c.arrived_at
), astray AS (
    SELECT c.* FROM asked c LEFT ANTI JOIN {ownership} o ON same(o, c, member, topic, partition)
     AND o.from_at <= after(:OFF_MS, c.arrived_at) AND (o.to_at IS NULL OR o.to_at >= c.at)
), sent AS (
    -- What a fault held up on its way may have been sent when it began.
    SELECT c.member, c.topic, c.partition, c.arrived_at,
           least(min(c.at), after(-:OFF_MS, min(d.from_at))) AS at
    FROM astray c LEFT JOIN {disturbances} d
      ON coalesce(d.member = c.member, true) AND d.from_at <= c.arrived_at
     AND after(:OFF_MS, d.to_at) >= c.arrived_at
    GROUP BY c.member, c.topic, c.partition, c.arrived_at
)
SELECT c.member, c.topic, c.partition, c.arrived_at AS at
FROM sent c LEFT ANTI JOIN {ownership} o ON same(o, c, member, topic, partition)
 AND o.from_at <= after(:OFF_MS, c.arrived_at) AND (o.to_at IS NULL OR o.to_at >= c.at)
