-- What a member may commit: what it was given, of partitions that it holds, in its generation.

-- let BOUNDED_COMMITS
--   Positions that the coordinator accepted from members, one row per request and partition.
WITH commits AS (
    SELECT member, member_id, broker, api, topic, partition, committed, generation,
           arrived_at, processed_at, evidence
    FROM {positions}
    WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
      AND error_code = :NONE AND request_error_code = :NONE
      AND member_id IS NOT NULL AND generation >= 0
)
