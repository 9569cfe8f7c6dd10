-- Metadata that is too long fails only its own partition
-- A partition whose commit metadata is longer than offset.metadata.max.bytes (4,096) characters is
-- refused with OFFSET_METADATA_TOO_LARGE (12) and keeps its position. The other partitions are
-- committed, and the next fetch returns their new positions.
-- why: A commit can succeed for some partitions only, so the application has to check the answer of
--   each.
-- source: document 003, OFFSET_COMMIT; offset.metadata.max.bytes
-- id: R31 | was not: R31-bytes | rows: committed partitions | unit: characters | measured: of
--   metadata | high: was accepted although its metadata is too long | protocols: classic | kind:
--   broker
--
-- A commit that names no member, to an idle group: only its metadata can be wrong.

WITH commits AS (
    SELECT p.*, length(p.metadata) AS characters
    FROM {probe_positions} p JOIN {probed} c ON same(c, p, api, `group`, sent_at)
    WHERE p.api = 'OFFSET_COMMIT' AND c.nobody AND c.state_before IN ('Empty', 'Dead')
      AND p.answered_at IS NOT NULL
), judged AS (
    SELECT c.*, concat(c.topic, '-', c.partition, ' in ', c.step, ' (', c.`group`, ')') AS subject,
           max_by(f.committed, struct(f.sent_at, f.committed))
               FILTER (WHERE f.answered_at <= c.sent_at) AS old,
           min_by(f.committed, struct(f.sent_at, f.committed))
               FILTER (WHERE f.sent_at >= c.answered_at) AS new
    FROM commits c LEFT JOIN {probe_fetches} f ON same(f, c, `group`, topic, partition)
    WHERE c.`group` IN (SELECT `group` FROM commits WHERE characters > 0)
    GROUP BY ALL
), due AS (
    SELECT *, IF(characters > :metadata_max, :OFFSET_METADATA_TOO_LARGE, :NONE) AS must,
           IF(error_code = :NONE, wanted, coalesce(old, -1)) AS stays
    FROM judged
)
SELECT subject, sent_at AS at, characters AS measured,
       IF(error_code = :NONE, :metadata_max, NULL) AS bound_high,
       CASE WHEN error_code NOT IN (:NONE, must)
            THEN clause('was refused with error ', error_code)
            WHEN new <> stays THEN clause('was answered ', error_code, ', then fetched as ',
                                          new, ' and not as ', stays) END AS wrong,
       CASE WHEN error_code IS NULL THEN 'was answered without an error code'
            WHEN new IS NULL AND error_code = must THEN 'was never fetched again'
       END AS unknown,
       concat('answered ', error_code, ', then fetched ', new) AS note
FROM due
