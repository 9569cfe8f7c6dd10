-- One row per log of a broker that the run has, or should have; none in runs before schema 4.
--
-- Law: a broker that answers the observer has a question of it in its request log every 5 s at
-- least, not counting the half seconds in which the observer waited for an answer in vain, nor the
-- time of a fault that stops this broker, nor a second and more in which the observer asked no
-- broker, while the logs together have a line of anybody every 5 s.

-- let PAUSED_MS = 1000
--   How long the observer may ask no broker. It asks each in every look: with three of them, five
--   seconds without a question to one hold a second at least without a question to any.
-- let ASKED_MS = 500
--   How long the observer waits for an answer.

WITH looks AS (
    SELECT broker, alive, at AS from_at,
           least(coalesce(lead(at) OVER (PARTITION BY broker ORDER BY at), :drained_at),
                 :drained_at) AS to_at
    FROM {topology} WHERE what = 'broker'
), marks AS (
    SELECT broker, answered_at AS at FROM {requests}
    WHERE client_id = 'observer' AND api = 'FIND_COORDINATOR'
    UNION ALL SELECT broker, from_at FROM looks WHERE alive
    UNION ALL SELECT broker, to_at FROM looks WHERE alive
), gaps AS (
    SELECT broker, at AS to_at, lag(at) OVER (PARTITION BY broker ORDER BY at) AS from_at
    FROM marks
), pauses AS (
    SELECT * FROM (SELECT at AS to_at, lag(at) OVER (ORDER BY at) AS from_at FROM marks)
    WHERE ms_between(from_at, to_at) > :PAUSED_MS
), steps AS (
    SELECT l.at AS to_at, lag(l.at) OVER (PARTITION BY p.from_at ORDER BY l.at) AS from_at
    FROM pauses p
    JOIN (SELECT answered_at AS at FROM {requests} UNION ALL SELECT at FROM marks) l
      ON l.at BETWEEN p.from_at AND p.to_at
), excuses AS (
    SELECT f.resolved AS whose, f.injecting_at AS from_at,
           coalesce(f.healed_at, :ended_at) AS to_at
    FROM {fault_windows} f WHERE f.breaks = 'broker'
    UNION ALL
    -- It asks one after the other, so while it waits for one, it asks no other.
    SELECT NULL, greatest(after(-:ASKED_MS, at),
                          coalesce(lag(at) OVER (ORDER BY at), after(-:ASKED_MS, at))), at
    FROM {topology}
    WHERE what = 'unreachable'
      AND (detail LIKE '%timed out' OR detail LIKE '%came in time')
    UNION ALL
    -- Beside a busy machine it may ask none for seconds; a cut through all logs differs.
    SELECT NULL, from_at, to_at FROM steps WHERE ms_between(from_at, to_at) <= :QUIET_MS
), overlaps AS (
    -- What two excuses have in common counts once.
    SELECT g.broker, g.from_at, g.to_at, e.to_at AS until_at,
           greatest(g.from_at, e.from_at, max(e.to_at) OVER (
               PARTITION BY g.broker, g.from_at, g.to_at ORDER BY e.from_at, e.to_at
               {BEFORE})) AS since_at
    FROM gaps g JOIN looks s
      ON s.broker = g.broker AND s.alive AND g.from_at >= s.from_at AND g.to_at <= s.to_at
    LEFT JOIN excuses e
      ON e.from_at < g.to_at AND e.to_at > g.from_at
     AND coalesce(e.whose = concat('broker-', g.broker), true)
    WHERE ms_between(g.from_at, g.to_at) > :QUIET_MS
), silences AS (
    SELECT broker, ms_between(from_at, to_at) - sum(IF(until_at IS NULL, 0, greatest(
               0, ms_between(since_at, least(to_at, until_at))))) AS quiet_ms
    FROM overlaps GROUP BY broker, from_at, to_at
), quiet AS (
    SELECT broker, max(quiet_ms) AS longest_ms FROM silences
    WHERE quiet_ms > :QUIET_MS GROUP BY broker
), strange AS (
    SELECT broker, sum(times) AS times, count(*) AS kinds,
           max_by(reason, struct(times, reason)) AS most
    FROM (SELECT broker, reason, count(*) AS times FROM {coordinator_events}
          WHERE event = 'unknown' GROUP BY broker, reason)
    GROUP BY broker
)
SELECT concat(IF(log = 'requests', 'request', 'server'), ' log of broker-', l.broker)
           AS subject,
       last_at AS at, coalesce(lines, 0) AS measured,
       CASE WHEN lines IS NULL THEN 'is missing'
            WHEN lines = 0 THEN 'is empty'
            WHEN unread > 0
            THEN clause('has ', unread, ' lines that cannot be read, the first at ',
                        example)
            {ANOTHER}
            WHEN log = 'requests' AND q.longest_ms > 0
            THEN clause('has no question of the observer for ',
                        round(q.longest_ms / 1e3, 1), ' s in which its broker answered')
            END AS unknown,
       IF(log = 'server' AND s.times > 0,
          clause('has ', s.times, ' lines of ', s.kinds, ' kinds whose texts are not ',
                 'known, most of them ', s.most), NULL) AS note,
       IF(log = 'requests', 'requests fetches', 'coordinator_events') AS files
FROM {logs} l LEFT JOIN quiet q ON q.broker = l.broker
LEFT JOIN strange s ON s.broker = l.broker
