-- A full KIP-848 group accepts no further member
-- A heartbeat of a new member to a group of group.consumer.max.size members is answered
-- GROUP_MAX_SIZE_REACHED (81). The members of the group go on, and may join anew.
-- why: A surplus consumer fails, and the members of the group are safe.
-- source: group.consumer.max.size; GroupMetadataManager.throwIfConsumerGroupIsFull
-- id: X40-full | rows: heartbeats to a full group | unit: error code | measured: in the answer |
--   low: got another error code | high: got another error code | protocols: consumer | kind: broker

-- let WHERE
size >= :consumer_max_size AND epoch >= 0 AND must <> :INVALID_REQUEST AND (known OR owner IS NULL)

-- query
{HEARTBEATS_ANSWERED}
