-- Partitions stand still no longer than promised
-- No partition stands still for longer than the group's owner promises, once the group is in steady
-- state.
-- why: This is the outage that the users of the group notice.
-- source: kafka-chaos, limits
-- id: L1 | rows: partitions | unit: ms | measured: without records read | high: had a standstill
--   longer than promised | delayed by: members, toxiproxy, brokers | limit: standstill_s

WITH {ENDS}, {STOOD}, longest AS (
    SELECT topic, partition, max(struct(ms, from_at, to_at, after_what, note)) AS l
    FROM stood WHERE to_at > :steady_at GROUP BY topic, partition
)
SELECT concat(e.topic, '-', e.partition, coalesce(concat(' ', s.l.after_what), '')) AS subject,
       s.l.from_at AS at, IF(n.partition IS NULL, coalesce(s.l.ms, 0), NULL) AS measured,
       :limit_standstill_ms AS bound_high,
       IF(n.partition IS NULL, NULL,
          clause('was never read, and has ', e.end_offset, ' records')) AS wrong,
       s.l.note AS note, guard_from(s.l.from_at, s.l.to_at) AS guard_from,
       guard_to(s.l.to_at) AS guard_to
FROM ends e LEFT JOIN longest s ON same(s, e, topic, partition)
LEFT JOIN {never_again} n ON same(n, e, topic, partition) AND n.from_at IS NULL
WHERE e.end_offset > 0
