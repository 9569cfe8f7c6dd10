-- A coordinator that works answers within a second
-- A coordinator that works answers each heartbeat, leave and question for positions within a
-- second, whatever its group does. So does a broker that is asked who coordinates it.
-- why: A member hears of a rebalance, or of its removal, no sooner than by the answer to its
--   heartbeat, and cannot begin to read before it has its positions.
-- source: GroupCoordinatorService.heartbeat; GroupMetadataManager.classicGroupHeartbeat
-- id: X75 | rows: members | unit: ms | measured: for an answer | high: waited too long for an
--   answer | delayed by: member, toxiproxy, broker | kind: broker, in passing
--
-- Before the group's first line a broker may have to make the offsets topic, and does everything
-- for the first time. In KIP-848 a heartbeat that changes the group waits until that is written,
-- and a broker's fault may keep replicas from writing.

-- let OVERLOADED_MS = 1000
--   In 228 runs without a broken broker the longest took 0.47 s, while clients started.

-- let WHAT = wait
-- let MOST = :OVERLOADED_MS + :slack_ms

WITH waited AS (
    SELECT r.* FROM {own_requests} r
    LEFT ANTI JOIN {unsettled} u ON u.from_at <= r.answered_at AND u.to_at >= r.arrived_at
    WHERE r.api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT', 'LEAVE_GROUP', 'OFFSET_FETCH',
                    'FIND_COORDINATOR')
      AND coalesce(r.arrived_at >= (SELECT min(from_at) FROM {tenures}), true)
), {LONGEST_WAIT}
