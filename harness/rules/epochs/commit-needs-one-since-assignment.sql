-- A commit needs an epoch since the partition was assigned
-- A commit is accepted with any epoch from that in which the member was assigned the partition to
-- its current one. Any other commit is refused with STALE_MEMBER_EPOCH.
-- why: A rebalance of other partitions does not make a commit fail.
-- source: KIP-1251 (since Kafka 4.3)
-- id: X22-assignment | was not: X22 | rows: commits of a probe | unit: error code | measured: in
--   the answer | low: got another error code | high: got another error code | protocols: consumer |
--   since: 4.3 | kind: broker
--
-- A null `assignment_epoch`: the partition is no longer the member's.

WITH asked AS (
    SELECT step, sent_at, generation AS epoch, error_code,
           CAST(get_json_object(expected, '$.member_epoch') AS INT) AS member_epoch,
           CAST(get_json_object(expected, '$.assignment_epoch') AS INT) AS assignment_epoch,
           IF(epoch = member_epoch OR epoch < member_epoch AND epoch >= assignment_epoch,
              :NONE, :STALE_MEMBER_EPOCH) AS due
    FROM {calls} WHERE rule = 'X22' AND api = 'OFFSET_COMMIT'
)
SELECT step AS subject, sent_at AS at, error_code AS measured, due AS bound_low,
       due AS bound_high,
       concat('epoch ', epoch, ' of a member in epoch ', member_epoch, ', partition ',
              coalesce(concat('given in epoch ', assignment_epoch), 'taken'),
              ', answered with error ', error_code) AS note
FROM asked
