-- A member does not ask for the same position again and again
-- While nothing is broken, a member asks for a partition's committed position at most 20 times in
-- 10 s, and as often at most for its first or last offset. What is refused because of an open
-- transaction does not count.
-- why: Such questions load the coordinator and the leaders, and the member reads nothing meanwhile.
-- source: KIP-580; OffsetFetch; ListOffsets; ConsumerCoordinator.initWithCommittedOffsetsIfNeeded;
--   librdkafka rdkafka_partition.c (rd_kafka_toppar_offset_request)
-- id: X98 | rows: members | unit: questions | measured: for one partition within 10 s at most |
--   high: asked for the same position again and again, though nothing was broken | kind: in passing
--
-- Questions of each member in quiet time, for each partition.

-- let QUESTIONS = 20
--   A question for a position that is refused comes again every 500 ms in librdkafka
--   (rd_kafka_toppar_offset_request), and in Java twice in each poll, whose backoff begins anew
--   each time (ConsumerCoordinator.fetchCommittedOffsets). Only an open transaction refuses it for
--   long. In 330 stored runs no member asked more than four times within 10 s, with faults, nor
--   when a group of 200 formed.

WITH asked AS (
    SELECT coalesce(program, client_id) AS member, api, p.topic, p.partition, arrived_at,
           evidence
    FROM {requests} LATERAL VIEW explode(positions) AS p
    WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)
      AND coalesce(p.error_code <> :UNSTABLE_OFFSET_COMMIT, true)
), counted AS (
    SELECT r.member, r.topic, r.partition, r.arrived_at, r.evidence, count(*) OVER (
               PARTITION BY r.member, r.api, r.topic, r.partition ORDER BY r.arrived_at
               {TEN_SECONDS}) AS times
    FROM asked r {QUIET}
), most AS (
    SELECT member,
           max(struct(times, arrived_at, topic, partition, evidence)) AS worst
    FROM counted GROUP BY member
)
SELECT concat(m.member, ' (positions)') AS subject,
       coalesce(w.worst.arrived_at, m.started_at) AS at,
       coalesce(w.worst.times, 0) AS measured, :QUESTIONS AS bound_high,
       concat(w.worst.topic, '-', w.worst.partition) AS note, w.worst.evidence AS evidence
FROM {members} m LEFT JOIN most w ON w.member = m.member
WHERE m.role = 'consumer' AND m.started_at IS NOT NULL
