-- OffsetFetch returns the position that was committed last
-- OffsetFetch of named or of all partitions returns the position that was accepted last, with the
-- metadata and the leader epoch that were committed with it, and -1 for a named partition that has
-- none. With require_stable a partition in an open transaction is answered UNSTABLE_OFFSET_COMMIT
-- (88); without it the position before the transaction is returned.
-- why: A member begins at this position, so a wrong one repeats or skips records.
-- source: document 003, OFFSET_FETCH; KIP-447
-- id: R30-wire | rows: fetched partitions | unit: positions | protocols: classic | kind: broker
--
-- Each partition of each answer, and each answer for all partitions as a whole.

WITH stored AS (
    SELECT f.`group`, f.sent_at, p.topic, p.partition,
           max_by(p.committed, struct(p.at, p.sent_at, p.committed)) AS committed
    FROM (SELECT DISTINCT `group`, sent_at FROM {probe_fetches} WHERE everything) f
    JOIN {probe_positions} p
      ON p.`group` = f.`group` AND p.at <= f.sent_at AND p.error_code = 0
    GROUP BY ALL
), complete AS (
    SELECT s.`group`, s.sent_at, count_if(s.committed >= 0) AS stored,
           count(g.partition) AS given
    FROM stored s LEFT JOIN {probe_fetches} g
      ON same(g, s, `group`, sent_at, topic, partition)
    GROUP BY s.`group`, s.sent_at
), named AS (
    SELECT c.`group`, c.api, c.sent_at, c.step, t.name AS topic, p.partitionIndex AS partition,
           coalesce(p.metadata, '') AS metadata, p.committedLeaderEpoch AS epoch,
           get_json_object(c.answer, '$.groups[0].groupId') AS of_group
    FROM {calls} c LATERAL VIEW explode(from_json(
        IF(c.api = 'OFFSET_FETCH', get_json_object(c.answer, '$.groups[0].topics'),
           get_json_object(c.request, '$.topics')),
        'array<struct<name:string,partitions:array<struct<partitionIndex:int,'
        || 'metadata:string,committedLeaderEpoch:int>>>>')) AS t
    LATERAL VIEW explode(t.partitions) AS p
    WHERE c.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT', 'OFFSET_FETCH')
), made AS (
    SELECT f.`group`, f.sent_at, f.step, f.topic, f.partition,
           max_by(struct(coalesce(p.metadata, '') AS metadata,
                         coalesce(e.epoch, -1) AS epoch),
                  struct(p.at, p.sent_at, p.committed)) AS last
    FROM {probe_fetches} f JOIN {probe_positions} p
      ON same(p, f, `group`, topic, partition) AND p.at <= f.sent_at AND p.error_code = 0
    LEFT JOIN named e ON same(e, p, `group`, api, sent_at, step, topic, partition)
    GROUP BY f.`group`, f.sent_at, f.step, f.topic, f.partition
), besides AS (
    -- What is said besides a position, where it is known which commit made that.
    SELECT t.`group`, t.sent_at, t.step, t.topic, t.partition,
           min(CASE WHEN t.of_group <> t.`group`
                    THEN clause('was answered of group ', t.of_group)
                    WHEN t.metadata <> IF(f.wanted < 0, '', m.last.metadata)
                    THEN 'was answered with other metadata than were committed'
                    WHEN t.epoch <> IF(f.wanted < 0, -1, m.last.epoch)
                    THEN clause('was answered with leader epoch ', t.epoch) END) AS odd
    FROM named t JOIN {probe_fetches} f
      ON same(f, t, `group`, sent_at, step, topic, partition)
     AND f.error_code = :NONE AND f.committed = f.wanted AND size(f.in_flight) = 0
     AND NOT f.ending
    LEFT JOIN made m ON same(m, t, `group`, sent_at, step, topic, partition)
    WHERE t.api = 'OFFSET_FETCH' GROUP BY t.`group`, t.sent_at, t.step, t.topic, t.partition
), answered AS (
    SELECT concat(f.topic, '-', f.partition, ' in ', f.step, ' (', f.`group`, ')') AS subject,
           f.sent_at AS at, b.odd,
           IF(held AND stable, error_code = :UNSTABLE_OFFSET_COMMIT, error_code = :NONE
              AND (committed = wanted OR array_contains(in_flight, committed))) AS right,
           concat('was answered ', error_code, ', ', coalesce(string(committed), '?'),
                  IF(held AND stable, ' while a transaction held it',
                     concat(' where ', wanted, ' was committed last'))) AS answer
    FROM {probe_fetches} f
    LEFT JOIN besides b ON same(b, f, `group`, sent_at, step, topic, partition)
    WHERE NOT (ending AND stable AND error_code = :UNSTABLE_OFFSET_COMMIT)
    UNION ALL
    SELECT concat('all partitions (', `group`, ')'), sent_at, NULL, given = stored,
           concat('were answered with ', given, ' of ', stored)
    FROM complete
)
SELECT subject, at, IF(NOT right, answer, odd) AS wrong,
       IF(right IS NULL, 'was answered incompletely', NULL) AS unknown,
       answer AS note
FROM answered
