-- Reading, processing and writing in transactions: what the output holds, and who is fenced.

-- let OUTPUT
--   Per source partition, records acknowledged against their copies in the output.
WITH copied AS (
    SELECT topic, partition, sum(last_offset - first_offset + 1) AS found,
           sum((copies - 1) * (last_offset - first_offset + 1)) AS twice,
           max(last_offset) + 1 AS reach,
           min(CASE WHEN copies > 1 THEN first_offset END) AS first_twice
    FROM {outputs} WHERE isolation = '{ISOLATION}' GROUP BY topic, partition
), sent AS (
    SELECT topic, partition, sum(count) AS acknowledged
    FROM {sends} WHERE outcome = 'acknowledged' GROUP BY topic, partition
), {ENDS}, compared AS (
    SELECT topic, partition, s.acknowledged, coalesce(c.found, 0) AS found,
           coalesce(c.twice, 0) AS twice, c.first_twice,
           coalesce(greatest(c.found, c.reach, e.end_offset) - e.end_offset, 0) AS beyond
    FROM sent s LEFT JOIN copied c USING (topic, partition)
    LEFT JOIN ends e USING (topic, partition)
)
SELECT concat(topic, '-', partition) AS subject,
       twice + greatest(0, acknowledged - found) + beyond AS measured,
       0 AS bound_high,
       IF(beyond > 0, clause('has results of ', beyond, ' records more than the partition ever had'),
          NULL) AS wrong,
       concat(acknowledged, ' records acknowledged, ', found, ' in the output, ', twice,
              ' copies too many',
              coalesce(concat(', the first of record ', first_twice), '')) AS note
FROM compared WHERE EXISTS (SELECT 1 FROM {outputs})
