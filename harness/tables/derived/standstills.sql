-- Per generation and partition, the longest time that no member processed the partition.
--
-- From the end of the work on everything delivered before (as long as it was declared to take: a
-- stall is no work) to the next poll that returned records. Waiting for new records counts too, so
-- at low rates a standstill has a floor of one record's interval.

-- let BUCKET_S = 10
--   standstills and rebalances are joined within buckets of time

WITH still AS (
    SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
           explode(sequence(unix_seconds(busy_until) DIV :BUCKET_S,
                            unix_seconds(polled_at) DIV :BUCKET_S)) AS bucket
    FROM {progress} WHERE busy_until < polled_at
), around AS (
    SELECT generation, joined_at, started_at,
           coalesce(completed_at, joined_at) AS completed_at,
           explode(sequence(unix_seconds(started_at) DIV :BUCKET_S,
               unix_seconds(coalesce(completed_at, joined_at)) DIV :BUCKET_S)) AS bucket
    FROM {generations} WHERE started_at IS NOT NULL
)
SELECT r.generation, r.joined_at, s.topic, s.partition,
       max(ms_between(s.from_at, s.to_at)) AS ms
FROM around r JOIN still s
  ON s.bucket = r.bucket AND s.from_at <= r.completed_at AND s.to_at >= r.started_at
GROUP BY r.generation, r.joined_at, s.topic, s.partition
