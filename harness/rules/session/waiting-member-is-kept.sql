-- A member whose join or sync waits is not evicted
-- A member whose JoinGroup or SyncGroup the coordinator has not answered yet is not evicted,
-- however long that takes. Only a member that is new to the group is dropped after five minutes.
-- why: Otherwise a rebalance that waits for one slow member would evict all members that rejoined
--   in time.
-- source: document 000, GroupCoordinator (shouldKeepMemberAlive); GroupMetadataManager;
--   ClassicGroupMember.hasSatisfiedHeartbeat
-- id: R03-members | was: R03-wire | rows: requests that waited for longer than a session | unit: ms
--   | measured: of waiting | high: was new to the group and was kept for longer than five minutes |
--   protocols: classic | delayed by: member, toxiproxy, broker | kind: always
--
-- A member that was added is new until the first JoinGroup with its id is answered without an
-- error. It has five minutes from then, which another JoinGroup does not lengthen
-- (ClassicGroupMember.hasSatisfiedHeartbeat). One that takes the place of a static member is not
-- new. A probe's SyncGroup that is answered 27 is to join again.

-- let NEW_MEMBER_MS = 300000
--   A member that is new to its group is dropped even while its JoinGroup waits, after so long
--   (GroupMetadataManager, CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS).

WITH accepted AS (
    SELECT member_id, min(processed_at) AS at FROM {joins} GROUP BY member_id
), parked AS (
    SELECT r.*, m.session_timeout_ms AS session_ms,
           r.api = 'JOIN_GROUP' AND coalesce(a.at > r.arrived_at, true)
               AND coalesce(m.joined_at <= after(:slack_ms, r.arrived_at), false) AS is_new,
           ms_between(r.arrived_at, r.processed_at) AS ms,
           after(:NEW_MEMBER_MS, m.joined_at) AS due_at, m.removed_at,
           -- One that is refused at once was not parked: its session ended as it came.
           coalesce(m.removed_by = 'evicted'
                    AND m.removed_at BETWEEN r.arrived_at AND r.processed_at
                    AND ms_between(r.arrived_at, r.processed_at) > :slack_ms, false) AS evicted
    FROM {own_requests} r JOIN {memberships} m USING (member_id)
    LEFT JOIN accepted a ON a.member_id = r.member_id
    WHERE r.api IN ('JOIN_GROUP', 'SYNC_GROUP')
), examined AS (
    SELECT p.*, count(b.from_at) > 0 AS stopped,
           p.is_new AND p.processed_at >= after(-:guard_ms, p.due_at) AS timed
    FROM parked p LEFT JOIN {stopped_brokers} b
      ON b.broker = p.broker AND b.from_at <= p.processed_at AND b.to_at >= p.due_at
    WHERE p.evicted OR p.ms > p.session_ms
    GROUP BY ALL
), probed AS (
    SELECT c.*, m.session_ms, ms_between(c.sent_at, c.answered_at) AS ms
    FROM {calls} c JOIN {probe_members} m ON same(m, c, `group`, member_id)
    WHERE c.api IN ('JOIN_GROUP', 'SYNC_GROUP')
)
SELECT concat(member, ' (', api, ')') AS subject, arrived_at AS at, ms AS measured,
       -- A coordinator that is stopped looks at no timer.
       IF(is_new AND NOT stopped, ms_between(arrived_at, due_at) + :slack_ms, NULL)
           AS bound_high,
       IF(evicted AND NOT (is_new AND removed_at >= after(-:slack_ms, due_at)),
          'was evicted while its request waited', NULL) AS wrong,
       IF(evicted, 'was new to the group and was dropped after five minutes',
          concat('its session is ', session_ms, ' ms')) AS note,
       evidence,
       IF(timed, after(-:guard_ms, due_at), NULL) AS guard_from,
       IF(timed, guard_to(processed_at), NULL) AS guard_to
FROM examined
UNION ALL
SELECT concat(p.step, ' (', p.`group`, ')'), p.answered_at, p.ms, NULL,
       CASE WHEN count(e.at) > 0 THEN 'was evicted while its request was parked'
            WHEN p.error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS)
            THEN clause('was answered ', p.error_code) END,
       concat('answered ', p.error_code), min(e.evidence), NULL, NULL
FROM probed p LEFT JOIN {coordinator_events} e
  ON e.event = 'evicted' AND same(e, p, `group`, member_id)
 AND e.at BETWEEN p.sent_at AND p.answered_at
WHERE p.ms > p.session_ms
GROUP BY p.`group`, p.step, p.sent_at, p.answered_at, p.error_code, p.ms, p.session_ms
