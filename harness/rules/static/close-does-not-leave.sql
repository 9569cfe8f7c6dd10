-- A static member closes without leaving the group
-- A static member that closes sends no LeaveGroup. It is evicted when its session ends, and no
-- rebalance starts before that.
-- why: Its partitions are not processed until the session ends, even if it is gone for good.
-- source: KIP-345; group.instance.id; rd_kafka_consumer_close
-- id: X03 | rows: closed static members | unit: ms | measured: after the last sign of life | low:
--   was evicted too early | high: was evicted too late | protocols: classic | delayed by: member,
--   toxiproxy, broker
--
-- Law: a rebalance whose reason names another member does not follow from the close.

WITH {CLOSINGS},
closed AS (
    SELECT c.*, CASE WHEN count(r.arrived_at) > 0 THEN 'sent a LeaveGroup request'
                     WHEN count(e.at) > 0 THEN 'was followed by a rebalance while its session ran'
                     END AS broken,
           CAST(NULL AS STRING) AS unclear, CAST(NULL AS STRING) AS evidence
    FROM closings c LEFT JOIN {own_requests} r
      ON r.api = 'LEAVE_GROUP' AND r.member = c.member AND r.arrived_at >= c.at
    LEFT JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= c.at
     AND e.at < coalesce(c.removed_at, :stopped_at)
     AND coalesce(nullif(regexp_extract(e.reason,
             '([-_.\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), '')
             = c.member_id, true)
    GROUP BY ALL
)
{SESSIONS_OF_CLOSED}
