-- A consumer that does not poll leaves the group
-- A dynamic member whose application does not poll for max.poll.interval.ms leaves by itself and is
-- not evicted. It leaves at most one tick of its timer late (librdkafka: 500 ms, Java: 100 ms); in
-- KIP-848 Java leaves with its next heartbeat.
-- why: A batch that takes longer costs the consumer its partitions and is processed again.
-- source: document 000, max.poll.interval.ms; document 004, HeartbeatThread
-- id: R07 | rows: stalls longer than max.poll.interval.ms | unit: ms | measured: from the last poll
--   to LeaveGroup | needs: max poll end | delayed by: member, toxiproxy, broker | contradicted:
--   librdkafka consumer
--
-- The limit counts from the last poll; the stall begins when its batch has been handed over.

-- let EVENT = stall_started

{LEFT_BY_LIMIT}
