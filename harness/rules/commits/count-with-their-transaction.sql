-- Positions count when their transaction is committed
-- Positions that a member offered to a transaction are those of its group once the transaction is
-- committed, and not beyond what was offered by then.
-- why: A position that lags behind its transaction has records processed and written twice.
-- source: KIP-98, Consumer Coordinator; KIP-447
-- id: X68 | rows: partitions | unit: answers | measured: with another position | high: was answered
--   with positions that were not committed, or no longer | kind: in passing, compares clocks
--
-- While a broker is gone, the markers of a transaction wait for its replicas.

-- let MARKED_MS = 2000
--   How long after its producer was answered a transaction may wait for its markers, and their
--   replicas. In the kept runs no position came later than 0.3 s.

-- let SAYS = coalesce({FIRST_ODD}, concat(count(*), ' answers')) AS note

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
    SELECT *, coalesce(max(done) OVER w, -1) AS least, coalesce(max(offered) OVER w, -1) AS most,
           count(done) OVER (PARTITION BY topic, partition) AS transactions
    FROM mixed WINDOW w AS (PARTITION BY topic, partition ORDER BY at, rank {SO_FAR})
), judged AS (
    SELECT concat(r.topic, '-', r.partition) AS subject, r.at, r.evidence,
           CASE WHEN position NOT BETWEEN least AND most
                THEN concat('was answered ', position, ' when ', least, ' was committed and ',
                            most, ' offered') END AS odd
    FROM running r LEFT ANTI JOIN {unsettled} f
      ON r.position < r.least AND f.from_at <= r.at AND f.to_at >= r.at
    WHERE r.rank = 1 AND r.transactions > 0 AND NOT EXISTS (SELECT 1 FROM {forgotten})
)
{ODD_ONES} GROUP BY subject
