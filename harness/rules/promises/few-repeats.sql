-- No more records come again than promised
-- The program reads no more records again in the whole run than its owner promises.
-- why: A record that comes twice is processed twice, unless the program takes care of it.
-- source: kafka-chaos, programs under test
-- id: P11 | rows: runs | unit: records | measured: that came again | high: repeats more records
--   than promised | clients: app | limit: repeats

SELECT 'the run' AS subject, coalesce(max(polled_at), :stopped_at) AS at,
       coalesce(sum(count), 0) AS measured, :limit_repeats AS bound_high,
       CASE WHEN (SELECT count(*) FROM {reads}) = 0 THEN 'nothing was read'
            WHEN (SELECT count(*) FROM {effects}) = 0 AND :shown_by <> ''
            THEN 'it showed nothing, and what is fetched twice need not be processed twice'
            END AS unknown,
       IF((SELECT count(*) FROM {effects}) > 0, 'by what it showed', 'by what it fetched') AS note
FROM {redeliveries} HAVING :limit_repeats >= 0
