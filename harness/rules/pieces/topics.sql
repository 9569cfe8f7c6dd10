-- What a group makes of a topic that changes under it.

-- let GROWTH
--   The times at which partitions were added, and the numbers of those that came.
grown AS (
    SELECT fault, injected_at AS at FROM {fault_windows}
    WHERE breaks = 'topic' AND took_effect
), fresh AS (
    SELECT DISTINCT partition FROM {topology}
    WHERE what = 'partition' AND topic = :topic AND partition >= :partitions
)
