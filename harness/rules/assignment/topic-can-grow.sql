-- A topic can get more partitions while it is consumed
-- A topic can get more partitions, and its existing partitions stay as they are.
-- why: A topic can be scaled while its consumers run.
-- source: document 002, partition count
-- id: R27-growth | rows: topics that grew | unit: partitions | measured: in total | low: has no
--   more partitions than before

WITH {GROWTH},
counted AS (
    SELECT count_if(partition < :partitions AND last.leader >= 0) AS before,
           count_if(partition >= :partitions AND last.leader >= 0) AS added
    FROM (SELECT partition, max(struct(at, leader)) AS last FROM {topology}
          WHERE what = 'partition' AND topic = :topic GROUP BY partition)
)
SELECT concat(:topic, ' (', g.fault, ')') AS subject, g.at,
       c.before + c.added AS measured, :partitions + 1 AS bound_low,
       CASE WHEN c.before <> :partitions
            THEN clause('of the ', :partitions, ' partitions that it had, ', c.before,
                        ' have a leader') END AS wrong,
       concat('had ', :partitions, ', and ', c.added, ' were added') AS note
FROM grown g CROSS JOIN counted c
