-- Positions count when their transaction is committed
-- Positions that a member offered to a transaction are those of its group once the transaction is
-- committed, and not beyond what was offered by then.
-- why: A position that lags behind its transaction has records processed and written twice.
-- source: KIP-98, Consumer Coordinator; KIP-447
-- id: X68 | rows: partitions | unit: answers | measured: with another position | high: was answered
--   with positions that were not committed, or no longer | kind: in passing, compares clocks
--
-- Answers to whoever asked for positions, beside transactions that members saw committed.
--
-- The markers of a transaction are written after its producer was answered.

-- let MARKED_MS = 2000
--   How long after its producer was answered a transaction may wait for its markers, and their
--   replicas. The kept runs have no position that came later than 0.3 s.

WITH mixed AS (
    SELECT topic, partition, after(:MARKED_MS, answered_at) AS at, 0 AS rank,
           committed AS done, CAST(NULL AS BIGINT) AS offered,
           CAST(NULL AS BIGINT) AS position, CAST(NULL AS STRING) AS evidence
    FROM {commits}
    WHERE how = 'transaction' AND error_code = :NONE AND answered_at IS NOT NULL
    UNION ALL
    SELECT topic, partition, after(-:STAMP_LATE_MS, arrived_at), 0, NULL, committed,
           NULL, NULL
    FROM {positions} WHERE api = 'TXN_OFFSET_COMMIT' AND error_code = :NONE
    UNION ALL
    SELECT topic, partition, arrived_at, 1, NULL, NULL, committed, evidence
    FROM {positions} WHERE api = 'OFFSET_FETCH' AND error_code = :NONE
), running AS (
    SELECT topic, partition, at, position, evidence, rank,
           coalesce(max(done) OVER w, -1) AS done, coalesce(max(offered) OVER w, -1)
               AS offered
    FROM mixed
    WINDOW w AS (PARTITION BY topic, partition ORDER BY at, rank {SO_FAR})
), answers AS (
    SELECT r.*, position NOT BETWEEN done AND offered AS odd
    FROM running r LEFT ANTI JOIN {unsettled} f
      ON f.from_at <= r.at
     AND f.to_at >= r.at
    WHERE r.rank = 1
), used AS (
    SELECT topic, partition FROM mixed WHERE done IS NOT NULL GROUP BY topic, partition
)
SELECT concat(a.topic, '-', a.partition) AS subject,
       coalesce(min(IF(odd, at, NULL)), min(at)) AS at, count_if(odd) AS measured,
       0 AS bound_high,
       coalesce(min(IF(odd, concat('told ', position, ' when ', done, ' was committed and ',
                                   offered, ' offered'), NULL)),
                concat(count(*), ' answers')) AS note,
       min(IF(odd, evidence, NULL)) AS evidence
FROM answers a JOIN used u ON same(u, a, topic, partition)
CROSS JOIN (SELECT count(*) AS times FROM {forgotten}) g
WHERE g.times = 0 GROUP BY a.topic, a.partition
