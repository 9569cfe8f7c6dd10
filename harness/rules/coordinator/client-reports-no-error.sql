-- A client reports no error while nothing is broken
-- While nothing is broken, no broker refuses it anything and its settings are in order, a client
-- reports no error to its application.
-- why: An application that hears of errors without a reason stops, or learns to overlook those that
--   have one.
-- source: librdkafka, error_cb; Consumer.poll; KafkaConsumer.poll
-- id: X92 | rows: clients | unit: errors | measured: reported | high: reported errors though
--   nothing was broken | delayed by: member, toxiproxy, brokers | kind: in passing, compares clocks
--
-- A client that begins nowhere, or does something wrong on purpose, reports what it was made for.
-- Others examine one that waits too long between two polls. If a run was not ended in order, its
-- last session shows nothing: what broke by itself may have ended it.

-- let IDLE_MS = 600000
--   Brokers end connections over which nothing came for so long (connections.max.idle.ms).

WITH clients AS (
    SELECT member, started_at FROM {members}
    WHERE started_at IS NOT NULL AND sabotage IS NULL
      AND coalesce(get_json_object(settings, "$['auto.offset.reset']"), '')
          NOT IN ('none', 'error')
), reported AS (
    SELECT e.member, e.event_at, e.detail
    FROM {client_events} e LEFT ANTI JOIN {fault_windows} f
      ON (f.breaks <> 'member' OR f.resolved = e.member OR f.proof = 'fenced')
     AND f.injecting_at <= e.event_at
     AND after(:session_ms, coalesce(f.healed_at, f.injected_at, :ended_at))
         >= e.event_at
    LEFT ANTI JOIN {own_requests} r
      ON r.member = e.member AND r.error_code NOT IN (
             :NONE, :REBALANCE_IN_PROGRESS, :MEMBER_ID_REQUIRED)
     AND r.arrived_at <= after(:slack_ms, e.event_at)
     AND r.processed_at >= after(-:session_ms, e.event_at)
    WHERE e.event = 'error' AND e.event_at > :steady_at
      AND e.event_at < IF(:stopped_at < :ended_at, :stopped_at,
                          after(-:session_ms, :ended_at))
      AND NOT contains(coalesce(e.detail, ''), '_MAX_POLL_EXCEEDED')
      -- Our own consumer notes that; the client reports nothing.
      AND NOT contains(coalesce(e.detail, ''), 'just given up')
      AND NOT (contains(coalesce(e.detail, ''), 'Disconnected')
               AND e.event_at >= after(:IDLE_MS, :started_at))
), counted AS (
    SELECT member, count(*) AS times, min(struct(event_at, detail)) AS first
    FROM reported GROUP BY member
)
SELECT concat(c.member, ' (errors)') AS subject,
       coalesce(n.first.event_at, c.started_at) AS at,
       coalesce(n.times, 0) AS measured, 0 AS bound_high,
       IF(n.times > 0, clause('reported: ', n.first.detail), NULL) AS wrong,
       -- A client reports what does not answer it in time.
       after(-:session_ms, n.first.event_at) AS guard_from, n.first.event_at AS guard_to
FROM clients c LEFT JOIN counted n ON n.member = c.member
