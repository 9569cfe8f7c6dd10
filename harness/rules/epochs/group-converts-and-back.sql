-- A classic group is converted to KIP-848 and back
-- The first member of KIP-848 converts a classic group with its join. When the last such member
-- goes while classic members stay, the group is classic again.
-- why: Consumers can move to the new protocol, and back, one at a time and without a stop.
-- source: KIP-848, Upgrade; group.consumer.migration.policy
-- id: X25 | rows: conversions | unit: ms | measured: between the conversion and the join or
--   departure | protocols: classic | delayed by: member, toxiproxy, broker | kind: broker
--
-- A conversion is part of the request that causes it: its line lies between the arrival of that
-- heartbeat, which is stamped late, and its answer. An eviction has no request; then the conversion
-- must come at once.

WITH stays AS (
    SELECT s.member, s.joined_at, coalesce(s.removed_at, :ended_at) AS removed_at,
           s.removed_at IS NOT NULL AS gone, m.protocol = 'consumer' AS modern
    FROM {memberships} s JOIN {members} m USING (member)
    WHERE s.joined_at IS NOT NULL
), turns AS (
    SELECT member, joined_at AS at, 'upgraded' AS wanted FROM stays WHERE modern
    UNION ALL
    SELECT member, removed_at, 'downgraded' FROM stays WHERE modern AND gone
), counted AS (
    SELECT u.member, u.at, u.wanted
    FROM turns u LEFT JOIN stays s ON s.joined_at < u.at AND s.removed_at > u.at
    GROUP BY u.member, u.at, u.wanted
    HAVING count_if(NOT s.modern) > 0 AND count_if(s.modern AND s.member <> u.member) = 0
), asked AS (
    SELECT c.member, c.at, c.wanted, IF(count(q.arrived_at) > 0, NULL, c.at) AS unasked_at,
           after(-:slack_ms, coalesce(min(q.arrived_at), after(-:START_MS, c.at))) AS from_at,
           coalesce(max(q.processed_at), after(:START_MS + :slack_ms, c.at)) AS to_at
    FROM counted c LEFT JOIN {consumer_heartbeats} q
      ON q.member = c.member AND q.generation = IF(c.wanted = 'upgraded', 0, -1)
     AND q.arrived_at <= after(:slack_ms, c.at) AND q.processed_at >= c.at
    GROUP BY c.member, c.at, c.wanted
), found AS (
    SELECT a.member, a.at, a.wanted, a.unasked_at,
           min(struct(e.at, e.evidence, e.text)) AS done
    FROM asked a LEFT JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = a.wanted AND e.at >= a.from_at AND e.at <= a.to_at
    GROUP BY ALL
)
SELECT concat(member, IF(wanted = 'upgraded', ' joins', ' goes')) AS subject, at,
       abs(ms_between(at, done.at)) AS measured,
       IF(done.at IS NULL, clause('the group was not ', wanted, ' with it'), NULL) AS wrong,
       done.text AS note, done.evidence,
       unasked_at AS guard_from, guard_to(after(:START_MS, unasked_at)) AS guard_to
FROM found
