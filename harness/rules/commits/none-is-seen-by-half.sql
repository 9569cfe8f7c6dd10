-- An OffsetFetch never sees half of a commit
-- Each OffsetFetch of several partitions returns the positions of one and the same commit, while
-- such commits follow one another.
-- why: Positions that were committed together stay together.
-- source: document 003, OFFSET_FETCH (lock); OffsetMetadataManager, a snapshot of committed
--   positions
-- id: R30-whole | rows: OffsetFetches during a commit | unit: positions | measured: between the
--   positions returned | high: returned positions of different commits | protocols: classic | kind:
--   broker
--
-- Groups of which every commit gave all its partitions one and the same position.

WITH commits AS (
    SELECT `group`, sent_at, count(DISTINCT wanted) AS positions, count(*) AS partitions
    FROM {probe_positions} WHERE api = 'OFFSET_COMMIT' GROUP BY `group`, sent_at
), alike AS (
    SELECT `group` FROM commits GROUP BY `group`
    HAVING max(positions) = 1 AND min(partitions) > 1 AND count(*) > 1
), answers AS (
    SELECT f.`group`, f.step, f.sent_at, count(*) AS partitions,
           max(f.committed) - min(f.committed) AS apart, max(f.committed) AS latest
    FROM {probe_fetches} f LEFT SEMI JOIN alike a ON a.`group` = f.`group`
    GROUP BY f.`group`, f.step, f.sent_at
    HAVING count(*) > 1 AND max(size(f.in_flight)) > 0 AND max(f.error_code) = :NONE
)
SELECT concat(step, ' (', `group`, ')') AS subject, sent_at AS at, apart AS measured,
       0 AS bound_high, concat(partitions, ' partitions, at ', latest) AS note
FROM answers
