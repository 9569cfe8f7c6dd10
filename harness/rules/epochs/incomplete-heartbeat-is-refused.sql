-- An incomplete heartbeat is refused
-- A heartbeat is answered INVALID_REQUEST (42) if it has no member id (since version 1), an empty
-- group, instance or rack id, an epoch below -2, or epoch -2 without an instance id. So is a join
-- that has no rebalance timeout, no subscription, or partitions of its own. In version 0 a join
-- without a member id is given one.
-- why: The author of a client learns of a mistake at the first heartbeat.
-- source: KIP-848, ConsumerGroupHeartbeat; KIP-1082
-- id: X40 | rows: heartbeats of a probe | unit: error code | measured: in the answer | low: got
--   another error code | high: got another error code | protocols: consumer | kind: broker

-- let WHERE = must = :INVALID_REQUEST OR must = :NONE AND member_id = ''

{HEARTBEATS_ANSWERED}
