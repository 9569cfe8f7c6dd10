-- A crashed consumer's partitions go to the other members
-- Every partition of a crashed consumer belongs to a live member within the session timeout plus
-- one heartbeat interval plus one second.
-- why: This is how long a crash stops the processing of a partition.
-- source: document 000, consumer crash; document 002, rebalance conditions
-- id: R10 | rows: partitions of crashed consumers | unit: ms | measured: from the crash to the next
--   owner | high: was given to a live member too late | delayed by: members, toxiproxy, brokers
--
-- A stalled member takes up nothing, and an eager rebalance waits for it, so a partition may come
-- to its next owner later.

WITH given AS (
    SELECT o.member, f.injected_at AS at, o.topic, o.partition, min(n.from_at) AS owned_at,
           min_by(n.member, struct(n.from_at, n.member)) AS owner,
           :session_ms + :heartbeat_ms + 1000 + :slack_ms AS high
    FROM {fault_windows} f JOIN {ownership} o
      ON o.member = f.resolved AND o.from_at < f.injected_at
     AND (o.to_at IS NULL OR o.ended_by = 'killed' OR o.to_at >= f.injecting_at)
    LEFT JOIN {ownership} n
      ON same(n, o, topic, partition) AND n.member <> o.member
     -- A member that is to die in a transaction may give it up before that begins.
     AND n.from_at >= f.injecting_at
    WHERE f.killed AND f.ends_member AND f.took_effect
    GROUP BY o.member, f.injected_at, o.topic, o.partition
), brought AS (
    -- The rebalance that gave it to its next owner.
    SELECT g.*, max(struct(r.started_at, r.joined_at)) AS rebalance
    FROM given g LEFT JOIN {rebalances} r
      ON r.started_at < g.owned_at AND r.joined_at >= g.at
    GROUP BY ALL
), held AS (
    SELECT g.member, g.at, g.topic, g.partition, max(s.member) AS by
    FROM brought g JOIN {busy} s ON s.reason = 'stall' AND s.member <> g.member
    LEFT JOIN {assignments} a
      ON same(a, g, topic, partition) AND same(a, s, member)
     AND a.at BETWEEN g.at AND after(g.high, g.at)
     AND a.at BETWEEN s.from_at AND coalesce(s.to_at, :ended_at)
    WHERE a.at IS NOT NULL OR g.rebalance.joined_at >= s.from_at
      AND g.rebalance.started_at <= least(after(g.high, g.at), coalesce(s.to_at, :ended_at))
    GROUP BY g.member, g.at, g.topic, g.partition
)
SELECT concat(g.topic, '-', g.partition) AS subject, g.at,
       ms_between(g.at, g.owned_at) AS measured, g.high AS bound_high,
       concat(h.by, ' was stalled, so that the partition could not be handed over in time')
           AS excused,
       CASE WHEN g.owned_at IS NULL AND after(g.high, g.at) > :stopped_at
            THEN 'the run ended before it was due' END AS unknown,
       CASE WHEN g.owned_at IS NULL THEN 'was given to no live member' END AS wrong,
       concat('from ', g.member, ' to ', g.owner) AS note,
       guard_from(after(g.high, g.at), g.owned_at) AS guard_from,
       guard_to(g.owned_at) AS guard_to
FROM given g LEFT JOIN held h ON same(h, g, member, at, topic, partition)
