-- Static members (KIP-345): who may come back in whose place, and what a process may not do.

-- let REPLACEMENTS
--   Replacements of a static member by a process that joined under its instance id. `new` is the
--   first join under that instance id that was answered since.
replacements AS (
    SELECT e.at, e.instance_id, e.member_id, e.evidence, g.rebalancing,
           min(struct(j.processed_at, j.member_id, j.member, j.generation, j.arrived_at,
                      j.assignors)) AS new
    FROM {coordinator_events} e JOIN {group_steps} g ON same(g, e, event, member_id, at)
    LEFT JOIN {joins} j ON same(j, e, broker, instance_id) AND j.member_id <> e.member_id
     AND j.processed_at >= after(-:rounding_ms, e.at)
    WHERE e.`group` = :group AND e.event = 'replaced'
    GROUP BY ALL
)
