-- Each record has an offset of its own
-- A partition's leader acknowledges each record with an offset that no other has, in the order in
-- which they were sent, and no offset between records that were all acknowledged is left out; of a
-- producer without idempotence, until the first fault. The producer hears of each record that it
-- sent: acknowledged, failed or unanswered.
-- why: Two records at one offset are one record: the other is lost, though acknowledged.
-- source: KIP-98, Idempotent Producer Guarantees; ProduceResponse, base_offset
-- id: X63 | rows: partitions | unit: records | measured: at offsets of others or of no record, out
--   of order, or not accounted for | high: has records at offsets of others, offsets of no record,
--   or records out of order or not accounted for | kind: in passing
--
-- A producer without idempotence sends again what failed: others may overtake that, and what was
-- stored twice has offsets that were never answered. So order and gaps of its records are examined
-- up to the first fault. What was not acknowledged may have offsets too, but none below one that
-- was acknowledged before it was sent: gaps are examined up to then.
--
-- Law: records that an idempotent producer had acknowledged have offsets in the order in which they
-- were sent, whatever breaks in between, and none is stored twice.

WITH first_fault AS (SELECT min(injecting_at) AS at FROM {fault_windows}),
unsure AS (
    SELECT topic, partition, min(first_sent_at) AS from_at FROM {sends}
    WHERE outcome <> 'acknowledged' OR first_offset IS NULL GROUP BY topic, partition
), offsets AS (
    SELECT s.*, :idempotent = 1 OR coalesce(s.last_answered_at < f.at, true) AS in_order,
           max(s.last_offset) OVER (
               PARTITION BY s.topic, s.partition ORDER BY s.first_offset, s.last_offset
               {BEFORE}) AS used,
           max(s.last_offset) OVER (
               PARTITION BY s.topic, s.partition ORDER BY s.first_number, s.last_number
               {BEFORE}) AS sent_before
    FROM {sends} s CROSS JOIN first_fault f
    WHERE s.outcome = 'acknowledged' AND s.first_offset IS NOT NULL
), compared AS (
    SELECT o.*, coalesce(o.in_order AND o.sent_before > o.last_offset, false) AS overtaken,
           IF(o.in_order AND o.first_offset > o.used + 1
                  AND (u.topic IS NULL OR o.last_answered_at < u.from_at),
              o.first_offset - o.used - 1, 0) AS left_out
    FROM offsets o LEFT JOIN unsure u ON same(u, o, topic, partition)
), shared AS (
    SELECT topic, partition,
           sum(greatest(0, least(last_offset, coalesce(used, -1)) - first_offset + 1)
               + abs(last_offset - first_offset + 1 - count)
               + IF(overtaken, count, 0) + left_out) AS records,
           min(first_offset) FILTER (
               WHERE used >= first_offset OR last_offset - first_offset + 1 <> count
                     OR overtaken OR left_out > 0) AS first
    FROM compared GROUP BY topic, partition
), numbers AS (
    SELECT topic, partition, min(first_sent_at) AS at, sum(count) AS sent,
           max(last_number) - min(first_number) + 1 - sum(count) AS missing
    FROM {sends} WHERE first_number IS NOT NULL GROUP BY topic, partition
)
SELECT concat(n.topic, '-', n.partition) AS subject, n.at,
       coalesce(s.records, 0) + abs(n.missing) AS measured, 0 AS bound_high,
       coalesce(concat('the first at offset ', s.first), concat(n.sent, ' records')) AS note
FROM numbers n LEFT JOIN shared s ON same(s, n, topic, partition)
