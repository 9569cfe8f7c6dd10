-- Times in which this machine kept no time for longer than the slack, one row each.
--
-- `what` is "late" where it stood still, "set" where its time of day was set to another, or it
-- slept, and "unseen" where ticks are missing. `late_ms` is how long it stood still, how far the
-- time of day was set, or how long it was not watched; from `from_at` to `to_at`.
--
-- A row of `host` ends with its tick. In older runs that may be any of its ten, and these took 100
-- ms and as long as each of them was late: it reaches back to the row before. The time of day is
-- compared with the other clock (`clock_us`), which older runs do not have.

WITH ticks AS (
    SELECT at, late_ms, lag(at) OVER w AS before_at,
           (clock_us - lag(clock_us) OVER w) / 1e3 AS passed_ms
    FROM {host} WINDOW w AS (PARTITION BY 1 ORDER BY clock_us, at)
), measured AS (
    SELECT *, ms_between(before_at, at) - passed_ms AS set_ms,
           passed_ms - 100 - 10 * late_ms AS unseen_ms
    FROM ticks
)
SELECT 'late' AS what,
       least(after(-(100 + late_ms), at), before_at) AS from_at, at AS to_at, late_ms
FROM ticks WHERE late_ms > :slack_ms
UNION ALL
SELECT 'set', least(before_at, at), greatest(before_at, at), abs(set_ms)
FROM measured WHERE abs(set_ms) > :slack_ms
UNION ALL
SELECT 'unseen', least(before_at, at), greatest(before_at, at), unseen_ms
FROM measured WHERE unseen_ms > :slack_ms
