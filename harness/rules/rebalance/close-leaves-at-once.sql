-- close() leaves the group at once
-- A dynamic member that closes sends LeaveGroup, and the rebalance of the others starts at once,
-- not after a session.
-- why: A deploy with a clean close costs no session timeout; without it each restart leaves
--   partitions unread for that long.
-- source: KIP-62; KafkaConsumer.close; rd_kafka_consumer_close
-- id: X14 | rows: closed members | unit: ms | measured: from leaving to the rebalance | high: left,
--   and the rebalance started too late | delayed by: member, toxiproxy, broker
--
-- Members that were in the group when they closed. Static members are to stay silent, and are not
-- examined.

-- let CAUSES
SELECT concat(c.member, ' (close)') AS subject, c.at, g.at AS cause_at, g.rebalancing,
       g.next_start_at AS started_at, g.next_reason AS reason, false AS silent, g.broker,
       g.evidence
FROM (SELECT c.member, c.event_at AS at,
             max(struct(s.joined_at, s.member_id)).member_id AS member_id
      FROM {client_events} c JOIN {memberships} s
        ON s.member = c.member AND s.joined_at <= c.event_at
       AND (s.removed_at IS NULL OR s.removed_at >= c.event_at)
      WHERE c.event = 'closing' AND s.instance_id IS NULL
      GROUP BY c.member, c.event_at) c
LEFT JOIN {group_steps} g
  ON g.event = 'left' AND g.member_id = c.member_id AND g.at >= c.at

-- query
{STARTS_A_REBALANCE}
