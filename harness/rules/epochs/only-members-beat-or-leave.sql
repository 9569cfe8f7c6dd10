-- Only a member can send heartbeats or leave
-- A heartbeat or a leave with a member id or an instance id that the group does not have, or no
-- longer has, is answered UNKNOWN_MEMBER_ID (25). A member's own leave is accepted in any epoch.
-- why: A removed member learns of its removal by its next heartbeat, and joins again.
-- source: KIP-848, Member ID; GroupMetadataManager.consumerGroupLeave
-- id: X40-member | rows: heartbeats of unknown members, and leaves | unit: error code | measured:
--   in the answer | low: got another error code | high: got another error code | protocols:
--   consumer | kind: broker

-- let WHERE = must = :UNKNOWN_MEMBER_ID OR epoch < 0 AND must = :NONE

{HEARTBEATS_ANSWERED}
