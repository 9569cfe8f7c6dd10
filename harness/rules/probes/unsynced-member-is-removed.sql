-- A member that never syncs is removed
-- A member that joined and sends no SyncGroup is removed one rebalance timeout after the join was
-- complete, and a rebalance starts.
-- why: A consumer that hangs between its two requests blocks its partitions for a whole
--   max.poll.interval.ms, even if its heartbeats go on.
-- source: KAFKA-9627; GroupMetadataManager.schedulePendingSync
-- id: X10 | rows: members without SyncGroup | unit: ms | measured: from the join to the removal |
--   low: was removed too early | high: was removed too late | protocols: classic | delayed by:
--   probe, toxiproxy, broker | kind: broker

{GROUP_REBALANCES},
timeouts AS (
    SELECT f.*, max(j.rebalance_ms) AS timeout_ms
    FROM followed f JOIN {probe_joins} j ON same(j, f, `group`, generation)
    WHERE f.event = 'stabilized' GROUP BY ALL
), silent AS (
    SELECT f.*, after(f.timeout_ms, f.at) AS due_at,
           coalesce(f.next_reason LIKE 'Removing [%'
                    AND contains(f.next_reason, j.member_id), false) AS removed
    FROM timeouts f JOIN {probe_joins} j ON same(j, f, `group`, generation)
    LEFT ANTI JOIN {calls} s
      ON s.api = 'SYNC_GROUP' AND same(s, j, `group`, member_id, generation)
)
SELECT concat('member without SyncGroup (', `group`, ' generation ', generation, ')') AS subject,
       coalesce(next_at, due_at) AS at, IF(removed, ms, NULL) AS measured,
       timeout_ms - :slack_ms AS bound_low, timeout_ms + :slack_ms AS bound_high,
       IF(removed, NULL, 'was not removed') AS wrong,
       concat('the coordinator''s reason: ', next_reason) AS note, evidence,
       after(-:guard_ms, due_at) AS guard_from, greatest(next_at, due_at) AS guard_to
FROM silent
-- Where something else ended the generation first, nothing was due.
WHERE removed OR next_at IS NULL AND due_at < :stopped_at
   OR next_at > after(:slack_ms, due_at)
