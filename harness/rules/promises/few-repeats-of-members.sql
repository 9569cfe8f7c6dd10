-- No more records come again than promised
-- The group is given no more records again in the whole run than its owner promises.
-- why: A record that comes twice is processed twice, unless the application takes care of it.
-- source: kafka-chaos, limits
-- id: L2 | rows: runs | unit: records | measured: that came again | high: repeats more records than
--   promised | limit: repeats

WITH again AS (
    SELECT coalesce(sum(count), 0) AS records, max(polled_at) AS at FROM {redeliveries}
), read AS (SELECT sum(count) AS records FROM {deliveries})
SELECT 'the run' AS subject, coalesce(a.at, :stopped_at) AS at, a.records AS measured,
       :limit_repeats AS bound_high,
       clause('of ', r.records, ' that were delivered') AS note
FROM again a CROSS JOIN read r WHERE r.records > 0
