-- What a coordinator waits for, and for how long: shown by members that are silent on purpose.

-- let GROUP_REBALANCES
--   Probes' rebalances: from the coordinator's line that one starts to the next that it is joined.
WITH lines AS (
    SELECT e.`group`, e.event, e.at, e.reason, e.generation, e.evidence
    FROM {coordinator_events} e
    WHERE e.event IN ('rebalance_started', 'stabilized', 'emptied')
      AND e.`group` IN (SELECT `group` FROM {probe_joins})
), followed AS (
    SELECT *, lead(at) OVER w AS next_at, lead(event) OVER w AS next_event,
           lead(reason) OVER w AS next_reason, ms_between(at, lead(at) OVER w) AS ms
    FROM lines
    -- The line that a rebalance starts names the generation before it.
    WINDOW w AS (PARTITION BY `group` ORDER BY at, generation,
                 IF(event = 'rebalance_started', 1, 0), evidence)
)
