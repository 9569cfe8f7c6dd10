-- A cooperative rebalance revokes only what moves
-- In a cooperative rebalance a member gives up only partitions that another member gets.
-- why: A partition that is revoked without moving stops for nothing, and its cache is thrown away.
-- source: KIP-429; CooperativeStickyAssignor
-- id: X01 | rows: partitions given up | unit: ms | measured: until another member had it |
--   protocols: cooperative
--
-- Partitions that a member was told to give up, and who had each next.
--
-- What a member gives up because it closes is not examined. The group leader decides twice: to have
-- a partition given up, and to whom it goes. Where members or partitions came or went between, the
-- second may differ from the first.
--
-- Nor is what a member loses: nobody told it to give that up, so the leader did not decide twice.
-- Whether two had it at one time is for `R21` and `R21-delivery`, which count it as held until the
-- application heard of the loss; whether the loss had a cause, for `R20f`.

WITH given_up AS (
    SELECT o.member, o.topic, o.partition, o.to_at AS at
    FROM {ownership} o LEFT ANTI JOIN {client_events} c
      ON c.member = o.member AND c.event = 'closing' AND c.event_at <= o.to_at
    WHERE o.ended_by = 'revoked'
), followed AS (
    SELECT g.member, g.topic, g.partition, g.at, min(struct(o.from_at, o.member)) AS next
    FROM given_up g LEFT JOIN {ownership} o
      ON same(o, g, topic, partition) AND o.from_at >= g.at
    GROUP BY g.member, g.topic, g.partition, g.at
), first_given AS (
    SELECT topic, partition, min(at) AS at FROM {assignments} GROUP BY topic, partition
), changes AS (
    SELECT joined_at AS at, true AS of_members FROM {memberships} UNION ALL
    SELECT removed_at, true FROM {memberships} UNION ALL
    SELECT at, false FROM first_given
), decided AS (
    SELECT f.member, f.topic, f.partition, f.at, f.next,
           max(a.at) AS decided_at
    FROM followed f LEFT JOIN {assignments} a ON a.at <= f.at
    GROUP BY f.member, f.topic, f.partition, f.at, f.next
), judged AS (
    SELECT d.member, d.topic, d.partition, d.at, d.next, count(c.at) > 0 AS changed
    FROM decided d LEFT JOIN changes c
      -- With members that come or go before it, the leader's decision is refused.
      ON (c.at > coalesce(d.decided_at, d.at)
          OR c.of_members AND c.at = coalesce(d.decided_at, d.at))
     AND c.at <= d.next.from_at
    GROUP BY d.member, d.topic, d.partition, d.at, d.next
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
