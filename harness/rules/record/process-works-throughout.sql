-- A process works from its start to its end
-- A member asks nothing of a broker before its process has started, and reads nothing after it was
-- killed, or after its client gave up. It is killed by a fault alone, fails only if its client gave
-- up, and closes only when it is asked to.
-- why: A process that ends, or works, when it should not makes every other measurement one of
--   something else.
-- source: kafka-chaos, record of the fleet
-- id: X80 | rows: processes | kind: in passing, compares clocks
--
-- A run that is broken off ends its producer by force, and its members too. What a member asked a
-- broker that was stopped, or over a disturbed link, may arrive after its process has ended.

WITH asked AS (
    SELECT member, min(arrived_at) AS at, max(struct(arrived_at, broker)) AS last
    FROM {own_requests} GROUP BY member
), last_asked AS (
    SELECT a.member, a.last.arrived_at AS at
    FROM asked a
    LEFT ANTI JOIN {stopped_brokers} s
      ON s.broker = a.last.broker AND s.from_at <= a.last.arrived_at
     AND s.to_at >= a.last.arrived_at
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = a.member, true) AND d.from_at <= a.last.arrived_at
     AND after(:slack_ms, d.to_at) >= a.last.arrived_at
), polled AS (
    SELECT member, max(polled_at) AS at FROM {deliveries} GROUP BY member
), noted AS (
    SELECT member, min(event_at) FILTER (WHERE event = 'error') AS gave_up_at,
           min(event_at) FILTER (WHERE event = 'closing') AS closing_at
    FROM {client_events}
    WHERE event = 'closing' OR event = 'error' AND detail LIKE 'process: %'
    GROUP BY member
), killed AS (
    SELECT resolved AS member, min(coalesce(injected_at, injecting_at)) AS at
    FROM {fault_windows} WHERE killed GROUP BY resolved
)
SELECT concat(m.member, ' (process)') AS subject,
       IF(a.at < after(-:slack_ms, m.started_at), m.started_at,
          coalesce(m.ended_at, m.started_at)) AS at,
       CASE WHEN a.at < after(-:slack_ms, m.started_at)
            THEN clause('had asked a broker ',
                        CAST(round(ms_between(a.at, m.started_at)) AS INT),
                        ' ms before its process started')
            WHEN m.`end` = 'killed' AND k.at IS NULL AND (
                     SELECT count(*) FROM {members} WHERE role = 'producer' AND `end` IS NULL) = 0
            THEN 'was killed by no fault'
            WHEN m.`end` = 'failed' AND t.gave_up_at IS NULL
            THEN 'failed, and its client had not given up'
            WHEN m.`end` = 'closed' AND t.closing_at IS NULL
            THEN 'closed, and was not asked to'
            WHEN l.at > after(:STAMP_LATE_MS, m.ended_at)
            THEN clause('asked a broker ',
                        CAST(round(ms_between(m.ended_at, l.at)) AS INT),
                        ' ms after its process ended')
            WHEN p.at > after(:slack_ms, IF(m.`end` = 'killed', k.at, t.gave_up_at))
            THEN clause('read records ', CAST(round(ms_between(
                     IF(m.`end` = 'killed', k.at, t.gave_up_at), p.at)) AS INT),
                        ' ms after its end') END AS wrong,
       m.`end` AS note
FROM {members} m LEFT JOIN asked a USING (member)
LEFT JOIN last_asked l USING (member) LEFT JOIN polled p USING (member)
LEFT JOIN noted t USING (member) LEFT JOIN killed k USING (member)
WHERE m.role = 'consumer' AND m.client <> 'app'
