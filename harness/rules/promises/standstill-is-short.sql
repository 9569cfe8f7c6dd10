-- Partitions stand still no longer than promised
-- No partition stands still for longer than the program's owner promises after a fault or a change
-- of the group. Without a promise the time is only measured.
-- why: This is the outage that the users of the program notice.
-- source: kafka-chaos, programs under test
-- id: P4 | rows: standstills | unit: ms | measured: without records read | high: had a standstill
--   longer than promised | clients: app | limit: standstill_s | headline: standstill
--
-- Where something is promised, and there was no stop, one row says so.

WITH {STOOD}
SELECT clause(topic, '-', partition, ' ', after_what) AS subject, since_at AS at,
       ms AS measured, IF(:limit_standstill_ms < 0, NULL, :limit_standstill_ms) AS bound_high, note
FROM stood
UNION ALL
SELECT 'all partitions', max(polled_at), 0, :limit_standstill_ms, 'none had a standstill'
FROM {reads}
WHERE NOT EXISTS (SELECT 1 FROM stood) AND NOT EXISTS (SELECT 1 FROM {never_again})
HAVING count(*) > 0 AND :limit_standstill_ms >= 0
