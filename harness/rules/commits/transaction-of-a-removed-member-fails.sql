-- A removed member's transaction is refused
-- The coordinator refuses positions that a member sends to a transaction after it was removed from
-- its group.
-- why: A member that wakes up late cannot commit results that the next owner writes as well.
-- source: KIP-447; sendOffsetsToTransaction
-- id: X29-fenced | rows: transactions of removed members | unit: error code | measured: answered |
--   kind: broker
--
-- A client may refuse them by itself as well.

SELECT concat(r.member, ' (coordinator)') AS subject, r.arrived_at AS at,
       r.error_code AS measured,
       CASE WHEN r.error_code NOT IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
            THEN clause('was not refused as a removed member: answered with error ',
                        r.error_code) END AS wrong,
       IF(r.error_code IS NULL, 'was never answered', NULL) AS unknown,
       CAST(NULL AS STRING) AS note, r.evidence
FROM {own_requests} r JOIN {removals} m
  ON m.member_id = r.member_id AND after(:slack_ms, m.removed_at) < r.arrived_at
 AND coalesce(r.arrived_at < m.back_at, true)
WHERE r.api = 'TXN_OFFSET_COMMIT'
UNION ALL
SELECT concat(c.member, ' ', c.topic, '-', c.partition, ' (client)'), c.asked_at,
       c.error_code, IF(c.error_code = :NONE, 'was accepted', NULL),
       IF(c.answered_at IS NULL OR c.error_code IS NULL, 'was never answered', NULL),
       concat('refused: ', c.error), NULL
FROM {commits} c JOIN {removals} m
  ON m.member_id = c.member_id AND after(:slack_ms, m.removed_at) < c.asked_at
 AND coalesce(c.asked_at < m.back_at, true)
WHERE c.how = 'transaction'
