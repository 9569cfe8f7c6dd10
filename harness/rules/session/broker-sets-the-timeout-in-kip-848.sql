-- The broker sets the session timeout in KIP-848
-- A member that has sent no heartbeat for group.consumer.session.timeout.ms is evicted, neither
-- earlier nor later, and the group epoch is bumped.
-- why: The broker decides for all groups how long a dead consumer's partitions stand still.
-- source: KIP-848; group.consumer.session.timeout.ms
-- id: X19 | rows: evictions | unit: ms | measured: after the last heartbeat | low: was evicted too
--   early | high: was evicted too late | protocols: consumer | delayed by: member, toxiproxy,
--   broker
--
-- As in the classic protocol.

{EVICTED_ON_TIME}
