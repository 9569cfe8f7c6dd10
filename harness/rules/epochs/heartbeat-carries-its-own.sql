-- A heartbeat has to carry the member's epoch
-- A heartbeat with the member's epoch is accepted. One with the epoch just before is accepted too
-- if it owns only partitions that the member has, since the last answer may have been lost. Any
-- other heartbeat is answered FENCED_MEMBER_EPOCH (110).
-- why: A process that slept through a rebalance is stopped; a process that missed an answer is not.
-- source: KIP-848, Member epoch; GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid
-- id: X40-epoch | rows: heartbeats of members | unit: error code | measured: in the answer | low:
--   got another error code | high: got another error code | protocols: consumer | kind: broker
--
-- Heartbeats of members but for those with an epoch that a coordinator may remember or not.

-- let WHERE = epoch > 0 AND known AND must IS NOT NULL AND found LIKE '%epoch%'

{HEARTBEATS_ANSWERED}
