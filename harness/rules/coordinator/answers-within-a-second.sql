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

WITH began AS (SELECT min(from_at) AS at FROM {tenures}), waited AS (
    SELECT r.member, r.api, r.arrived_at, r.answered_at, r.evidence,
           ms_between(r.arrived_at, r.answered_at) AS ms
    FROM {own_requests} r JOIN began b ON b.at IS NULL OR r.arrived_at >= b.at
    LEFT ANTI JOIN {unsettled} u ON u.from_at <= r.answered_at AND u.to_at >= r.arrived_at
    WHERE r.api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT', 'LEAVE_GROUP', 'OFFSET_FETCH',
                    'FIND_COORDINATOR')
), longest AS (
    SELECT member, count(*) AS requests,
           max(struct(ms, arrived_at, answered_at, evidence, api)) AS worst
    FROM waited GROUP BY member
)
SELECT concat(member, ' (longest wait)') AS subject, worst.arrived_at AS at,
       worst.ms AS measured, :OVERLOADED_MS + :slack_ms AS bound_high,
       concat('for a ', worst.api, ', of ', requests, ' requests') AS note,
       worst.evidence AS evidence,
       worst.arrived_at AS guard_from, worst.answered_at AS guard_to
FROM longest
