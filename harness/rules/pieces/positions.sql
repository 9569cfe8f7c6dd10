-- What members are answered about positions.

-- let LOOKED_UP
--   Positions that a coordinator or a leader answered. A lookup of the log's end names no group.
--   Conditions go on with AND.
SELECT api, coalesce(program, client_id) AS member, p.topic, p.partition, p.committed,
       p.error_code, error_code AS request_error_code, arrived_at, processed_at, evidence
FROM {requests} LATERAL VIEW explode(positions) AS p
WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)

-- let ENDS
ends AS (
    SELECT topic, partition, max(end_offset) AS end_offset
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
)
