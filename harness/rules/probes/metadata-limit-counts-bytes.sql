-- The limit of commit metadata counts bytes (documented, wrong)
-- Commit metadata of more than offset.metadata.max.bytes (4,096) bytes is refused.
-- why: Metadata may take more room in the offsets topic than the documented limit allows.
-- source: offset.metadata.max.bytes, by its name
-- id: R31-bytes | rows: committed partitions with characters of several bytes | unit: bytes |
--   measured: of metadata | high: was accepted | protocols: classic | kind: broker
--
-- Only metadata in which bytes and characters differ can show which of them is limited.

{METADATA}
SELECT subject, sent_at AS at, bytes AS measured,
       IF(error_code = :NONE, :metadata_max, NULL) AS bound_high,
       IF(error_code <> :NONE
              AND (error_code = :OFFSET_METADATA_TOO_LARGE) <> (bytes > :metadata_max),
          clause('was refused with error ', error_code), NULL) AS wrong,
       IF(error_code IS NULL, 'was answered without an error code', NULL) AS unknown,
       concat(characters, ' characters were answered ', error_code) AS note
FROM judged WHERE bytes <> characters
