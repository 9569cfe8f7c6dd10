-- Requests of the group under test, and not those of probes; `member` is who asked.

SELECT *, coalesce(program, client_id) AS member FROM {requests} WHERE `group` = :group
