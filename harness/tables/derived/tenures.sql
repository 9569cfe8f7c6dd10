-- One row per stretch of time that one broker coordinated the group.
--
-- A stretch starts when the broker loaded the group (the first: with the group). `to_at` is the
-- last sign that it was at work: an answer other than "not me" (14, 15, 16), or a line of its log.

WITH starts AS (
    SELECT broker, at, event = 'loaded' AS loaded, members
    FROM {coordinator_events} WHERE `group` = :group AND event = 'loaded'
    UNION ALL
    SELECT min_by(broker, struct(at, event <> 'loaded', broker)), min(at), false, NULL
    FROM {coordinator_events} WHERE `group` = :group
    HAVING min_by(event, struct(at, event <> 'loaded')) <> 'loaded'
), numbered AS (
    SELECT *, row_number() OVER w AS tenure, lead(at) OVER w AS next_at
    FROM starts WINDOW w AS (PARTITION BY 1 ORDER BY at, broker)
), worked AS (
    SELECT broker, at FROM {coordinator_events} WHERE `group` = :group
    UNION ALL
    SELECT broker, processed_at FROM {own_requests}
    WHERE error_code NOT IN (14, 15, 16)
      AND api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP',
                  'CONSUMER_GROUP_HEARTBEAT')
), bounded AS (
    SELECT n.tenure, n.broker, n.at AS from_at, n.loaded, n.members, n.next_at,
           greatest(n.at, max(w.at)) AS to_at
    FROM numbered n LEFT JOIN worked w
      ON w.broker = n.broker AND w.at >= n.at AND (n.next_at IS NULL OR w.at < n.next_at)
    GROUP BY ALL
)
SELECT *, lag(broker) OVER w AS broker_before, lag(to_at) OVER w AS to_at_before
FROM bounded WINDOW w AS (PARTITION BY 1 ORDER BY tenure)
