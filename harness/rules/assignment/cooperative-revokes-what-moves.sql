-- A cooperative rebalance revokes only what moves
-- In a cooperative rebalance a member gives up only partitions that another member gets.
-- why: A partition that is revoked without moving stops for nothing, and its cache is thrown away.
-- source: KIP-429; CooperativeStickyAssignor
-- id: X01 | was: X01-two | rows: partitions given up | unit: ms | measured: until another member
--   had it | protocols: cooperative
--
-- Partitions that a member was to give up, and who had each next. Neither what it gives up because
-- it closes nor what it loses is examined. The group leader decides twice: to have a partition
-- given up, and to whom it goes. Where members or partitions came or went between, the second may
-- differ.

WITH followed AS (
    SELECT g.member, g.topic, g.partition, g.to_at AS at, min(struct(o.from_at, o.member)) AS next
    FROM {ownership} g LEFT ANTI JOIN {client_events} c
      ON c.member = g.member AND c.event = 'closing' AND c.event_at <= g.to_at
    LEFT JOIN {ownership} o
      ON same(o, g, topic, partition) AND o.from_at >= g.to_at
    WHERE g.ended_by = 'revoked' GROUP BY ALL
), changes AS (
    SELECT explode(array(joined_at, removed_at)) AS at, true AS of_members FROM {memberships}
    UNION ALL
    SELECT min(at), false FROM {assignments} GROUP BY topic, partition
), decided AS (
    SELECT f.*, coalesce(max(a.at), f.at) AS decided_at
    FROM followed f LEFT JOIN {assignments} a ON a.at <= f.at
    GROUP BY ALL
), judged AS (
    SELECT d.*, count(c.at) > 0 AS changed
    FROM decided d LEFT JOIN changes c
      -- With members that come or go before it, the leader's decision is refused.
      ON (c.at > d.decided_at OR c.of_members AND c.at = d.decided_at)
     AND c.at <= d.next.from_at
    GROUP BY ALL
)
SELECT concat(member, ' gave up ', topic, '-', partition) AS subject, at,
       ms_between(at, next.from_at) AS measured,
       IF(next.member IS NULL, 'no member had it again before the run ended', NULL)
           AS unknown,
       IF(next.member = member AND NOT changed, 'got the same partition back', NULL)
           AS wrong,
       concat(next.member, ' had it next',
              IF(next.member = member, ', after the group had changed', '')) AS note
FROM judged
