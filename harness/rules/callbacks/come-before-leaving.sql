-- A member gives up its partitions before it leaves
-- A member that closes hears in its callback of every partition that it has, before it leaves the
-- group. So does a member of an eager group before it joins again, and any other before it joins
-- anew, as a member that the coordinator does not know yet.
-- why: The callback is where an application commits what it has done: after it has left, the next
--   owner may have begun to read.
-- source: KafkaConsumer.close; ConsumerCoordinator.onLeavePrepare; rd_kafka_consumer_close
-- id: X88 | rows: members that closed or joined again | unit: partitions | measured: kept | high:
--   left, or joined again, with partitions that it had not given up | kind: in passing, compares
--   clocks

WITH closings AS (
    SELECT e.member, min(e.event_at) AS at FROM {client_events} e JOIN {members} m
      ON m.member = e.member AND m.`end` = 'closed'
    WHERE e.event = 'closing' GROUP BY e.member
), leaves AS (
    SELECT c.member, c.at, min(r.arrived_at) AS left_at,
           min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
    FROM closings c LEFT JOIN {own_requests} r
      ON r.member = c.member AND r.arrived_at >= c.at
     AND (r.api = 'LEAVE_GROUP' OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
    GROUP BY c.member, c.at
)
SELECT concat(l.member, ' (close)') AS subject, l.at,
       count_if(o.ended_by = 'closed' OR o.to_at > after(:slack_ms, l.left_at)) AS measured,
       0 AS bound_high, concat('had ', count(*), ' partitions') AS note, l.evidence
FROM leaves l JOIN {ownership} o
  ON o.member = l.member AND o.from_at <= l.at AND o.to_at >= l.at
 -- What is left over from a membership that ended is not given up any more.
 AND coalesce(o.removed_at > l.at, true)
GROUP BY l.member, l.at, l.evidence
UNION ALL
SELECT concat(j.member, ' (joins)'), min(j.arrived_at), count(o.from_at), 0,
       concat(count(DISTINCT j.arrived_at), ' joins'),
       min(IF(o.from_at IS NULL, NULL, j.evidence))
FROM (SELECT member, member_id, arrived_at, evidence FROM {joins}
      UNION ALL
      SELECT member, NULL, arrived_at, evidence FROM {consumer_heartbeats}
      WHERE generation = 0) j
LEFT JOIN {ownership} o
  ON o.member = j.member AND o.from_at < after(-:STAMP_LATE_MS, j.arrived_at)
 AND o.to_at > after(:slack_ms, j.arrived_at)
 -- A cooperative member that joins again as the one that it was keeps what it has.
 AND (:protocol <> 'cooperative' OR o.member_id <> j.member_id)
GROUP BY j.member
