-- No more committed records are lost than promised
-- At most as many records of a partition below the last committed position as its owner promises,
-- by default none, were not processed, or not fetched if the program does not show what it
-- processes.
-- why: A record below the committed position is never read again: it is lost without an error.
-- source: kafka-chaos, programs under test
-- id: P10 | rows: partitions | unit: records | measured: lost | high: has committed records that
--   were not read | clients: app | limit: lost | headline: loss
--
-- Where auto.offset.reset is latest, a program passes over what was there before it came.
--
-- Law: A record is lost if it is of the topic that the program is fed, lies below the last
-- committed position, and was not read.

WITH upto AS (
    SELECT topic, partition, max(committed) AS committed FROM {accepted}
    GROUP BY topic, partition
), seen AS (
    SELECT topic, partition, first_offset, last_offset FROM {reads}
    UNION ALL
    -- As if it had read what is before its first fetch.
    SELECT topic, partition, 0, min(first_offset) - 1 FROM {fetched}
    GROUP BY topic, partition
    UNION ALL
    SELECT topic, partition, committed, committed FROM upto
), followed AS (
    SELECT topic, partition, first_offset, last_offset,
           max(last_offset) OVER (
               PARTITION BY topic, partition ORDER BY first_offset, last_offset
               {BEFORE}) AS reached
    FROM seen
), holes AS (
    SELECT f.topic, f.partition, u.committed, f.reached + 1 AS from_offset,
           least(f.first_offset, u.committed) - f.reached - 1 AS records
    FROM followed f JOIN upto u USING (topic, partition)
    WHERE f.reached IS NOT NULL
), counted AS (
    SELECT topic, partition, any_value(committed) AS committed,
           coalesce(sum(records) FILTER (WHERE records > 0), 0) AS lost,
           min(from_offset) FILTER (WHERE records > 0) AS first_lost
    FROM holes GROUP BY topic, partition
), shown AS (SELECT count(*) AS times FROM {effects})
SELECT concat(topic, '-', partition) AS subject, :stopped_at AS at, lost AS measured,
       :limit_lost AS bound_high,
       IF(s.times = 0 AND :shown_by <> '',
          'it showed nothing, and a fetched record need not have been processed', NULL) AS unknown,
       clause(IF(s.times > 0, 'by what it showed', 'by what it fetched'),
              ', to the committed position ', committed,
              IF(lost > 0, concat('; the first is at ', first_lost), '')) AS note
FROM counted CROSS JOIN shown s
