-- A group has one coordinator at a time
-- Only the broker that coordinates the group accepts requests of its members; every other broker
-- refuses them.
-- why: Two coordinators keep two lists of members and of positions, and each believes that its own
--   members hold the partitions.
-- source: GroupCoordinatorService (NOT_COORDINATOR); KIP-848, ConsumerGroupHeartbeat
-- id: X39 | rows: brokers | unit: calls | measured: accepted | kind: always
--
-- A broker's time in office begins with its first line about the group, or when it has loaded it,
-- and ends when another has. A coordinator that was paused or cut off may answer heartbeats, and
-- questions for positions, until it knows that another took over, a session after its return at the
-- latest; it cannot write, so nothing else is excused. One that is shut down knows it within a
-- second, and one that is started again coordinates nothing at first. While it loads a group it
-- answers heartbeats of the classic protocol blindly, and nothing else.

-- let KNOWS_MS = 1000
--   How much later than its successor has loaded the group a broker that is being shut down may
--   learn of it, and how late a line of its last answers may be stamped.

-- let WRONGLY = tenures = 0 AND NOT behind AND NOT loading

WITH accepted AS (
    SELECT broker, api, member, arrived_at, processed_at, evidence FROM {own_requests}
    WHERE api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP', 'OFFSET_COMMIT',
                  'OFFSET_FETCH', 'TXN_OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT')
      AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
      AND (api <> 'OFFSET_COMMIT' OR error_code = :NONE AND member_id IS NOT NULL)
      -- Before there is a group no line names the coordinator that is asked.
      AND (api <> 'OFFSET_FETCH' OR arrived_at >= (SELECT min(from_at) FROM {tenures}))
), placed AS (
    SELECT a.broker, a.api, a.member, a.arrived_at, a.evidence,
           count(t.tenure) AS tenures,
           a.api IN ('HEARTBEAT', 'OFFSET_FETCH', 'CONSUMER_GROUP_HEARTBEAT')
               AND count(f.fault) > 0 AS behind,
           a.api = 'HEARTBEAT' AND count(l.tenure) > 0 AS loading
    FROM accepted a LEFT JOIN {tenures} t
      ON t.broker = a.broker AND a.processed_at >= after(-:slack_ms, t.from_at)
     AND (t.next_at IS NULL OR a.arrived_at <= after(:slack_ms, t.next_at))
    LEFT JOIN {tenures} k
      ON k.broker = a.broker AND k.next_at <= a.arrived_at
     AND a.arrived_at <= after(:KNOWS_MS, k.next_at)
    LEFT JOIN {broker_faults} f
      ON f.resolved = concat('broker-', a.broker) AND f.injecting_at <= a.processed_at
     AND IF({ENDS_PROCESS},
            k.tenure IS NOT NULL AND a.arrived_at <= coalesce(f.healing_at, :ended_at),
            a.arrived_at <= after(:session_ms, coalesce(f.healed_at, :ended_at)))
    LEFT JOIN {tenures} l
      ON l.broker = a.broker AND l.loaded AND l.from_at >= a.processed_at
     AND l.to_at_before <= a.processed_at
    GROUP BY a.broker, a.api, a.member, a.arrived_at, a.evidence
)
SELECT concat('broker-', broker) AS subject, min(arrived_at) AS at, count(*) AS measured,
       CASE WHEN count_if({WRONGLY}) > 0
            THEN clause('accepted ', count_if({WRONGLY}),
                        ' calls while it did not coordinate the group, the first: ',
                        min(struct(arrived_at, api, member)) FILTER (WHERE {WRONGLY}).api)
            END AS wrong,
       nullif(concat_ws('; ',
           IF(count_if(tenures = 0 AND behind) > 0,
              concat(count_if(tenures = 0 AND behind),
                     ' calls were answered before it knew of its successor'), NULL),
           IF(count_if(tenures = 0 AND loading AND NOT behind) > 0,
              concat(count_if(tenures = 0 AND loading AND NOT behind),
                     ' heartbeats were answered while it loaded the group'), NULL)), '') AS note,
       min(struct(arrived_at, evidence)) FILTER (WHERE {WRONGLY}).evidence AS evidence
FROM placed GROUP BY broker
