-- A member does not ask for the same thing again and again
-- While nothing is broken, a member asks for a partition's committed position at most 20 times in
-- 10 s, and as often at most for its first or last offset. What is refused because of an open
-- transaction does not count. A commit that is refused for good is sent at most 8 times in 10 s. A
-- coordinator is looked up no more often than the backoff would let the member if there were none:
-- 15 times in 10 s.
-- why: Such questions load the coordinator and the leaders, and the member reads nothing until
--   then.
-- source: KIP-580; OffsetFetch; ListOffsets; ConsumerCoordinator.initWithCommittedOffsetsIfNeeded;
--   AbstractCoordinator.ensureCoordinatorReady; librdkafka rdkafka_partition.c
--   (rd_kafka_toppar_offset_request), rdkafka_cgrp.c (rd_kafka_cgrp_serve)
-- id: X98 | was: X91 | rows: members | unit: questions | measured: for one thing within 10 s at
--   most | high: asked for the same thing again and again, though nothing was broken | kind: in
--   passing
--
-- Each consumer's worst, once the group was well. Faults of the consumer, of brokers and of links
-- are left out.

-- let QUESTIONS = 20
--   A question for a position that is refused comes again every 500 ms in librdkafka
--   (rd_kafka_toppar_offset_request), and in Java twice in each poll, whose backoff begins anew
--   each time (ConsumerCoordinator.fetchCommittedOffsets). In 330 stored runs no member asked more
--   than four times within 10 s.

-- let COMMITS = 8
--   Sarama sends one four times, others once or twice; librdkafka twelve times while cut off.

-- let MOST_LOOKUPS = 15
--   Within 10 s a client without any coordinator asks as often as its backoff lets it: Java after
--   100, 200, 400 and 800 ms and then each second (KIP-580), librdkafka each second and once for
--   each broker that it connects to (rd_kafka_cgrp_serve). In steady quiet time the kept runs have
--   three at most: those of a member that joins.

WITH asked AS (
    SELECT member, concat(api, ' of ', topic, '-', partition) AS thing, :QUESTIONS AS most,
           arrived_at, evidence
    FROM ({LOOKED_UP}) WHERE coalesce(error_code <> :UNSTABLE_OFFSET_COMMIT, true)
    UNION ALL
    SELECT member, concat('refused commit of ', topic, '-', partition, ' at ', committed),
           :COMMITS, arrived_at, evidence
    FROM {positions}
    WHERE api = 'OFFSET_COMMIT' AND error_code IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                                                     :FENCED_INSTANCE_ID)
    UNION ALL
    SELECT member, 'lookups of its coordinator', :MOST_LOOKUPS, arrived_at, evidence
    FROM {own_requests} WHERE api = 'FIND_COORDINATOR'
), counted AS (
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
SELECT concat(m.member, ' (questions)') AS subject,
       coalesce(w.worst.arrived_at, m.started_at) AS at,
       coalesce(w.worst.times, 0) AS measured, coalesce(w.worst.most, :QUESTIONS) AS bound_high,
       w.worst.thing AS note, w.worst.evidence AS evidence
FROM {members} m LEFT JOIN most w ON w.member = m.member
WHERE m.role = 'consumer' AND m.started_at IS NOT NULL
