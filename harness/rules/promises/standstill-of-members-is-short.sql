-- Partitions stand still no longer than promised
-- No partition stands still for longer than the group's owner promises, once the group is in steady
-- state.
-- why: This is the outage that the users of the group notice.
-- source: kafka-chaos, limits
-- id: L1 | rows: partitions | unit: ms | measured: without records read | high: stood still for
--   longer than promised | delayed by: members, toxiproxy, brokers | limit: standstill_s
--
-- The longest stop of each partition that has records, 0 where it never stopped.
--
-- That of a partition which nobody came back to lasts until the members were told to end.

WITH ends AS (
    SELECT topic, partition, max(end_offset) AS end_offset
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
), stood AS (
    SELECT topic, partition, ms, from_at, to_at,
           clause(' after ', coalesce(cause, trigger, 'a change'),
                  coalesce(concat(' of ', subject), '')) AS after_what,
           {WHERE_IT_WENT} AS note
    FROM {stops} WHERE stopped AND to_at > :steady_at
    UNION ALL
    SELECT topic, partition, ms, from_at, :stopped_at, ' until the end',
           clause(end_offset - position, ' records from ', position, ' on were never read')
    FROM {never_again} WHERE from_at IS NOT NULL
), longest AS (
    SELECT topic, partition, max(ms) AS ms, max_by(from_at, struct(ms, from_at)) AS from_at,
           max_by(to_at, struct(ms, from_at)) AS to_at,
           max_by(after_what, struct(ms, from_at)) AS after_what,
           max_by(note, struct(ms, from_at)) AS note
    FROM stood GROUP BY topic, partition
)
SELECT concat(e.topic, '-', e.partition, coalesce(l.after_what, '')) AS subject,
       l.from_at AS at, IF(n.partition IS NULL, coalesce(l.ms, 0), NULL) AS measured,
       :limit_standstill_ms AS bound_high,
       IF(n.partition IS NULL, NULL,
          clause('was never read, and has ', e.end_offset, ' records')) AS wrong,
       l.note, guard_from(l.from_at, l.to_at) AS guard_from, guard_to(l.to_at) AS guard_to
FROM ends e
LEFT JOIN longest l ON same(l, e, topic, partition)
LEFT JOIN {never_again} n ON same(n, e, topic, partition) AND n.from_at IS NULL
WHERE e.end_offset > 0
