-- How and when each process ended; one that was killed, when its fault was proved.

SELECT m.member, m.`end` AS ended_by,
       coalesce(m.ended_at, CASE WHEN m.`end` = 'killed'
                THEN min(coalesce(f.injected_at, f.injecting_at)) END) AS ended_at
FROM {members} m LEFT JOIN {fault_windows} f ON f.killed AND f.resolved = m.member
GROUP BY m.member, m.`end`, m.ended_at
