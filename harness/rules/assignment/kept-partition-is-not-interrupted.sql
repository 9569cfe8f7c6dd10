-- A partition that its member keeps is not interrupted
-- A partition that its member keeps through a cooperative rebalance waits no longer than between
-- rebalances.
-- why: Cooperative rebalancing exists so that kept partitions are consumed without a break.
-- source: KIP-429
-- id: X01-kept | was not: R25-rebalance | rows: partitions kept | unit: ms | measured: of
--   standstill | high: was not read for longer than at any time between rebalances | protocols:
--   cooperative | delayed by: members, toxiproxy, brokers
--
-- Partitions whose owner kept them through a rebalance, against the longest standstill of any
-- partition while the group does not rebalance and nothing is broken. The longest of few is longer
-- than the longest of many now and then: so only a standstill counts that lasted for half of its
-- member's wait in the join phase, to its end, and only if that wait was longer than the pauses
-- that there are without one.

WITH spans AS (
    SELECT generation, joined_at, started_at, coalesce(completed_at, joined_at) AS completed_at
    FROM {generations} WHERE started_at IS NOT NULL AND members > 0
), pauses AS (
    SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
           ms_between(busy_until, polled_at) AS ms
    FROM {progress} WHERE busy_until < polled_at
), calm AS (
    SELECT max(p.ms) AS ms FROM pauses p LEFT ANTI JOIN spans s
      ON p.from_at <= s.completed_at AND p.to_at >= s.started_at
    LEFT ANTI JOIN {fault_windows} f
      ON (f.breaks <> 'member' OR f.stalls OR f.disturbs_heartbeats) AND f.injecting_at <= p.to_at
     AND coalesce(f.healed_at, :ended_at) >= p.from_at
    WHERE p.from_at > (SELECT min(completed_at) FROM spans)
), kept AS (
    SELECT s.*, o.topic, o.partition, min(o.member) AS member
    FROM spans s JOIN {ownership} o
      ON o.from_at < s.started_at AND (o.to_at IS NULL OR o.to_at > s.completed_at)
     AND o.removed_at IS NULL
    JOIN {assignments} a
      ON a.generation = s.generation AND same(a, o, topic, partition, member)
    GROUP BY ALL
), waits AS (
    SELECT generation, member, max(processed_at) AS to_at,
           max(ms_between(arrived_at, processed_at)) AS ms,
           after(max(ms_between(arrived_at, processed_at)) / 2, max(arrived_at)) AS middle_at
    FROM {joins} GROUP BY generation, member
), measured AS (
    SELECT k.*, coalesce(st.ms, 0) AS ms, w.ms AS waited_ms,
           count_if(p.from_at <= w.middle_at AND p.to_at >= w.to_at) > 0 AS through
    FROM kept k LEFT JOIN {standstills} st
      ON same(st, k, generation, joined_at, topic, partition)
    LEFT JOIN pauses p ON same(p, k, topic, partition) AND p.ms = st.ms
     AND p.from_at <= k.completed_at AND p.to_at >= k.started_at
    LEFT JOIN waits w ON same(w, k, generation, member)
    GROUP BY ALL
)
SELECT concat(topic, '-', partition, ' in generation ', generation) AS subject,
       joined_at AS at, m.ms AS measured, c.ms + :slack_ms AS bound_high,
       IF(c.ms IS NULL, 'no pause between rebalances is on record to compare with', NULL)
           AS unknown,
       CASE WHEN NOT through
            THEN 'did not stand still until its member''s wait in the join phase was over'
            WHEN waited_ms < c.ms
            THEN clause('its member waited in the join phase for only ',
                        CAST(round(waited_ms) AS INT), ' ms') END AS excused,
       concat('kept by ', member, '; the longest pause between rebalances took ',
              CAST(round(c.ms) AS INT), ' ms') AS note,
       after(-:guard_ms, started_at) AS guard_from, guard_to(completed_at) AS guard_to
FROM measured m CROSS JOIN calm c
