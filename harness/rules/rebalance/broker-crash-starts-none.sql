-- A broker crash triggers no rebalance
-- A broker that is gone causes no rebalance and no callback; its partitions wait for their next
-- leader.
-- why: Brokers can be restarted one by one while consumers keep their partitions.
-- source: ConsumerCoordinator.MetadataSnapshot; rd_kafka_topic_info_cmp (counts and racks only)
-- id: R20d | was not: R11 | rows: broker faults | unit: rebalances | measured: while the broker was
--   gone | high: the group rebalanced | contradicted: all
--
-- Rebalances, and callbacks that took partitions away, from the intent on: a broker that ends in
-- order hands over before it is gone.
--
-- Law: neither is the broker's doing where the coordinator's reason, or the callback, is of a
-- member that was broken or ended by itself, of a process that joined for the first time, or of one
-- that saw a topic change.

WITH spans AS (
    SELECT fault AS span, concat(fault, ' of ', resolved) AS subject, injecting_at AS from_at,
           coalesce(healed_at, after(30000, injected_at)) AS to_at
    FROM {broker_faults} WHERE took_effect
){REBALANCES}, callbacks AS (
    SELECT s.span, min(struct(c.event_at, c.member)).member AS member
    FROM spans s LEFT JOIN (
        SELECT c.member, c.event_at FROM {client_events} c
        LEFT ANTI JOIN elsewhere x ON x.from_at <= after(:slack_ms, c.event_at)
         AND x.to_at >= after(-:slack_ms, c.event_at)
        LEFT ANTI JOIN own o ON o.member = c.member AND o.from_at <= c.event_at
         AND o.to_at >= c.event_at
        WHERE c.event IN ('revoked', 'lost')
    ) c ON c.event_at >= s.from_at AND c.event_at <= s.to_at
    GROUP BY s.span
)
SELECT subject, from_at AS at, rebalances AS measured, 0 AS bound_high,
       CASE WHEN member IS NOT NULL
            THEN clause('partitions were taken from ', member,
                        coalesce(concat('; logged reason: ', first.reason), ''))
            END AS wrong,
       concat('logged reason: ', first.reason) AS note, first.evidence AS evidence
FROM spans JOIN rebalanced USING (span) JOIN callbacks USING (span)
