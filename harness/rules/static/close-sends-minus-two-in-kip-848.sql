-- A static member closes with epoch -2
-- A static member of KIP-848 that closes sends epoch -2, which means that it leaves temporarily.
-- Nothing changes until another process takes its place, or its session ends.
-- why: Its partitions are not processed until it is back or its session ends.
-- source: KIP-848, Static membership; ConsumerGroupHeartbeatRequest.MemberEpoch
-- id: X03-epoch | rows: closed static members | unit: ms | measured: after the last sign of life |
--   low: was evicted too early | high: was evicted too late | protocols: consumer | delayed by:
--   member, toxiproxy, broker
--
-- The last heartbeat of static members that closed, and what it changed. The session runs on from
-- the heartbeat before.

WITH {LEFT_FOR_NOW},
{CLOSINGS},
goodbyes AS (
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
    SELECT g.*, g.last.evidence,
           CASE WHEN g.last.generation IS NULL THEN 'sent no last heartbeat'
                WHEN g.last.generation <> -2
                THEN concat('sent a last heartbeat with epoch ', g.last.generation)
                WHEN b.bumps > 0 THEN 'was followed by a new group epoch within its session'
                END AS broken,
           IF(g.last.error_code <> :NONE,
              concat('its last heartbeat was answered with error ', g.last.error_code),
              NULL) AS unclear
    FROM goodbyes g LEFT JOIN bumped b USING (stay)
)
{SESSIONS_OF_CLOSED}
