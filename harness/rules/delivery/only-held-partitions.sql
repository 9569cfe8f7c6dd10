-- A member processes only partitions that it holds
-- A member processes records only of partitions that are assigned to it. Once it has heard that a
-- partition is revoked or lost, it processes no record of it until the partition is assigned to it
-- again.
-- why: The next owner begins at the committed position, so what the former owner still processes is
--   processed twice.
-- source: KIP-429; ConsumerRebalanceListener
-- id: R21-stop | was: X105 | rows: members per partition | unit: records | measured: processed
--   without holding it | high: processed records after it had heard that the partition is revoked
--   or lost | kind: in passing
--
-- Callbacks and polls are in one order, so each delivery knows whether the partition was the
-- member's when it was polled, and when it had to stop after that.

WITH examined AS (
    SELECT member, topic, partition FROM {callbacks} WHERE event IN ('revoked', 'lost')
    UNION SELECT member, topic, partition FROM {deliveries}
), mixed AS (
    SELECT member, topic, partition, at, event, 0L AS records,
           CAST(NULL AS TIMESTAMP) AS processed_at,
           IF(event = 'assigned', 1, 0) AS rank
    FROM {callbacks}
    UNION ALL
    SELECT member, topic, partition, polled_at, NULL, count, processed_at, 2 FROM {deliveries}
), ordered AS (
    SELECT *,
           last_value(CASE WHEN event IS NOT NULL THEN struct(event, at) END, true)
               OVER (PARTITION BY member, topic, partition ORDER BY at, rank
                     {BEFORE}) AS before,
           -- Backwards in time: Spark computes a frame that ends at the last row for each row.
           min(CASE WHEN event IN ('revoked', 'lost') THEN at END)
               OVER (PARTITION BY member, topic, partition ORDER BY at DESC, rank DESC
                     {BEFORE}) AS stop_at
    FROM mixed
), late AS (
    SELECT member, topic, partition, at, records, before.event IS NULL AS stray,
           CASE WHEN before.event IS NULL THEN at
                WHEN before.event IN ('revoked', 'lost')
                     AND at > after(:slack_ms, before.at)
                THEN before.at
                WHEN processed_at > after(:slack_ms, stop_at)
                THEN stop_at END AS stop_at,
           processed_at
    FROM ordered WHERE event IS NULL
), totals AS (
    SELECT e.member, e.topic, e.partition,
           coalesce(sum(l.records), 0) AS records, min(l.stop_at) AS stop_at,
           coalesce(bool_or(l.stray), false) AS stray
    FROM examined e LEFT JOIN late l ON same(l, e, member, topic, partition)
     AND l.stop_at IS NOT NULL
    GROUP BY e.member, e.topic, e.partition
)
SELECT concat(member, ' on ', topic, '-', partition) AS subject, stop_at AS at,
       records AS measured, 0 AS bound_high,
       IF(stray, 'was given records of a partition that it had not been assigned', NULL) AS too_high
FROM totals
