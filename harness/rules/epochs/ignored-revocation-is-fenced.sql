-- A member that does not acknowledge a revocation is fenced
-- A member that sends heartbeats without acknowledging a revocation is fenced when its rebalance
-- timeout (max.poll.interval.ms) has passed.
-- why: The next owner waits this long for a member that is stuck in its callback.
-- source: KIP-848, Rebalance timeout
-- id: X21 | rows: unacknowledged revocations | unit: ms | measured: from the revocation to the
--   fencing | low: was fenced too early | high: was fenced too late | protocols: consumer | delayed
--   by: member, toxiproxy, broker | kind: broker
--
-- The timer starts between the arrival of the heartbeat that is answered with less and that answer.
-- A member that was removed for another reason before its time was up is not examined.

{GIVEN_AND_TAKEN}, revoked AS (
    SELECT stay, member, arrived_at, removed_at, removed_by, limit_ms, evidence,
           after(:slack_ms + limit_ms, processed_at) AS due_at,
           max(coalesce(acked_at, timestamp'9999-01-01')) AS acked_at
    FROM acked GROUP BY ALL
)
SELECT concat(member, ' (revocation)') AS subject, arrived_at AS at,
       ms_between(arrived_at, removed_at) AS measured, limit_ms - :slack_ms AS bound_low,
       ms_between(arrived_at, due_at) AS bound_high,
       CASE WHEN removed_at IS NULL
            THEN 'neither acknowledged the revocation nor was fenced'
            WHEN removed_by <> 'fenced'
            THEN clause('was not fenced, but ', removed_by) END AS wrong,
       evidence,
       guard_from(after(limit_ms, arrived_at), coalesce(removed_at, due_at)) AS guard_from,
       guard_to(coalesce(removed_at, due_at)) AS guard_to
FROM revoked
WHERE removed_by = 'fenced' AND removed_at < acked_at
   OR least(acked_at, coalesce(removed_at, :stopped_at)) > due_at
