-- A heartbeat is checked against group, member and generation
-- A heartbeat of an unknown member or group is answered UNKNOWN_MEMBER_ID (25), one of another
-- generation ILLEGAL_GENERATION (22), and one with another member's instance id FENCED_INSTANCE_ID
-- (82). A correct heartbeat is answered 0, or REBALANCE_IN_PROGRESS (27) while the group waits for
-- members to rejoin.
-- why: The answer decides whether a consumer goes on, joins again or has to stop for good.
-- source: document 004, heartbeat request; GroupMetadataManager.classicGroupHeartbeat; KIP-345
-- id: R35-wire | rows: heartbeats | unit: error code | protocols: classic | kind: broker

-- let HEARTBEAT_ANSWER
CASE WHEN state IS NULL THEN NULL WHEN state = 'Dead' THEN :UNKNOWN_MEMBER_ID {IDENTITY}
     WHEN state = 'PreparingRebalance' THEN :REBALANCE_IN_PROGRESS ELSE :NONE END

-- let WHERE = true
-- let API = HEARTBEAT
-- let MUST = {HEARTBEAT_ANSWER}

-- query
{PROBED_ANSWERS}
