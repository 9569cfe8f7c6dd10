-- `heartbeats`: every heartbeat that the coordinator answered, and the gap before it.

-- let MINUTE_MS = 60000
