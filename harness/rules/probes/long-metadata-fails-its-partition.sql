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
-- A commit that names no member, to an idle group: only its metadata can be wrong. What is fetched
-- after it R30-wire examines.

WITH commits AS (
    SELECT p.*, length(p.metadata) AS characters,
           IF(length(p.metadata) > :metadata_max, :OFFSET_METADATA_TOO_LARGE, :NONE) AS must
    FROM {probe_positions} p JOIN {probed} c ON same(c, p, api, `group`, sent_at)
    WHERE p.api = 'OFFSET_COMMIT' AND c.nobody AND c.state_before IN ('Empty', 'Dead')
      AND p.answered_at IS NOT NULL
)
SELECT concat(topic, '-', partition, ' in ', step, ' (', `group`, ')') AS subject,
       sent_at AS at, characters AS measured,
       IF(error_code = :NONE, :metadata_max, NULL) AS bound_high,
       IF(error_code NOT IN (:NONE, must), clause('was refused with error ', error_code),
          NULL) AS wrong,
       IF(error_code IS NULL, 'was answered without an error code', NULL) AS unknown,
       concat('answered ', error_code) AS note
FROM commits c WHERE c.`group` IN (SELECT `group` FROM commits WHERE characters > 0)
