-- When a broker did nothing for a group, from the fault until it had worked off what waited.
--
-- A second is left for that: 0.2 s were measured after 8.6 s, on a machine with other work.

SELECT CAST(substr(resolved, 8) AS INT) AS broker, injecting_at AS from_at,
       after(1000, coalesce(healed_at, :ended_at)) AS to_at
FROM {broker_faults}
