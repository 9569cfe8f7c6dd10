-- That clients look for nothing and report nothing while nothing is broken.

-- let QUIET
--   What consumers ask once the group is well, but in faults of their own or of brokers and links.
--   It follows on a table or query named r, with a member and arrived_at; conditions go on with
--   AND. Nobody knows how often a client of somebody else's asks.
LEFT SEMI JOIN {members} m ON m.member = r.member AND m.role = 'consumer'
LEFT ANTI JOIN {fault_windows} f
  ON (f.breaks <> 'member' OR f.resolved = r.member)
 AND f.injecting_at <= r.arrived_at
 AND after(:session_ms + :lookup_ms, coalesce(f.healed_at, f.injected_at, :ended_at))
     >= r.arrived_at
WHERE r.arrived_at BETWEEN :steady_at AND :stopped_at

-- let TEN_SECONDS = RANGE BETWEEN INTERVAL '9.999999' SECOND PRECEDING AND CURRENT ROW
