-- The gaps that overlap an episode or a fault, once for each.
--
-- `assigned_at` is when the new owner was given the partition, if within the gap; null if it was
-- not. `episode` is null for a row that is about a fault, and `whose` is what the fault happened
-- to.

-- let BUCKET_S = 10
--   gaps are joined with episodes and faults within buckets of time

WITH windows AS (
    SELECT DISTINCT episode, CAST(NULL AS STRING) AS fault, CAST(NULL AS STRING) AS whose,
           first_at AS began_at, last_at AS over_at
    FROM {episodes}
    UNION ALL
    SELECT NULL, fault, resolved, injecting_at, coalesce(healed_at, failed_at, injected_at)
    FROM {fault_windows} WHERE injecting_at IS NOT NULL
), spread AS (
    SELECT *, explode(sequence(unix_seconds(began_at) DIV :BUCKET_S,
                               unix_seconds(over_at) DIV :BUCKET_S)) AS bucket
    FROM windows
), spread_gaps AS (
    SELECT *, explode(sequence(unix_seconds(from_at) DIV :BUCKET_S,
                               unix_seconds(to_at) DIV :BUCKET_S)) AS bucket
    FROM {gaps}
), around AS (
    SELECT DISTINCT w.episode, w.fault, w.whose, w.began_at, g.* EXCEPT (bucket)
    FROM spread w JOIN spread_gaps g
      ON g.bucket = w.bucket AND g.from_at <= w.over_at AND g.to_at >= w.began_at
)
SELECT a.*, max(c.at) AS assigned_at
FROM around a LEFT JOIN {callbacks} c
  ON c.event = 'assigned' AND c.member = a.new_member AND same(c, a, topic, partition)
 AND c.at BETWEEN a.from_at AND a.to_at
GROUP BY ALL
