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

WITH {LEFT_FOR_NOW},
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
), goodbyes AS (
    SELECT c.*, max(struct(b.arrived_at, b.evidence, b.generation, b.error_code)) AS last
    FROM closings c LEFT JOIN {consumer_heartbeats} b
      ON b.member_id = c.member_id AND b.arrived_at >= c.at
    GROUP BY ALL
), bumped AS (
    SELECT o.stay, count(*) AS bumps
    FROM gone o JOIN {epoch_bumps} e
      ON e.at >= o.at AND e.at < coalesce(o.removed_at, :stopped_at)
     AND coalesce(e.named = o.member_id, true)
    GROUP BY o.stay
), closed AS (
    SELECT c.member, c.at, c.member_id, c.session_timeout_ms, c.removed_at, c.removed_by,
           CASE WHEN count(r.arrived_at) > 0 THEN 'sent a LeaveGroup request'
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
    WHERE :protocol <> 'consumer' GROUP BY ALL
    UNION ALL
    SELECT g.member, g.at, g.member_id, g.session_timeout_ms, g.removed_at, g.removed_by,
           CASE WHEN g.last.generation IS NULL THEN 'sent no last heartbeat'
                WHEN g.last.generation <> -2
                THEN concat('sent a last heartbeat with epoch ', g.last.generation)
                WHEN b.bumps > 0 THEN 'was followed by a new group epoch within its session'
                END,
           IF(g.last.error_code <> :NONE,
              concat('its last heartbeat was answered with error ', g.last.error_code),
              NULL), g.last.evidence
    FROM goodbyes g LEFT JOIN bumped b USING (stay) WHERE :protocol = 'consumer'
), {WEIGHED}
SELECT concat(c.member, ' (close)') AS subject, c.at,
       e.judged_ms AS measured,
       c.session_timeout_ms - :slack_ms AS bound_low,
       c.session_timeout_ms + :slack_ms AS bound_high,
       CASE WHEN broken IS NOT NULL THEN NULL
            WHEN unclear IS NOT NULL THEN unclear
            WHEN removed_by IS NULL
             AND :stopped_at <= after(c.session_timeout_ms + :slack_ms, c.at)
            THEN 'the run ended before its session did'
            WHEN e.may_be_short OR e.may_be_long THEN e.span END AS unknown,
       CASE WHEN broken IS NOT NULL THEN broken
            WHEN removed_by IS NULL THEN 'was still a member when the run ended'
            WHEN removed_by NOT IN ('evicted', 'replaced')
            THEN clause('was removed otherwise: ', removed_by) END AS wrong,
       IF(removed_by = 'replaced', 'another process took its place', NULL) AS excused,
       coalesce(e.evidence, c.evidence) AS evidence,
       CASE WHEN e.timer_started_at IS NOT NULL
            THEN guard_from(after(c.session_timeout_ms, e.timer_started_at), removed_at)
            END AS guard_from,
       guard_to(removed_at) AS guard_to
FROM closed c LEFT JOIN weighed e
  ON e.member_id = c.member_id AND e.evicted_at = c.removed_at AND c.removed_by = 'evicted'
