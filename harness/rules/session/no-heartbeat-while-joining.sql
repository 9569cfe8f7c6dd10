-- A member sends no heartbeats while its JoinGroup waits
-- A member sends its first heartbeat after its JoinGroup was answered, and none, nor another
-- JoinGroup, while a JoinGroup waits for its answer.
-- why: The waiting request keeps the member alive then, not its heartbeats.
-- source: document 004, start of the heartbeat thread; AbstractCoordinator.hasNotJoinedGroup
-- id: R34-silent | rows: JoinGroups that waited | unit: requests | measured: sent while the
--   JoinGroup waited | high: sent heartbeats, or joined again, while its JoinGroup waited |
--   protocols: classic | kind: in passing

SELECT concat(j.member, ' (join)') AS subject, j.arrived_at AS at,
       count(h.arrived_at) AS measured, 0 AS bound_high,
       concat('waited for ', CAST(round(ms_between(j.arrived_at, j.processed_at)) AS INT),
              ' ms') AS note, j.evidence
FROM {joins} j LEFT JOIN {own_requests} h
  ON h.api IN ('HEARTBEAT', 'JOIN_GROUP') AND h.member = j.member
 -- A broker that was stopped reads later what had been sent to it before.
 AND h.broker = j.broker
 AND h.arrived_at > j.arrived_at AND h.arrived_at < j.processed_at
WHERE ms_between(j.arrived_at, j.processed_at) > 2 * :slack_ms AND :client <> 'app'
GROUP BY j.member, j.arrived_at, j.processed_at, j.evidence
