-- A new owner reads on from the committed position
-- A member that is given a partition begins with the committed position that the coordinator
-- returns: it neither skips records nor reads committed ones again.
-- why: The position at which a new owner begins decides what comes twice after a fault, and what is
--   lost.
-- source: kafka-chaos, programs under test
-- id: P3 | rows: partitions taken over | unit: records | measured: from the committed position to
--   the first fetch | low: reads committed records again | high: skips records that were not
--   committed | clients: app
--
-- A member that goes on with a partition that it has held all along only asked what is committed. A
-- fetch that was under way when a member gave the partition up may be the first of those that
-- follow, if it gets it back and the answer begins at the committed position. A fetch from just
-- that position may be stamped before the answer with it, which another broker logged late (by 1.5
-- ms, once).

WITH steps AS (
    SELECT member, topic, partition, arrived_at AS at, committed AS told,
           CAST(NULL AS BIGINT) AS fetch_offset, evidence
    FROM {positions} WHERE api = 'OFFSET_FETCH' AND error_code = :NONE
    UNION ALL
    SELECT member, topic, partition, arrived_at, NULL, fetch_offset, evidence
    FROM {asked} WHERE fetch_offset IS NOT NULL
), followed AS (
    SELECT *, lag(told) OVER w AS committed, lag(at) OVER w AS told_at,
           max(IF(fetch_offset IS NULL, NULL, at)) OVER (
               PARTITION BY member, topic, partition
               ORDER BY at, fetch_offset NULLS FIRST {BEFORE}) AS fetched_at
    FROM steps
    WINDOW w AS (PARTITION BY member, topic, partition
                 ORDER BY at, fetch_offset NULLS FIRST)
), after_told AS (
    SELECT f.* FROM followed f LEFT ANTI JOIN {ownership} o ON same(o, f, member, topic, partition)
     AND o.from_at <= f.fetched_at AND coalesce(o.to_at, :ended_at) >= f.at
    WHERE f.fetch_offset IS NOT NULL AND f.committed IS NOT NULL
), waited AS (
    SELECT a.member, a.topic, a.partition, a.at
    FROM after_told a JOIN {fetched} w ON same(w, a, member, topic, partition)
     AND w.arrived_at <= a.told_at AND w.first_offset = a.committed
     AND w.last_offset + 1 = a.fetch_offset
    JOIN {ownership} o ON same(o, a, member, topic, partition) AND o.to_at <= a.told_at
    GROUP BY a.member, a.topic, a.partition, a.at
    HAVING max(w.answered_at) >= after(-:slack_ms, max(o.to_at))
    UNION
    SELECT a.member, a.topic, a.partition, a.at
    FROM after_told a JOIN {asked} e ON same(e, a, member, topic, partition)
     AND e.arrived_at <= a.told_at AND e.arrived_at >= after(-:slack_ms, a.told_at)
     AND e.fetch_offset = a.committed
), begun AS (
    SELECT a.* EXCEPT (fetch_offset),
           IF(w.member IS NULL, a.fetch_offset, a.committed) AS fetch_offset
    FROM after_told a LEFT JOIN waited w ON same(w, a, member, topic, partition, at)
), others AS (
    SELECT b.member, b.topic, b.partition, b.at,
           max_by(f.member, struct(f.last_offset, f.member)) AS old_member,
           max(f.last_offset) + 1 - any_value(b.fetch_offset) AS again
    FROM begun b JOIN {fetched} f ON same(f, b, topic, partition) AND f.arrived_at < b.at
    GROUP BY b.member, b.topic, b.partition, b.at
)
SELECT clause(b.topic, '-', b.partition, ' to ', b.member) AS subject, b.at,
       IF(b.committed < 0, NULL, b.fetch_offset - b.committed) AS measured,
       0 AS bound_low, 0 AS bound_high,
       IF(b.committed < 0,
          clause('nothing was committed, so it began at ', b.fetch_offset,
                 ' as its auto.offset.reset says'), NULL) AS excused,
       CASE WHEN b.fetch_offset <> b.committed
            THEN clause('began at ', b.fetch_offset, ', and ', b.committed,
                        ' was committed')
            WHEN o.again > 0
            THEN clause(o.again, ' records that ', o.old_member,
                        ' had fetched and not committed come again') END AS note,
       b.evidence
FROM begun b LEFT JOIN others o ON same(o, b, member, topic, partition, at)
