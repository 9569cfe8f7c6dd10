-- Positions in requests of the group under test, one row per request and partition.
--
-- `api` says whether one was committed, read, looked up or deleted (history.schema, requests);
-- `error_code` is the partition's own, `request_error_code` that of the whole request.

SELECT api, broker, coalesce(program, client_id) AS member, member_id, generation, p.topic,
       p.partition, p.committed, p.error_code, r.error_code AS request_error_code,
       arrived_at, processed_at, answered_at, evidence
FROM {requests} r LATERAL VIEW explode(positions) AS p WHERE `group` = :group
