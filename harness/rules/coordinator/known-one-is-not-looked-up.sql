-- A member that knows its coordinator does not look for it
-- While nothing is broken, a member does not look its coordinator up more often than its backoff
-- would let it if there were none: 15 times in 10 s.
-- why: Lookups without an end load every broker, and hide that the member does no work.
-- source: KIP-580; AbstractCoordinator.ensureCoordinatorReady; librdkafka rdkafka_cgrp.c
--   (rd_kafka_cgrp_serve)
-- id: X91 | rows: members | unit: lookups | measured: within 10 s at most | high: looked its
--   coordinator up again and again, though nothing was broken | kind: in passing
--
-- Lookups of each member in quiet time.

-- let MOST_LOOKUPS = 15
--   Within 10 s a client without any coordinator asks as often as its backoff lets it: Java after
--   100, 200, 400 and 800 ms and then each second (KIP-580), librdkafka each second and once for
--   each broker that it connects to (rd_kafka_cgrp_serve). In steady quiet time the kept runs have
--   no more than three: those of a member that joins.

WITH lookups AS (
    -- The observer looks the coordinator up five times a second: that is not compared.
    SELECT r.member, r.arrived_at, r.evidence
    FROM {own_requests} r {QUIET} AND r.api = 'FIND_COORDINATOR'
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY member ORDER BY arrived_at {TEN_SECONDS}) AS times
    FROM lookups
), most AS (
    SELECT member, max(struct(times, arrived_at, evidence)) AS worst
    FROM counted GROUP BY member
)
SELECT concat(m.member, ' (lookups)') AS subject,
       coalesce(w.worst.arrived_at, m.started_at) AS at,
       coalesce(w.worst.times, 0) AS measured, :MOST_LOOKUPS AS bound_high,
       w.worst.evidence AS evidence
FROM {members} m LEFT JOIN most w ON w.member = m.member
WHERE m.role = 'consumer' AND m.started_at IS NOT NULL
