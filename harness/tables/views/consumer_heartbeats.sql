-- Heartbeats of KIP-848 by which members of the group under test join, stay and leave.

SELECT * FROM {own_requests}
WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND member_id IS NOT NULL
