-- When the application of a member could not poll, one row per reason.
--
-- `reason` is "commit" (it waits for the answer), "work" (on what a poll returned) or "stall".
-- `to_at` is null where that never ended.

SELECT member, 'commit' AS reason, asked_at AS from_at, answered_at AS to_at FROM {commits}
WHERE how IN ('sync', 'revoke', 'interval')
UNION ALL
SELECT member, 'work', polled_at, processed_at FROM {deliveries}
UNION ALL
SELECT member, 'stall', event_at, after(duration_ms, event_at) FROM {client_events}
WHERE event = 'stall_started'
