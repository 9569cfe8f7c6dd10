-- No more records are lost than promised
-- No more acknowledged records stay unprocessed in the whole run than the group's owner promises.
-- why: An acknowledged record that is never processed is work that will not be done.
-- source: kafka-chaos, limits
-- id: L3 | rows: runs | unit: records | measured: lost | high: lost more records than promised |
--   limit: lost
--
-- As X32a counts them.

WITH {COUNTED}, summed AS (
    SELECT sum(acknowledged) AS acknowledged,
           sum(IF(read_all, missing, greatest(0, skipped))) AS lost,
           sum(IF(read_all, 0, missing - greatest(0, skipped))) AS unseen
    FROM counted
)
SELECT 'the run' AS subject, :stopped_at AS at, lost AS measured,
       :limit_lost AS bound_high,
       IF(unseen > 0 AND lost <= :limit_lost,
          clause(unseen, ' records lie past the last position read: unseen, not lost'),
          NULL) AS unknown,
       clause('of ', acknowledged, ' that were acknowledged') AS note
FROM summed WHERE acknowledged > 0
