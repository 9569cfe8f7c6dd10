-- What becomes of records and commits: nothing lost, and nothing repeated without a reason.

-- let COUNTED
--   Acknowledged records of each partition, and how many of them no member finished. Ranges of
--   either kind are merged into islands before they are compared.
ranges AS (
    SELECT 'sent' AS kind, topic, partition, first_offset, last_offset
    FROM {sends} WHERE outcome = 'acknowledged' AND first_offset IS NOT NULL
    UNION ALL
    SELECT 'done', topic, partition, first_offset, last_offset
    FROM {deliveries} WHERE processed_at IS NOT NULL
    UNION ALL
    -- A transaction may have been committed when its process died before it said so.
    SELECT 'done', topic, partition, first_offset, last_offset
    FROM {outputs} WHERE isolation = 'read_committed'
    UNION ALL
    -- What was deleted on purpose is done.
    SELECT 'done', p.topic, p.partition, 0, p.committed - 1
    FROM {requests} LATERAL VIEW explode(positions) AS p
    WHERE api = 'DELETE_RECORDS' AND p.error_code = :NONE AND p.committed > 0
), placed AS (
    SELECT *, max(last_offset) OVER (PARTITION BY kind, topic, partition
                                     ORDER BY first_offset, last_offset {BEFORE}) AS reached
    FROM ranges
), numbered AS (
    SELECT *, count_if(reached IS NULL OR first_offset > reached + 1) OVER (
        PARTITION BY kind, topic, partition ORDER BY first_offset, last_offset) AS island
    FROM placed
), islands AS (
    SELECT kind, topic, partition, min(first_offset) AS first, max(last_offset) AS last
    FROM numbered GROUP BY kind, topic, partition, island
), read_to AS (
    SELECT topic, partition, max(last_offset) AS last FROM {deliveries} GROUP BY topic, partition
), ends AS (
    SELECT topic, partition, max(struct(at, end_offset)).end_offset AS end_offset
    FROM {topology} WHERE what = 'end_offset' GROUP BY topic, partition
), compared AS (
    SELECT s.*, r.last AS read_to, e.end_offset,
           coalesce(sum(least(s.last, d.last) - greatest(s.first, d.first) + 1)
                    FILTER (WHERE d.first IS NOT NULL), 0) AS found
    FROM islands s LEFT JOIN islands d
      ON same(d, s, topic, partition) AND d.kind = 'done'
     AND d.first <= s.last AND d.last >= s.first
    LEFT JOIN read_to r ON same(r, s, topic, partition)
    LEFT JOIN ends e ON same(e, s, topic, partition)
    WHERE s.kind = 'sent' GROUP BY ALL
), counted AS (
    SELECT topic, partition, sum(last - first + 1) AS acknowledged,
           sum(last - first + 1 - found) AS missing,
           -- Nothing is found past what was read, so all that was found is below it.
           sum(greatest(0, least(last, coalesce(read_to, -1)) - first + 1) - found) AS skipped,
           coalesce(max(read_to) + 1 >= max(end_offset), false) AS read_all,
           max(read_to) + 1 - max(end_offset) AS beyond
    FROM compared GROUP BY topic, partition
)
