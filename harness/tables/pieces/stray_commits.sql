-- `stray_commits`: accepted commits of partitions that their member did not hold.

-- let COMMITTED
SELECT member, member_id, topic, partition, committed, generation, arrived_at
FROM {positions}
WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
  AND error_code = :NONE AND request_error_code = :NONE
  AND member_id IS NOT NULL AND generation >= 0
