-- The program shows what it processes
-- A program that is declared to show what it processes does so, and shows only records that were
-- produced for it.
-- why: Without it the run knows only what was fetched, not what was processed.
-- source: kafka-chaos, programs under test
-- id: P13 | rows: declared ways to show what is processed | unit: records | measured: shown |
--   clients: app

WITH shown AS (SELECT coalesce(sum(count), 0) AS records FROM {effects}),
committed AS (
    SELECT coalesce(sum(committed), 0) AS records
    FROM (SELECT max(committed) AS committed FROM {accepted} WHERE topic = :topic
          GROUP BY topic, partition)
)
SELECT :shown_by AS subject, :stopped_at AS at, s.records AS measured,
       CASE WHEN s.records = 0
            THEN clause(c.records, ' records were committed, and ',
                        coalesce(nullif(:shown_lacks, ''), nullif(:shown_oddly, ''),
                                 'nothing was shown'))
            WHEN :shown_oddly <> '' THEN :shown_oddly END AS unknown,
       nullif(:shown_lacks, '') AS note
FROM shown s CROSS JOIN committed c WHERE :shown_by <> ''
