-- One member consumes a partition, by its own view too
-- No two members hold one partition at the same time by their own view. A member that does not know
-- yet that it was removed counts too.
-- why: A member that was removed while it stalled goes on with its batch, so the work has to be
--   idempotent.
-- source: document 002, partition exclusivity
-- id: R21-delivery | rows: partitions | unit: ms | measured: held by two members, by their own view
--   | high: was held by two members at once, by their own view | contradicted: all | kind: of
--   applications
--
-- Holding counts, and not what is processed: whether a member that was stopped has records left
-- when it goes on is chance.

-- let ZOMBIES = true

{OVERLAPS}, processed AS (
    SELECT l.topic, l.partition, coalesce(sum(d.count), 0) AS records
    FROM longest l LEFT JOIN {deliveries} d
      ON same(d, l, topic, partition) AND d.member = l.before
     AND l.ms > 0 AND d.processed_at >= l.from_at AND d.polled_at <= after(l.ms, l.from_at)
    GROUP BY l.topic, l.partition
)
SELECT concat(l.topic, '-', l.partition) AS subject, l.from_at AS at,
       l.ms AS measured, :rounding_ms AS bound_high,
       IF(l.ms > 0, concat(l.before, ' still held it when ', l.member, ' got it, and then ',
                           'processed ', p.records, ' records of it'),
          'held by one after the other') AS note
FROM longest l JOIN processed p ON same(p, l, topic, partition)
