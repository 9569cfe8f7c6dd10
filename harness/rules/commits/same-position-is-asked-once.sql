-- A member does not ask for the same thing again and again
-- While nothing is broken, a member asks for a partition's committed position at most 20 times in
-- 10 s, and as often at most for its first or last offset. What is refused because of an open
-- transaction does not count. A commit that is refused for good is sent at most 8 times in 10 s.
-- why: Such questions load the coordinator and the leaders, and the member reads nothing until
--   then.
-- source: KIP-580; OffsetFetch; ListOffsets; ConsumerCoordinator.initWithCommittedOffsetsIfNeeded;
--   librdkafka rdkafka_partition.c (rd_kafka_toppar_offset_request)
-- id: X98 | rows: members | unit: questions | measured: for one partition within 10 s at most |
--   high: asked for the same thing again and again, though nothing was broken | kind: in passing

-- let QUESTIONS = 20
--   A question for a position that is refused comes again every 500 ms in librdkafka
--   (rd_kafka_toppar_offset_request), and in Java twice in each poll, whose backoff begins anew
--   each time (ConsumerCoordinator.fetchCommittedOffsets). In 330 stored runs no member asked more
--   than four times within 10 s.

-- let COMMITS = 8
--   Sarama sends one four times, others once or twice; librdkafka twelve times while cut off.

-- let WHAT = positions
-- let MOST = :QUESTIONS

WITH asked AS (
    SELECT member, concat(api, ' of ', topic, '-', partition) AS thing, {MOST} AS most,
           arrived_at, evidence
    FROM ({LOOKED_UP}) WHERE coalesce(error_code <> :UNSTABLE_OFFSET_COMMIT, true)
    UNION ALL
    SELECT member, concat('refused commit of ', topic, '-', partition, ' at ', committed),
           :COMMITS, arrived_at, evidence
    FROM {positions}
    WHERE api = 'OFFSET_COMMIT' AND error_code IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                                                     :FENCED_INSTANCE_ID)
), {MOST_IN_TEN_SECONDS}
