-- Those of `own_requests` whose answers can have reached their member.
--
-- A Java member that gives its coordinator up ends the connection as well, so it gets no answer to
-- a request of before (AbstractCoordinator.markCoordinatorUnknown). An answer may be why it gave it
-- up, and its line is stamped late.

SELECT r.* FROM {own_requests} r LEFT ANTI JOIN {client_events} c
  ON c.member = r.member AND c.event = 'coordinator_lost'
 AND c.event_at > r.arrived_at AND c.event_at <= after(-:slack_ms, r.answered_at)
