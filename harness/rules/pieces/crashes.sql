-- When the crash of a consumer is noticed, and who gets its partitions.

-- let DEFAULTS
--   Crashes of members without timers of their own, and what each told or was told of one.
WITH told AS ({TOLD}), crashes AS (
    SELECT f.resolved AS member, f.injecting_at AS at, e.evicted_at, e.evidence,
           t.told_ms, :DEFAULT_SESSION_MS AS session_ms,
           :DEFAULT_SESSION_MS - :heartbeat_ms - :cadence_ms AS low,
           :DEFAULT_SESSION_MS + :slack_ms + ms_between(f.injecting_at, f.injected_at)
               AS high
    FROM {fault_windows} f JOIN {members} m ON m.member = f.resolved
    LEFT JOIN told t ON t.member = f.resolved
    LEFT JOIN {evictions} e ON e.member = f.resolved AND e.evicted_at >= f.injecting_at
    WHERE f.killed AND f.ends_member AND f.took_effect AND {UNSET}
)
SELECT concat(member, ' (crash)') AS subject, at, ms_between(at, evicted_at) AS measured,
       low AS bound_low, high AS bound_high,
       CASE WHEN evicted_at IS NULL AND after(high, at) > :stopped_at
            THEN 'the run ended before it was due' END AS unknown,
       CASE WHEN told_ms <> {DEFAULT_MS} THEN clause('{WORDS} ', told_ms, ' ms')
            WHEN evicted_at IS NULL THEN 'was not evicted' END AS wrong,
       concat('it {WORDS} ', told_ms, ' ms') AS note, evidence,
       guard_from(after(session_ms, at), evicted_at) AS guard_from,
       guard_to(evicted_at) AS guard_to
FROM crashes

-- let DEFAULT_SESSION_MS = 45000
--   session.timeout.ms where nobody sets it, since Kafka 3.0 and librdkafka 1.7.0.
