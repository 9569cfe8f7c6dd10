-- A departure starts a rebalance
-- A member that leaves or is evicted starts a rebalance at once, unless one is in progress.
-- why: The partitions of a member that is gone are not read until a rebalance moves them.
-- source: document 002, rebalance conditions; document 003, LEAVE_GROUP
-- id: R20b | rows: departures | unit: ms | measured: until the rebalance started | high: was
--   followed by a rebalance too late | delayed by: broker | contradicted: static

-- let SILENT
--   Static members that closed.
SELECT concat(c.member, ' (close)'), c.event_at, c.event_at, false,
       min(g.at), min(struct(g.at, g.reason)).reason, true, NULL, NULL
FROM {client_events} c
JOIN {members} m ON m.member = c.member AND m.instance_id IS NOT NULL
LEFT JOIN {coordinator_events} g
  ON g.`group` = :group AND g.event = 'rebalance_started' AND g.at >= c.event_at
WHERE c.event = 'closing' AND c.event_at < :stopped_at
GROUP BY c.member, c.event_at

-- let CAUSES = {HEARD}('left', 'evicted') UNION ALL {SILENT}

-- query
{STARTS_A_REBALANCE}
