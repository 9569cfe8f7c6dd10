-- Nothing is committed that was not fetched
-- No member commits a position beyond the records that it has fetched by then.
-- why: Records below a committed position are never read again: such a commit loses them.
-- source: kafka-chaos, programs under test
-- id: P2 | rows: members and partitions | unit: records | measured: committed before they were
--   fetched | high: committed records that it had not fetched | clients: app
--
-- A position that the group had committed already may be committed again. A broker that was killed
-- may have answered a fetch that its log has not got. A member's next fetch shows how far it got,
-- unless a position was answered before: it begins there, and may have kept what it had.

WITH asked_or_answered AS (
    SELECT member, topic, partition, fetch_offset, bytes, end_offset, arrived_at, answered_at
    FROM {asked}
    UNION ALL
    SELECT member, topic, partition, NULL, NULL, NULL, arrived_at, answered_at
    FROM {positions} WHERE api = 'OFFSET_FETCH'
), answers AS (
    SELECT *, lead(fetch_offset) OVER (PARTITION BY member, topic, partition
                                       ORDER BY arrived_at, answered_at) AS next_offset
    FROM asked_or_answered
), steps AS (
    SELECT member, topic, partition, answered_at AS at,
           IF(next_offset > fetch_offset, least(next_offset, end_offset), end_offset) AS reached,
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
    SELECT *, greatest(0, committed - greatest(coalesce(seen, 0), coalesce(before, 0))) AS unseen
    FROM ordered WHERE committed IS NOT NULL
), found AS (
    SELECT member, topic, partition, count(*) AS times,
           max(struct(unseen, at, committed, seen, seen_at)) AS w
    FROM beyond GROUP BY member, topic, partition
), killed AS (
    SELECT DISTINCT f.member, f.topic, f.partition
    FROM found f JOIN {broker_faults} b
      ON b.killed AND b.injecting_at <= f.w.at
     AND b.injecting_at >= coalesce(f.w.seen_at, :started_at)
    WHERE f.w.unseen > 0
)
SELECT clause(f.member, ' ', f.topic, '-', f.partition) AS subject,
       after(-:STAMP_LATE_MS, f.w.at) AS at, f.w.unseen AS measured, 0 AS bound_high,
       IF(k.member IS NULL, NULL,
          'a broker that was killed may have answered a fetch that it did not log') AS unknown,
       IF(f.w.unseen > 0, clause('committed ', f.w.committed, ', and had fetched to ',
                                 coalesce(f.w.seen, 0)), clause(f.times, ' commits')) AS note
FROM found f LEFT JOIN killed k ON same(k, f, member, topic, partition)
