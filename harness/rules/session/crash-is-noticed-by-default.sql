-- By default a crash is noticed within 45 s
-- A member without a session.timeout.ms of its own sends the coordinator one of 45 s, and is
-- evicted 42 to 45 s after its crash, with heartbeats every 3 s.
-- why: The records of a crashed consumer with default settings wait that long.
-- source: KIP-735; session.timeout.ms
-- id: X11 | rows: crashes | unit: ms | measured: from the crash to the eviction | low: was evicted
--   too early | high: was evicted too late | protocols: classic | delayed by: member, toxiproxy,
--   broker | kind: broker
--
-- Crashes of members that leave the session to their library, from the kill to the eviction.
--
-- The last heartbeat before the kill can be as old as their interval, so the wait is shorter by up
-- to that. The moment of a kill lies between the two marks of its fault.

-- let TOLD = SELECT member, max(session_timeout_ms) AS told_ms FROM {joins} GROUP BY member
-- let UNSET = from_json(m.settings, 'map<string, string>')['session.timeout.ms'] = 'unset'
-- let DEFAULT_MS = :DEFAULT_SESSION_MS
-- let WORDS = told the coordinator a session of

{DEFAULTS}
