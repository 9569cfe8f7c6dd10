-- When nothing was committed any more, one row per partition and time.
--
-- Positions deleted on purpose, and those of a group that was empty for its retention, found to be
-- gone, whichever client asked.

SELECT topic, partition, processed_at AS at FROM {positions}
WHERE api = 'OFFSET_DELETE' AND error_code = :NONE
UNION ALL
SELECT p.topic, p.partition, p.processed_at
FROM {positions} p JOIN (SELECT min(at) AS at FROM {coordinator_events}
                         WHERE `group` = :group AND event = 'emptied') e
  ON p.arrived_at >= after(:retention_ms, e.at)
WHERE p.api = 'OFFSET_FETCH' AND p.error_code = :NONE AND p.committed = -1
