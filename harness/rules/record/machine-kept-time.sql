-- The machine kept time
-- The machine's clock ticks came on time wherever a timing was judged.
-- why: A delay of this machine looks just like a delay of Kafka.
-- source: kafka-chaos, evidence
-- id: E04 | rows: records of the machine's clock | unit: ms | measured: late at most | kind:
--   evidence, clock
--
-- All ticks in one row; the judge makes it null where the machine spoilt a timing.

WITH other AS (
    SELECT count_if(what = 'set') AS sets,
           max(late_ms) FILTER (WHERE what = 'set') AS set_ms,
           max(late_ms) FILTER (WHERE what = 'unseen') AS unseen_ms
    FROM {late_ticks}
), ticks AS (
    SELECT max_by(at, struct(late_ms, at)) AS at, max(late_ms) AS measured,
           concat(count_if(late_ms > :slack_ms), ' of ', count(*), ' ticks came more than ',
                  :slack_ms, ' ms late') AS note
    FROM {host} HAVING count(*) > 0
)
SELECT 'clock ticks' AS subject, at, measured,
       concat(note,
              CASE WHEN sets > 0
                   THEN clause('; the time of day was set ', sets, ' times, by ',
                               round(set_ms), ' ms at most') ELSE '' END,
              CASE WHEN unseen_ms > 0
                   THEN clause('; ticks are missing for ', round(unseen_ms), ' ms')
                   ELSE '' END) AS note
FROM ticks CROSS JOIN other
