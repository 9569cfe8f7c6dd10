-- By default a crash is noticed within 45 s in KIP-848
-- With the brokers' default timers a member of KIP-848 is told to send a heartbeat every 5 s, and
-- is fenced 40 to 45 s after its crash.
-- why: A group that moves to KIP-848 waits as long as before, whatever its clients had set.
-- source: group.consumer.session.timeout.ms; group.consumer.heartbeat.interval.ms
-- id: X19-default | rows: crashes | unit: ms | measured: from the crash to the eviction | low: was
--   evicted too early | high: was evicted too late | protocols: consumer | delayed by: member,
--   toxiproxy, broker | kind: broker
--
-- The same where the run's timers are the defaults; a member is told its interval each time.

-- let DEFAULT_HEARTBEAT_MS = 5000
--   And how often the coordinator lets members of KIP-848 heartbeat
--   (group.consumer.heartbeat.interval.ms).

-- let TOLD
SELECT member, max(CAST(get_json_object(detail, '$.heartbeat_interval_ms') AS INT))
                   AS told_ms
FROM {consumer_heartbeats} WHERE error_code = :NONE AND generation >= 0
GROUP BY member

-- let UNSET = :session_ms = :DEFAULT_SESSION_MS AND :heartbeat_ms = :DEFAULT_HEARTBEAT_MS
-- let DEFAULT_MS = :DEFAULT_HEARTBEAT_MS
-- let WORDS = was told to heartbeat at an interval of

-- query
{DEFAULTS}
