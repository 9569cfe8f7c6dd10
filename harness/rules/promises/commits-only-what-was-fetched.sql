-- Nothing is committed that was not fetched
-- No member commits a position beyond the records that it has fetched by then.
-- why: Records below a committed position are never read again: such a commit loses them.
-- source: kafka-chaos, programs under test
-- id: P2 | rows: members and partitions | unit: records | measured: committed before they were
--   fetched | high: committed records that it had not fetched | clients: app
--
-- The worst of a member's commits of each partition of the topic that it is fed.
--
-- A position that the group had committed already may be committed again. A broker that was killed
-- may have answered a fetch that its log has not got. A member's next fetch tells how far it got,
-- unless it was told a position before: it begins there, and may have kept what it had.

WITH asked_or_told AS (
    SELECT member, topic, partition, fetch_offset, bytes, end_offset, arrived_at,
           answered_at
    FROM {asked}
    UNION ALL
    SELECT member, topic, partition, NULL, NULL, NULL, arrived_at, answered_at
    FROM {positions} WHERE api = 'OFFSET_FETCH'
), answers AS (
    SELECT *, lead(fetch_offset) OVER (
        PARTITION BY member, topic, partition ORDER BY arrived_at, answered_at)
        AS next_offset
    FROM asked_or_told
), steps AS (
    SELECT member, topic, partition, answered_at AS at,
           IF(next_offset > fetch_offset, least(next_offset, end_offset), end_offset)
               AS reached,
           CAST(NULL AS BIGINT) AS committed, CAST(NULL AS BIGINT) AS before
    FROM answers WHERE bytes > 0 AND fetch_offset < end_offset
    UNION ALL
    SELECT member, topic, partition, arrived_at, fetch_offset, NULL, NULL
    FROM {fetches} WHERE fetch_offset IS NOT NULL AND member IS NOT NULL
    UNION ALL
    -- A fetch's line may be stamped after that of the commit that follows it.
    SELECT member, topic, partition, after(:STAMP_LATE_MS, at), NULL, committed,
           previous_committed
    FROM {accepted} WHERE topic = :topic
), ordered AS (
    SELECT *, max(reached) OVER w AS seen,
           max(IF(reached IS NULL, NULL, at)) OVER w AS seen_at
    FROM steps
    WINDOW w AS (PARTITION BY member, topic, partition ORDER BY at, reached NULLS LAST
                 {SO_FAR})
), beyond AS (
    SELECT *, greatest(0, committed - greatest(coalesce(seen, 0), coalesce(before, 0)))
               AS unseen
    FROM ordered WHERE committed IS NOT NULL
), worst AS (
    SELECT member, topic, partition, max(unseen) AS unseen, count(*) AS times,
           max_by(at, struct(unseen, at)) AS at,
           max_by(committed, struct(unseen, at)) AS committed,
           max_by(seen, struct(unseen, at)) AS seen,
           max_by(seen_at, struct(unseen, at)) AS seen_at
    FROM beyond GROUP BY member, topic, partition
), killed AS (
    SELECT DISTINCT w.member, w.topic, w.partition
    FROM worst w JOIN {broker_faults} b
      ON b.killed AND b.injecting_at <= w.at
     AND b.injecting_at >= coalesce(w.seen_at, :started_at)
    WHERE w.unseen > 0
)
SELECT clause(w.member, ' ', w.topic, '-', w.partition) AS subject,
       after(-:STAMP_LATE_MS, w.at) AS at, w.unseen AS measured, 0 AS bound_high,
       CASE WHEN k.member IS NOT NULL
            THEN 'a broker that was killed may have answered a fetch that it did not log'
            END AS unknown,
       IF(w.unseen > 0,
          clause('committed ', w.committed, ', and had fetched to ', coalesce(w.seen, 0)),
          clause(w.times, ' commits')) AS note
FROM worst w LEFT JOIN killed k ON same(k, w, member, topic, partition)
