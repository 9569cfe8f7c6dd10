-- Accepted JoinGroup requests of the group under test, one row each, as `own_requests`.

SELECT * FROM {own_requests} WHERE api = 'JOIN_GROUP' AND error_code = :NONE
