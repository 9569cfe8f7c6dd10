-- The committed positions of an empty group expire
-- A group's committed positions are kept for offsets.retention.minutes after it became empty, and
-- removed at the next check after that.
-- why: A group that pauses for longer repeats or skips records when it comes back.
-- source: offsets.retention.minutes; offsets.retention.check.interval.ms
-- id: X17 | rows: partitions | unit: ms | measured: after the group was empty | low: lost its
--   position too early | high: kept its position too long | protocols: classic | delayed by:
--   brokers | kind: broker
--
-- The observer asks a few times a second, so a position went between the last answer that had it
-- and the first that did not: it is late only if both came late.

-- let LATEST_MS = :retention_ms + :retention_check_ms + :slack_ms
-- let LATER = concat(CAST(round(some_ms) AS BIGINT), ' ms after the group was empty')

WITH emptied AS (
    SELECT at FROM {coordinator_events} e
    WHERE `group` = :group AND event = 'emptied'
      AND NOT EXISTS (SELECT 1 FROM {coordinator_events} s
                      WHERE s.`group` = :group AND s.event = 'stabilized'
                        AND s.at BETWEEN e.at AND after(:retention_ms, e.at))
), answered AS (
    SELECT topic, partition, e.at AS emptied_at, committed, processed_at,
           ms_between(e.at, processed_at) AS ms,
           min(IF(committed < 0, ms_between(e.at, processed_at), NULL))
               OVER (PARTITION BY topic, partition, e.at) AS none_ms
    FROM emptied e JOIN {positions} p ON p.arrived_at >= e.at
    WHERE api = 'OFFSET_FETCH' AND coalesce(request_error_code, 0) = 0 AND error_code = 0
), seen AS (
    SELECT topic, partition, emptied_at, none_ms,
           min(IF(committed < 0, processed_at, NULL)) AS none_at,
           max(IF(committed >= 0 AND (none_ms IS NULL OR ms < none_ms), ms, NULL)) AS some_ms
    FROM answered GROUP BY topic, partition, emptied_at, none_ms
    HAVING none_ms IS NOT NULL OR max(ms) >= :retention_ms
)
SELECT concat(topic, '-', partition) AS subject, coalesce(none_at, emptied_at) AS at,
       none_ms AS measured, :retention_ms AS bound_low, {LATEST_MS} AS bound_high,
       IF(none_ms IS NULL AND some_ms > {LATEST_MS},
          clause('still had its position ', {LATER}), NULL) AS wrong,
       IF(none_ms IS NULL AND some_ms <= {LATEST_MS},
          clause('had its position when last asked for, ', {LATER}), NULL) AS unknown,
       IF(none_ms >= :retention_ms AND some_ms <= {LATEST_MS},
          clause('was next asked for too late to know, after it had its position ', {LATER}),
          NULL) AS excused,
       concat('last had its position ', {LATER}) AS note,
       guard_from(after(:retention_ms, emptied_at), none_at) AS guard_from, none_at AS guard_to
FROM seen WHERE some_ms IS NOT NULL
