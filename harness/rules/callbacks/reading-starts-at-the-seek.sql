-- A member starts to read at the position that it seeks to
-- A member that seeks to a position of its own store when it is assigned a partition gets the
-- record at that position first.
-- why: An application that stores positions beside its results relies on this to process nothing
--   twice.
-- source: document 001, rebalance listener (seek in onPartitionsAssigned)
-- id: R15-seek | rows: assignments | unit: records | measured: from the stored position to the
--   first record | low: began before the stored position | high: began after the stored position
--
-- A member that died while it wrote a position may have kept it or not: the next owner may begin at
-- either.

WITH written AS (
    SELECT topic, partition, asked_at AS at, committed, error_code = 0 AS kept
    FROM {commits} WHERE how = 'external'
), started AS (
    SELECT o.topic, o.partition, o.member, o.from_at, o.to_at, max(k.at) AS kept_at,
           max_by(k.committed, struct(k.at, k.committed)) AS kept
    FROM {ownership} o JOIN written k
      ON same(k, o, topic, partition) AND k.at <= o.from_at AND k.kept
    GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
), read AS (
    SELECT s.*, min_by(d.first_offset, struct(d.polled_at, d.first_offset)) AS first
    FROM started s JOIN {deliveries} d ON same(d, s, topic, partition, member)
     AND d.polled_at >= s.from_at AND (s.to_at IS NULL OR d.polled_at <= s.to_at)
    GROUP BY ALL
)
SELECT concat(r.topic, '-', r.partition, ' to ', r.member) AS subject, r.from_at AS at,
       IF(count(w.at) > 0, 0, r.first - r.kept) AS measured,
       0 AS bound_low, 0 AS bound_high,
       concat(r.kept, ' was kept, ', r.first, ' was read first') AS note
FROM read r LEFT JOIN written w ON same(w, r, topic, partition) AND w.kept IS NULL
 AND w.at >= r.kept_at AND w.at <= r.from_at AND w.committed = r.first
GROUP BY r.topic, r.partition, r.member, r.from_at, r.kept, r.first
