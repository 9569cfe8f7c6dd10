-- By default a crash is noticed within 45 s
-- A member without a session.timeout.ms of its own sends the coordinator one of 45 s, and is
-- evicted 42 to 45 s after its crash, with heartbeats every 3 s. With the brokers' default timers a
-- member of KIP-848 has to send a heartbeat every 5 s, and is fenced 40 to 45 s after it.
-- why: The records of a crashed consumer with default settings wait that long.
-- source: KIP-735; session.timeout.ms; group.consumer.session.timeout.ms;
--   group.consumer.heartbeat.interval.ms
-- id: X11 | was: X19-default | rows: crashes | unit: ms | measured: from the crash to the eviction
--   | low: was evicted too early | high: was evicted too late | delayed by: member, toxiproxy,
--   broker | kind: broker
--
-- Crashes of members that leave the session to their library, or of KIP-848 where the run's timers
-- are the defaults. The last heartbeat can be as old as their interval, so the wait is shorter by
-- up to that. The moment of a kill lies between the two marks of its fault.

-- let DEFAULT_SESSION_MS = 45000
--   session.timeout.ms where it is not set, since Kafka 3.0 and librdkafka 1.7.0.

-- let DEFAULT_HEARTBEAT_MS = 5000
--   And how often the coordinator lets members of KIP-848 heartbeat
--   (group.consumer.heartbeat.interval.ms).

-- query
WITH said AS (
    SELECT member, max(session_timeout_ms) AS ms, :DEFAULT_SESSION_MS AS default_ms,
           'sent the coordinator a session of ' AS words
    FROM {joins} GROUP BY member
    UNION ALL
    SELECT member, max(CAST(get_json_object(detail, '$.heartbeat_interval_ms') AS INT)),
           :DEFAULT_HEARTBEAT_MS, 'was to heartbeat at an interval of '
    FROM {consumer_heartbeats} WHERE error_code = :NONE AND generation >= 0
    GROUP BY member
), crashes AS (
    SELECT f.resolved AS member, f.injecting_at AS at, e.evicted_at, e.evidence, s.ms,
           s.default_ms, s.words,
           :DEFAULT_SESSION_MS + :slack_ms + ms_between(f.injecting_at, f.injected_at)
               AS high
    FROM {fault_windows} f JOIN {members} m ON m.member = f.resolved
    LEFT JOIN said s ON s.member = f.resolved
    LEFT JOIN {evictions} e ON e.member = f.resolved AND e.evicted_at >= f.injecting_at
    WHERE f.killed AND f.ends_member AND f.took_effect
      AND IF(:protocol = 'consumer',
             :session_ms = :DEFAULT_SESSION_MS AND :heartbeat_ms = :DEFAULT_HEARTBEAT_MS,
             from_json(m.settings, 'map<string, string>')['session.timeout.ms'] = 'unset')
)
SELECT concat(member, ' (crash)') AS subject, at, ms_between(at, evicted_at) AS measured,
       :DEFAULT_SESSION_MS - :heartbeat_ms - :cadence_ms AS bound_low, high AS bound_high,
       CASE WHEN evicted_at IS NULL AND after(high, at) > :stopped_at
            THEN 'the run ended before it was due' END AS unknown,
       CASE WHEN ms <> default_ms THEN clause(words, ms, ' ms')
            WHEN evicted_at IS NULL THEN 'was not evicted' END AS wrong,
       concat('it ', words, ms, ' ms') AS note, evidence,
       guard_from(after(:DEFAULT_SESSION_MS, at), evicted_at) AS guard_from,
       guard_to(evicted_at) AS guard_to
FROM crashes
