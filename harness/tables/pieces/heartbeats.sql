-- `heartbeats`: every heartbeat that the coordinator answered, and the gap before it.

-- let FOLLOWED
WITH disturbed AS (
    SELECT collect_list(struct(from_at AS `from`, to_at AS `to`, member AS whose))
               AS windows
    FROM {disturbances}
), beats AS (
    SELECT *, CASE api WHEN 'HEARTBEAT' THEN processed_at ELSE arrived_at END AS at
    FROM {own_requests}
    WHERE member_id IS NOT NULL
      AND (api = 'HEARTBEAT' OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation >= 0)
), followed AS (
    SELECT `group`, member, member_id, generation, broker, at, arrived_at, error_code,
           lag(at) OVER w AS before_at,
           lag(coalesce(answered_at, at)) OVER w AS before_answered_at,
           lag(broker) OVER w AS broker_before, lag(generation) OVER w AS generation_before,
           lag(error_code) OVER w AS error_before,
           owned IS NULL AND lag(owned) OVER w IS NULL
               AND lag(assigned) OVER w IS NULL AS in_turn
    FROM beats WINDOW w AS (PARTITION BY member_id ORDER BY at, arrived_at)
), parked AS (

-- let JUDGED
), grouped AS (
    SELECT f.*, p.commits,
           last_value(CASE WHEN f.before_answered_at < after(-:slack_ms, f.at)
                           THEN f.before_at END, true) OVER w AS settled_at
    FROM followed f LEFT JOIN parked p ON same(p, f, member_id, at)
    WINDOW w AS (PARTITION BY f.member_id ORDER BY f.at, f.arrived_at)
), placed AS (
    SELECT *, lag(settled_at) OVER w AS earlier_at,
           commits IS NOT NULL OR lag(commits) OVER w IS NOT NULL AS waited
    FROM grouped WINDOW w AS (PARTITION BY member_id ORDER BY at, arrived_at)
)
SELECT `group`, member, member_id, generation, broker, at,
       ms_between(before_at, at) AS gap_ms, error_code,
       before_at IS NOT NULL AND error_code = 0 AND error_before = 0
           AND broker = broker_before AND generation = generation_before
           AND NOT exists(windows, w -> w.`from` <= at
                                      AND w.`to` >= coalesce(earlier_at, before_at)
                                      AND coalesce(w.whose = member, true))
           AND in_turn AND NOT waited AS steady
FROM placed CROSS JOIN disturbed
