-- Only a join creates a group
-- A heartbeat or a leave to a group that does not exist, or that is classic, is answered
-- GROUP_ID_NOT_FOUND (69). So is a join to a group of another type than consumers.
-- why: A late member does not create a group again that was deleted or has expired.
-- source: GroupMetadataManager.getOrMaybeCreateConsumerGroup
-- id: X40-group | rows: heartbeats to a group that is missing or not of KIP-848 | unit: error code
--   | measured: in the answer | low: got another error code | high: got another error code |
--   protocols: consumer | kind: broker

-- let WHERE = must = :GROUP_ID_NOT_FOUND

{HEARTBEATS_ANSWERED}
