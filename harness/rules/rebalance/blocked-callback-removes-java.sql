-- The Java client leaves while a callback does not return
-- The Java client counts the time in a rebalance callback against max.poll.interval.ms. Its
-- heartbeat thread leaves the group at that limit, while the callback still runs.
-- why: A slow callback costs the member its partitions while it still gives them up or takes them
--   over.
-- source: ConsumerCoordinator.onJoinPrepare and AbstractCoordinator.HeartbeatThread
-- id: X31-java | rows: callbacks past the limit | unit: ms | measured: from the callback to the
--   LeaveGroup | low: left too early | high: left too late | clients: java | protocols: classic |
--   delayed by: member, toxiproxy, broker
--
-- The poll that calls back began its time at its start, a poll's length before at most.

-- let EVENT = callback_stall_started

{LEFT_BY_LIMIT}
