-- A static member closes without leaving the group
-- A static member that closes sends no LeaveGroup. In KIP-848 it sends epoch -2, which means that
-- it leaves temporarily. It is evicted when its session ends, unless another process takes its
-- place, and no rebalance starts, nor a new group epoch, before that.
-- why: Its partitions are not processed until the session ends, even if it is gone for good.
-- source: KIP-345; group.instance.id; rd_kafka_consumer_close; KIP-848, Static membership;
--   ConsumerGroupHeartbeatRequest.MemberEpoch
-- id: X03 | was: X03-epoch | rows: closed static members | unit: ms | measured: after the last sign
--   of life | low: was evicted too early | high: was evicted too late | delayed by: member,
--   toxiproxy, broker
--
-- In KIP-848 the session runs on from the heartbeat before the last one.
--
-- Law: a rebalance whose reason names another member does not follow from the close.

WITH {NAMED_STARTS},
-- Static members that closed while the run went on, with the stay of theirs that it ended.
closings AS (
    SELECT c.member, c.event_at AS at, stay.*
    FROM (
        SELECT c.member, c.event_at,
               max(struct(m.joined_at, m.member_id, m.stay, m.session_timeout_ms, m.removed_at,
                          m.removed_by)) AS stay
        FROM {client_events} c JOIN {memberships} m
          ON m.member = c.member AND m.instance_id IS NOT NULL AND m.joined_at <= c.event_at
         AND (m.removed_at IS NULL OR m.removed_at >= c.event_at)
        WHERE c.event = 'closing' AND c.event_at < :stopped_at
        GROUP BY c.member, c.event_at
    ) c
), followed AS (
    SELECT c.*, count(r.arrived_at) AS leaves, count(n.at) AS starts,
           max(struct(b.arrived_at, b.evidence, b.generation, b.error_code)) AS last
    FROM closings c LEFT JOIN {own_requests} r
      ON r.api = 'LEAVE_GROUP' AND r.member = c.member AND r.arrived_at >= c.at
    LEFT JOIN named n
      ON n.at >= c.at AND n.at < coalesce(c.removed_at, :stopped_at)
     AND coalesce(n.member_id = c.member_id, true)
    LEFT JOIN {consumer_heartbeats} b ON b.member_id = c.member_id AND b.arrived_at >= c.at
    GROUP BY ALL
), closed AS (
    SELECT *,
           CASE WHEN leaves > 0 THEN 'sent a LeaveGroup request'
                WHEN :protocol = 'consumer' AND last.generation IS NULL
                THEN 'sent no last heartbeat'
                WHEN last.generation <> -2
                THEN concat('sent a last heartbeat with epoch ', last.generation)
                WHEN starts > 0
                THEN concat('was followed by a ',
                            IF(:protocol = 'consumer', 'new group epoch within its session',
                               'rebalance while its session ran'))
                END AS broken
    FROM followed
), {WEIGHED}
SELECT concat(c.member, ' (close)') AS subject, c.at,
       e.judged_ms AS measured,
       c.session_timeout_ms - :slack_ms AS bound_low,
       c.session_timeout_ms + :slack_ms AS bound_high,
       CASE WHEN broken IS NOT NULL THEN NULL
            WHEN last.error_code <> :NONE
            THEN concat('its last heartbeat was answered with error ', last.error_code)
            WHEN removed_by IS NULL
             AND :stopped_at <= after(c.session_timeout_ms + :slack_ms, c.at)
            THEN 'the run ended before its session did'
            WHEN e.may_be_short OR e.may_be_long THEN e.span END AS unknown,
       CASE WHEN broken IS NOT NULL THEN broken
            WHEN removed_by IS NULL THEN 'was still a member when the run ended'
            WHEN removed_by NOT IN ('evicted', 'replaced')
            THEN clause('was removed otherwise: ', removed_by) END AS wrong,
       IF(removed_by = 'replaced', 'another process took its place', NULL) AS excused,
       coalesce(e.evidence, last.evidence) AS evidence,
       CASE WHEN e.timer_started_at IS NOT NULL
            THEN guard_from(after(c.session_timeout_ms, e.timer_started_at), removed_at)
            END AS guard_from,
       guard_to(removed_at) AS guard_to
FROM closed c LEFT JOIN weighed e
  ON e.member_id = c.member_id AND e.evicted_at = c.removed_at AND c.removed_by = 'evicted'
