-- How a rebalance begins, runs and ends at the coordinator.

-- let FIRST_MS = 250
--   What it may take longer for the first epoch of KIP-848 that it ever starts, in code that it has
--   never run before (GroupMetadataManager, metadata hash). Measured from the first member's join:
--   0.2 to 2.2 ms in 18 runs and 101 ms in one, in which this machine was on time, and the broker
--   logged nothing else for 84 ms.

-- let START_MS = 10
--   What a coordinator takes to start a rebalance after the line that caused it (measured: 1 ms).

-- let STARTS_A_REBALANCE
--   What should start a rebalance, and how long it took to.
WITH causes AS ({CAUSES}), timed AS (
    -- Where members are being waited for already, nothing needs to start.
    SELECT c.*, b.broker IS NOT NULL AS was_stopped,
           IF(rebalancing, NULL,
              IF(reason LIKE 'Downgrade group %', :CONVERT_MS, 0) + :START_MS + :slack_ms)
               AS most_ms,
           CASE WHEN NOT rebalancing THEN ms_between(cause_at, started_at) END AS ms,
           started_at = f.first_at AS is_first
    FROM causes c LEFT JOIN {stopped_brokers} b
      ON b.broker = c.broker AND c.cause_at BETWEEN b.from_at AND b.to_at
    LEFT JOIN (
        SELECT broker, min(at) AS first_at FROM {coordinator_events}
        WHERE event = 'epoch_bumped' GROUP BY broker
    ) f ON f.broker = c.broker
)
SELECT subject, at, ms AS measured, most_ms AS bound_high,
       CASE WHEN cause_at IS NULL THEN 'never left, by the coordinator''s log'
            WHEN silent AND ms IS NULL
            THEN 'did not announce that it leaves, and no rebalance started after it'
            WHEN NOT rebalancing AND ms IS NULL THEN 'no rebalance started after it'
            END AS wrong,
       CASE WHEN was_stopped AND ms IS NOT NULL THEN 'its coordinator had been stopped'
            WHEN is_first AND ms > most_ms AND ms <= most_ms + :FIRST_MS
            THEN 'it was the first rebalance that its coordinator ever started'
            END AS excused,
       CASE WHEN rebalancing THEN 'a rebalance was under way already'
            WHEN silent
            THEN concat('a static member does not announce that it leaves; ', reason)
            ELSE concat('the coordinator''s reason: ', reason) END AS note,
       evidence,
       -- The coordinator writes both lines of what it heard: a machine that stood still can
       -- only have made the time between them longer.
       IF(rebalancing OR NOT silent AND ms <= most_ms, NULL, cause_at) AS guard_from,
       after(:START_MS + :guard_ms, cause_at) AS guard_to
FROM timed

-- let CONVERT_MS = 100
--   What it takes first to make a group of KIP-848 a classic one when its last modern member
--   leaves, which it does in the same step (GroupMetadataManager, convertToClassicGroup; measured:
--   62 ms, of code that runs once).

-- let HEARD
--   The coordinator's lines that cause a rebalance.
SELECT concat(event, ' ', member_id) AS subject, at, at AS cause_at, rebalancing,
       next_start_at AS started_at, next_reason AS reason, false AS silent, broker, evidence
FROM {group_steps} WHERE event IN
