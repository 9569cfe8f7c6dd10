-- A silent member is evicted when its session ends
-- A member that sends nothing for its session timeout is removed from the group, neither earlier
-- nor later, and a rebalance starts.
-- why: Nobody processes a dead member's partitions until it is evicted.
-- source: document 000, GroupCoordinator; document 003, HEARTBEAT; session.timeout.ms
-- id: R01 | rows: evictions | unit: ms | measured: after the last sign of life | needs: session
--   end, working coordinator | protocols: classic | delayed by: member, toxiproxy, broker

{EVICTED_ON_TIME}
