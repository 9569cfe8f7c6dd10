-- When a broker was broken, and a session after that. Each query says what this explains in it.
--
-- A coordinator that was killed and never came back is over when another has loaded the group: one
-- decision of the controller gives away all that the dead broker led.

SELECT f.resolved, f.killed, f.injecting_at AS from_at,
       after(:session_ms, coalesce(f.healed_at, min(t.from_at), :ended_at)) AS to_at
FROM {broker_faults} f LEFT JOIN {tenures} t
  ON f.killed AND t.loaded AND t.from_at > f.injecting_at AND t.broker <> t.broker_before
 AND f.resolved = concat('broker-', t.broker_before)
GROUP BY f.fault, f.resolved, f.killed, f.injecting_at, f.healed_at
