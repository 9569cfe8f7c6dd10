-- A member that knows its coordinator does not look for it
-- While nothing is broken, a member does not look its coordinator up more often than its backoff
-- would let it if there were none: 15 times in 10 s.
-- why: Lookups without an end load every broker, and hide that the member does no work.
-- source: KIP-580; AbstractCoordinator.ensureCoordinatorReady; librdkafka rdkafka_cgrp.c
--   (rd_kafka_cgrp_serve)
-- id: X91 | rows: members | unit: lookups | measured: within 10 s at most | high: looked its
--   coordinator up again and again, though nothing was broken | kind: in passing

-- let MOST_LOOKUPS = 15
--   Within 10 s a client without any coordinator asks as often as its backoff lets it: Java after
--   100, 200, 400 and 800 ms and then each second (KIP-580), librdkafka each second and once for
--   each broker that it connects to (rd_kafka_cgrp_serve). In steady quiet time the kept runs have
--   three at most: those of a member that joins.

-- let WHAT = lookups
-- let MOST = :MOST_LOOKUPS

WITH asked AS (
    SELECT member, CAST(NULL AS STRING) AS thing, {MOST} AS most, arrived_at, evidence
    FROM {own_requests} WHERE api = 'FIND_COORDINATOR'
), {MOST_IN_TEN_SECONDS}
