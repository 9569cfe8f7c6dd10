-- A heartbeat is checked before it counts
-- A heartbeat is answered by the first thing that is wrong with it: INVALID_REQUEST (42) if it has
-- no member id (since version 1), an empty group, instance or rack id, an epoch below -2, or epoch
-- -2 without an instance id, and so is a join that has no rebalance timeout, no subscription, or
-- partitions of its own; UNSUPPORTED_ASSIGNOR (112) for an assignor other than the broker's own
-- (uniform, range); GROUP_ID_NOT_FOUND (69) to a group that does not exist or is classic, unless it
-- is a join, and for a join to a group of another type than consumers; UNRELEASED_INSTANCE_ID (111)
-- for a join with a member's instance id until that member has left temporarily with epoch -2, whose
-- place it takes then; FENCED_INSTANCE_ID (82) otherwise for another member's instance id;
-- UNKNOWN_MEMBER_ID (25) for a member id or an instance id that the group does not have;
-- FENCED_MEMBER_EPOCH (110) for another epoch than the member's, or the one just before with
-- partitions that the member has; INVALID_REGULAR_EXPRESSION (128) for an expression that RE2 does
-- not know. Any other heartbeat is accepted: a member's own leave in any epoch, and a join that
-- names no topic, or one that does not exist, which gets no partitions. In version 0 a join without
-- a member id is given one. A classic Heartbeat or SyncGroup as a member of KIP-848 is answered
-- UNKNOWN_MEMBER_ID, a JoinGroup of another protocol type INCONSISTENT_GROUP_PROTOCOL (23).
-- why: The answer decides whether a consumer goes on, joins again or has to stop for good, and the
--   author of a client learns of a mistake at the first heartbeat.
-- source: KIP-848, ConsumerGroupHeartbeat, Member ID, Member epoch, Static Membership,
--   SubscribedTopicRegex, Upgrade; KIP-1082; GroupMetadataManager, consumerGroupHeartbeat,
--   consumerGroupLeave and throwIfMemberDoesNotUseClassicProtocol
-- id: X40 | was: X40-assignor, X40-regex, X40-group, X40-instance, X40-member, X40-epoch,
--   X40-empty, X40-classic | rows: heartbeats and classic requests of a probe | unit: error code |
--   measured: in the answer | low: got another error code | high: got another error code |
--   protocols: consumer | kind: broker
--
-- Not examined are an epoch that a coordinator may remember or not, and what brokers before 4.4
-- answer otherwise: heartbeats to a full group, and joins of members.

{HEARTBEATS}
SELECT subject, sent_at AS at, error_code AS measured, must AS bound_low, must AS bound_high,
       IF(epoch = 0 AND must = :NONE AND regex IS NULL AND size(told) > 0
          AND NOT contains(names, concat('"', :topic, '"')),
          clause('was given ', size(told), ' partitions of ', names), NULL) AS wrong,
       concat('answered ', error_code, ' to ', found) AS note
FROM judged
WHERE must IS NOT NULL AND NOT coalesce({BACK_IN_A_FULL_GROUP}, false)
  AND found NOT IN ('a full group', 'a join anew', 'a join anew of a static member')
UNION ALL
SELECT subject, sent_at, error_code, due, due, NULL,
       concat('answered ', error_code, ' to ', api)
FROM (
    SELECT *, IF(api = 'JOIN_GROUP', :INCONSISTENT_GROUP_PROTOCOL, :UNKNOWN_MEMBER_ID) AS due
    FROM met
    WHERE api IN ('HEARTBEAT', 'SYNC_GROUP') AND known
       OR api = 'JOIN_GROUP' AND size > 0 AND protocol_type <> 'consumer'
)
