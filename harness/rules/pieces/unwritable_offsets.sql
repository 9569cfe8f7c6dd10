-- What a coordinator does while the offsets topic has too few replicas to be written to.

-- let UNWRITABLE
--   When the offsets topic had too few replicas in sync to be written to, because a broker was
--   gone.
WITH unwritable AS (
    SELECT fault, injecting_at, after(:slack_ms, injected_at) AS from_at,
           coalesce(healing_at, :ended_at) AS to_at
    FROM {broker_faults}
    WHERE took_effect AND :brokers - 1 < :offsets_min_isr
)
