-- What a library commits by itself as it gives partitions up, and that it leaves none out.

-- let HINDERED
--   Whom something else may keep from a commit, until a session later; null is everybody. While
--   Java asks a partition's new leader whether its position is right, it does not commit that.
hindered AS (
    SELECT member, from_at, to_at FROM {disturbances}
    UNION ALL
    SELECT NULL, from_at, to_at FROM {unsettled}
    UNION ALL
    SELECT NULL, from_at, from_at FROM {tenures} WHERE loaded
    UNION ALL
    SELECT resolved, injecting_at, coalesce(healed_at, injecting_at) FROM {fault_windows}
    WHERE killed AND injecting_at IS NOT NULL
    UNION ALL
    SELECT member, event_at, event_at FROM {client_events}
    WHERE event IN ('error', 'coordinator_lost', 'session_timed_out', 'max_poll_exceeded')
    UNION ALL
    SELECT NULL, at, at
    FROM (SELECT at, leader, lag(leader) OVER (PARTITION BY topic, partition ORDER BY at)
                                 AS leader_before
          FROM {topology} WHERE what = 'partition')
    WHERE leader <> leader_before
)
