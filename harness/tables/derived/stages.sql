-- The classic group as a state machine: one row per stage, which a line of its coordinator begins.
--
-- `state` and `generation` are null where no line says them. A stage is over when the next line
-- of its broker comes, or another broker has loaded the group; `generation_until` is when the
-- generation is another one, or not known.
--
-- | line | state | Kafka |
-- |---|---|---|
-- | rebalance_started | PreparingRebalance, in the generation before | prepareRebalance |
-- | stabilized | CompletingRebalance | completeClassicGroupJoin, initNextGeneration |
-- | assignment_received | Assigned: Stable once that is stored | classicGroupSyncToClassicGroup |
-- | the first SyncGroup with an answer | Stable | setAndPropagateAssignment |
-- | emptied | Empty | completeClassicGroupJoin |
-- | loaded | Stable, or Empty, in the generation that was stored | replay, onLoaded |
-- | unloaded, and lines of a KIP-848 group | – | |
--
-- A SyncGroup with an answer shows that its generation was stored. That a group was emptied is
-- stored later than it is logged.

-- let IN_TURN = at, IF(event = 'synced', 1, 0), length(evidence), evidence

-- query
WITH lines AS (
    SELECT broker, at, event, generation, members, evidence FROM {coordinator_events}
    WHERE `group` = :group
      AND event IN ('rebalance_started', 'stabilized', 'assignment_received', 'emptied', 'loaded',
                    'unloaded', 'epoch_bumped', 'upgraded', 'downgraded')
    UNION ALL
    SELECT broker, min(processed_at), 'synced', generation, NULL, NULL FROM {own_requests}
    WHERE api = 'SYNC_GROUP' AND error_code = 0 GROUP BY broker, generation
), ordered AS (
    SELECT *, lag(struct(event, generation)) OVER (PARTITION BY broker ORDER BY {IN_TURN}) AS former,
           last_value(IF(event IN ('stabilized', 'emptied', 'epoch_bumped', 'upgraded',
                                   'downgraded'), struct(broker, event, generation), NULL), true)
               OVER (PARTITION BY 1 ORDER BY {IN_TURN} {BEFORE}) AS formed
    FROM lines
), steps AS (
    SELECT o.broker, o.at, o.event, o.evidence,
           CASE o.event WHEN 'rebalance_started' THEN 'PreparingRebalance'
                        WHEN 'stabilized' THEN 'CompletingRebalance'
                        WHEN 'assignment_received' THEN 'Assigned'
                        WHEN 'synced' THEN 'Stable'
                        WHEN 'emptied' THEN 'Empty'
                        WHEN 'loaded' THEN IF(o.members = 0, 'Empty', 'Stable') END AS state,
           CASE WHEN o.event IN ('rebalance_started', 'stabilized', 'assignment_received', 'synced',
                                 'emptied') THEN o.generation
                WHEN o.event = 'loaded' AND o.formed.event = 'stabilized'
                THEN s.generation END AS generation
    FROM ordered o LEFT JOIN lines s
      ON s.event = 'synced' AND s.broker = o.formed.broker
     AND s.generation = o.formed.generation AND s.at < o.at
    -- A SyncGroup's line may be stamped after the next rebalance has begun.
    WHERE o.event <> 'synced' OR o.former.event = 'assignment_received'
      AND o.former.generation = o.generation
), bounded AS (
    SELECT *, least(lead(at) OVER w, min(IF(event = 'loaded', at, NULL)) OVER (
               PARTITION BY 1 ORDER BY at DESC, length(evidence) DESC, evidence DESC
               {BEFORE})) AS until,
           generation IS DISTINCT FROM lag(generation) OVER w AS changes
    FROM steps WINDOW w AS (PARTITION BY broker ORDER BY {IN_TURN})
), numbered AS (
    SELECT *, count_if(changes) OVER (PARTITION BY broker ORDER BY {IN_TURN} {SO_FAR}) AS span
    FROM bounded
)
SELECT broker, at, until, event, state, generation,
       IF(count(*) OVER s > count(until) OVER s, NULL, max(until) OVER s) AS generation_until,
       evidence
FROM numbered WINDOW s AS (PARTITION BY broker, span)
