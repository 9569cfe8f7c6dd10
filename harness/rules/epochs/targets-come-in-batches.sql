-- Target assignments are computed in batches
-- The coordinator computes a target assignment at the first heartbeat after the assignment interval
-- (1 s), and never sooner than that after the one before.
-- why: Members that start together share one computation, and a single join waits for it.
-- source: group.consumer.assignment.interval.ms (since Kafka 4.3)
-- id: X24 | was not: X24-at-once | rows: target assignments | unit: ms | measured: after the group
--   epoch was bumped | low: was computed too soon | high: was passed over by a heartbeat that came
--   when it was due | protocols: consumer | delayed by: broker | since: 4.3 | kind: broker
--
-- A target is due with the bump, or an interval after the target before where that is later. A
-- coordinator looks whether one is due only when a member heartbeats
-- (GroupMetadataManager.maybeUpdateTargetAssignment). So the bound is the first heartbeat after
-- that time that was accepted. The interval counts from when the target before was done, and its
-- line is written after that: a broker that waits for a processor in between makes the next seem
-- early. Where the coordinator has changed, the last interval may be lost.

WITH ordered AS (
    SELECT *, lag(joined_at) OVER w AS before_at, lag(broker) OVER w AS broker_before
    FROM {epochs} WINDOW w AS (PARTITION BY 1 ORDER BY joined_at, generation)
), timed AS (
    SELECT *, greatest(started_at, after(:assignment_interval_ms, before_at)) AS due_at,
           broker = broker_before
               AND started_at < after(:assignment_interval_ms - :slack_ms, before_at) AS waits
    FROM ordered
), heard AS (
    SELECT t.*, min(h.processed_at) AS heard_at
    FROM timed t LEFT JOIN {consumer_heartbeats} h
      ON h.broker = t.broker AND h.generation >= 0 AND h.error_code = :NONE
     AND h.arrived_at > after(:slack_ms, t.due_at)
    GROUP BY ALL
)
SELECT concat('epoch ', generation) AS subject, joined_at AS at,
       ms_between(started_at, joined_at) AS measured,
       IF(waits, ms_between(started_at, before_at) + :assignment_interval_ms - :slack_ms,
          NULL) AS bound_low,
       ms_between(started_at, heard_at) + :slack_ms AS bound_high,
       IF(started_at IS NULL, 'when its group epoch was bumped is not on record', NULL) AS unknown,
       clause('was computed ', CAST(round(ms_between(before_at, joined_at)) AS INT),
              ' ms after the one before') AS too_low,
       concat('reason of the bump: ', reason) AS note, evidence,
       IF(waits, least(started_at, after(-:guard_ms, before_at)), started_at) AS guard_from,
       guard_to(joined_at) AS guard_to
FROM heard
