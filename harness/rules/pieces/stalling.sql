-- What becomes of a member whose application does not poll, and of its heartbeats.

-- let NOT_JOINING
--   It follows on a table of events named e, and leaves out those during which a JoinGroup of
--   Java's waited for its answer: its heartbeat thread sleeps then, and the poll that reads the
--   answer begins the time anew (AbstractCoordinator, HeartbeatThread).
LEFT ANTI JOIN {own_requests} j
  ON :client = 'java' AND j.member = e.member AND j.api = 'JOIN_GROUP'
 AND j.arrived_at <= e.event_at AND j.processed_at >= e.event_at
