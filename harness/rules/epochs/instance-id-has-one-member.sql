-- An instance id belongs to one member until it is released
-- A join with a member's instance id is answered UNRELEASED_INSTANCE_ID (111) until that member has
-- left temporarily with epoch -2, and then takes its place. Any other heartbeat with another
-- member's instance id is answered FENCED_INSTANCE_ID (82).
-- why: The newer of two processes with one instance id has to stop, not the older.
-- source: KIP-848, Static Membership; GroupMetadataManager.throwIfInstanceIdIsUnreleased
-- id: X40-instance | rows: uses of an instance id that a member has | unit: error code | measured:
--   in the answer | low: got another error code | high: got another error code | protocols:
--   consumer | kind: broker

-- let WHERE
(must IN (:UNRELEASED_INSTANCE_ID, :FENCED_INSTANCE_ID) OR found = 'a join in the place of one that said goodbye') AND NOT coalesce({BACK_IN_A_FULL_GROUP}, false)

-- query
{HEARTBEATS_ANSWERED}
