-- Who may hold a partition, and what a member may still do once it may not.

-- let OVERLAPS
--   Overlaps are found in one pass in order of time: the latest end of what other members held
--   before is kept beside each row, so two rows are never compared with each other.
WITH held AS (
    SELECT topic, partition, member, from_at, removed_at, coalesce(to_at, :ended_at) AS to_at
    FROM {ownership}
), ends AS (
    -- The line about a removal may be stamped late.
    SELECT *, CASE WHEN :ZOMBIES THEN to_at
                   ELSE least(to_at, after(-:slack_ms, removed_at)) END AS end_at
    FROM held
), ordered AS (
    SELECT *, max(struct(end_at, member)) OVER w AS latest
    FROM ends
    WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at {BEFORE})
), overlaps AS (
    SELECT *, CASE WHEN latest.member <> member AND latest.end_at > from_at
                   THEN ms_between(from_at, least(latest.end_at, end_at))
                   ELSE 0D END AS ms
    FROM ordered
),
-- Of several overlaps that are equally long, the last.
longest AS (
    SELECT topic, partition, found.*, times
    FROM (SELECT topic, partition, count(*) AS times,
                 max(struct(ms, from_at, member, latest.member AS before)) AS found
          FROM overlaps GROUP BY topic, partition)
)
