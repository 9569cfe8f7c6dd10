-- Committed positions never go back
-- The accepted committed position of a partition never decreases.
-- why: A commit that goes back makes the next owner repeat work that was done and committed.
-- source: KafkaConsumer, Offsets and Consumer Position
-- id: X32c | rows: partitions | unit: records | measured: backwards | high: had a commit that went
--   back

-- let WENT_BACK = FILTER (WHERE committed < previous_committed)

SELECT concat(topic, '-', partition) AS subject, min(at) {WENT_BACK} AS at,
       greatest(max(previous_committed - committed), 0) AS measured, 0 AS bound_high,
       concat(count(*), ' commits accepted',
              coalesce(concat(', the first that went back by ',
                              min(struct(at, member)) {WENT_BACK}.member), '')) AS note
FROM {accepted} GROUP BY topic, partition
