-- That clients do not ask the same again and again while nothing is broken.

-- let MOST_IN_TEN_SECONDS
--   How often each consumer asked for the same `thing` within 10 s at most, of the questions
--   `asked`, once the group was well, of the `most` that is allowed. Faults of the consumer, of
--   brokers and of links are left out. The query gives WHAT and MOST.
counted AS (
    SELECT r.member, r.thing, r.most, r.arrived_at, r.evidence, count(*) OVER (
               PARTITION BY r.member, r.thing ORDER BY r.arrived_at
               RANGE BETWEEN INTERVAL '9.999999' SECOND PRECEDING AND CURRENT ROW) AS times
    FROM asked r LEFT ANTI JOIN {fault_windows} f
      ON (f.breaks <> 'member' OR f.resolved = r.member) AND f.injecting_at <= r.arrived_at
     AND after(:session_ms + :lookup_ms, coalesce(f.healed_at, f.injected_at, :ended_at))
         >= r.arrived_at
    WHERE r.arrived_at BETWEEN :steady_at AND :stopped_at
), most AS (
    SELECT member, max(struct(times - most, arrived_at, times, most, thing, evidence)) AS worst
    FROM counted GROUP BY member
)
SELECT concat(m.member, ' ({WHAT})') AS subject,
       coalesce(w.worst.arrived_at, m.started_at) AS at,
       coalesce(w.worst.times, 0) AS measured, coalesce(w.worst.most, {MOST}) AS bound_high,
       w.worst.thing AS note, w.worst.evidence AS evidence
FROM {members} m LEFT JOIN most w ON w.member = m.member
WHERE m.role = 'consumer' AND m.started_at IS NOT NULL
