-- The coordinator's lines in order, and where the group stood when each was written.
--
-- `rebalancing`: members were being waited for, so that nothing needs to start a rebalance.
-- `next_start_at`: when the next rebalance started or the group was empty; `next_reason` why. In a
-- group of KIP-848 it is the next group epoch, and no member is waited for.

WITH ranked AS (
    SELECT *,
           CASE WHEN event IN ('stabilized', 'emptied') THEN 3
                WHEN event IN ('rebalance_started', 'epoch_bumped') THEN 2
                WHEN event IN ('loaded', 'unloaded') THEN 0
                ELSE 1 END AS rank,
           CASE WHEN event IN ('stabilized', 'emptied', 'loaded') THEN false
                WHEN event = 'rebalance_started' THEN true END AS opens,
           event IN ('rebalance_started', 'emptied', 'epoch_bumped') AS starts
    FROM {coordinator_events} WHERE `group` = :group
)
SELECT broker, at, event, generation, member_id, members, reason, evidence,
       coalesce(last_value(opens, true) OVER (
           PARTITION BY `group` ORDER BY at, rank, length(evidence), evidence {BEFORE}),
           false) AS rebalancing,
       last_value(IF(starts, at, NULL), true) OVER onward AS next_start_at,
       last_value(IF(starts, coalesce(reason, event), NULL), true) OVER onward
           AS next_reason
FROM ranked
-- Backwards in time: Spark computes a frame that ends at the last row anew for each row.
WINDOW onward AS (
    PARTITION BY `group`
    ORDER BY at DESC, rank DESC, length(evidence) DESC, evidence DESC {SO_FAR})
