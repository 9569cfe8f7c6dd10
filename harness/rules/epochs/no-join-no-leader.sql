-- KIP-848 has no JoinGroup, SyncGroup or group leader
-- Members of a KIP-848 group send only ConsumerGroupHeartbeat: no JoinGroup, SyncGroup, Heartbeat
-- or LeaveGroup, however often partitions move. So no broker gives a consumer its member id: it
-- makes one itself, and keeps it for as long as it lives.
-- why: No member computes an assignment, and none has to wait for all the others.
-- source: KIP-848, ConsumerGroupHeartbeat; KIP-1082
-- id: X20-alone | rows: members | unit: requests | measured: of the classic protocol | high: sent
--   requests of the classic protocol | protocols: consumer | kind: in passing
--
-- A program may have several consumers in one process.

WITH sent AS (
    SELECT r.*, IF(api = 'CONSUMER_GROUP_HEARTBEAT' AND m.client <> 'app', r.member_id, NULL)
               AS own_id
    FROM {own_requests} r LEFT JOIN {members} m ON m.member = r.member
)
SELECT concat(member, ' (requests)') AS subject, min(arrived_at) AS at,
       count_if(api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'LEAVE_GROUP')) AS measured,
       0 AS bound_high,
       IF(count(DISTINCT own_id) > 1,
          clause('used ', count(DISTINCT own_id), ' member ids'), NULL) AS wrong,
       concat(count_if(api = 'CONSUMER_GROUP_HEARTBEAT'), ' ConsumerGroupHeartbeats') AS note,
       IF(count(DISTINCT own_id) > 1, max_by(evidence, struct(arrived_at, evidence))
              FILTER (WHERE api = 'CONSUMER_GROUP_HEARTBEAT'), NULL) AS evidence
FROM sent GROUP BY member HAVING count_if(api = 'CONSUMER_GROUP_HEARTBEAT') > 0
