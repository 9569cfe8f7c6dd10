-- When a member began to close, or to stall, by itself.

SELECT member, event_at AS at, IF(event = 'closing', 'close', 'stall') AS what
FROM {client_events} WHERE event IN ('closing', 'stall_started')
