-- When nothing was committed any more, one row per partition and time.
--
-- Positions deleted on purpose, and those of a group that was empty for its retention, found to be
-- gone, whichever client asked.

SELECT p.topic, p.partition, processed_at AS at
FROM {requests} LATERAL VIEW explode(positions) AS p
WHERE `group` = :group AND api = 'OFFSET_DELETE' AND p.error_code = 0
UNION ALL
SELECT p.topic, p.partition, r.processed_at
FROM (SELECT min(at) AS at FROM {coordinator_events}
      WHERE `group` = :group AND event = 'emptied') e
JOIN {requests} r ON r.arrived_at >= after(:retention_ms, e.at)
LATERAL VIEW explode(positions) AS p
WHERE r.`group` = :group AND r.api = 'OFFSET_FETCH' AND p.error_code = 0
  AND p.committed = -1
