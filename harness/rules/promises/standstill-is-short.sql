-- Partitions stand still no longer than promised
-- No partition stands still for longer than the program's owner promises after a fault or a change
-- of the group. Without a promise the time is only measured.
-- why: This is the outage that the users of the program notice.
-- source: kafka-chaos, programs under test
-- id: P4 | rows: standstills | unit: ms | measured: without records read | high: stood still for
--   longer than promised | clients: app | limit: standstill_s | headline: standstill
--
-- Stops of partitions with where their time went, as far as the record has moments of them.
--
-- A stop is on record only once it is over, so one that never was has a row of its own. Where
-- something is promised and nothing stood still, that is said of all that was read.

SELECT clause(topic, '-', partition, ' after ', coalesce(cause, trigger, 'a change'),
              coalesce(concat(' of ', subject), '')) AS subject,
       coalesce(cause_at, from_at) AS at, ms AS measured,
       IF(:limit_standstill_ms < 0, NULL, :limit_standstill_ms) AS bound_high,
       {WHERE_IT_WENT} AS note
FROM {stops} WHERE stopped
UNION ALL
SELECT clause(topic, '-', partition, ' until the end'), from_at, ms,
       IF(:limit_standstill_ms < 0, NULL, :limit_standstill_ms),
       clause(end_offset - position, ' records from ', position, ' on were never read')
FROM {never_again} WHERE from_at IS NOT NULL
UNION ALL
SELECT 'all partitions', max(polled_at), 0, :limit_standstill_ms, 'none stood still'
FROM {reads}
WHERE NOT EXISTS (SELECT 1 FROM {stops} WHERE stopped)
  AND NOT EXISTS (SELECT 1 FROM {never_again})
HAVING count(*) > 0 AND :limit_standstill_ms >= 0
