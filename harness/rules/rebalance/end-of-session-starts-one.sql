-- The end of a member's session starts a rebalance
-- A member whose session runs out is evicted, and a rebalance starts at once, unless one is in
-- progress.
-- why: The outage after a crash lasts session.timeout.ms at least; a late rebalance makes it
--   longer.
-- source: document 002, rebalance conditions (session.timeout.ms)
-- id: R20e | rows: evictions | unit: ms | measured: until the rebalance started | high: was
--   followed by a rebalance too late | protocols: classic | delayed by: broker

-- let CAUSES = {HEARD}('evicted')

{STARTS_A_REBALANCE}
