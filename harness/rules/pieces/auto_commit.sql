-- What a library commits by itself: how often, how much of it, and what a crash repeats.

-- let POLLS
--   Polls that brought something, each with when the next such poll began.
polls AS (
    SELECT member, polled_at,
           lead(polled_at) OVER (PARTITION BY member ORDER BY polled_at, poll) AS next_at
    FROM {deliveries} WHERE :commit = 'auto'
)

-- let GAPS
--   Gaps between commits, and what was polled (of POLLS, which comes first), both by the minute: a
--   day has too many of either to look at each poll for each gap.
asked AS (
    SELECT member, member_id, arrived_at AS at, evidence, error_code,
           lag(struct(arrived_at, answered_at, error_code)) OVER (
               PARTITION BY member_id ORDER BY arrived_at, evidence) AS former
    FROM {own_requests} WHERE api = 'OFFSET_COMMIT' AND generation >= 0
), commit_gaps AS (
    SELECT *, former.arrived_at AS before,
           explode(sequence(unix_millis(former.arrived_at) DIV :MINUTE_MS,
                            unix_millis(at) DIV :MINUTE_MS)) AS minute
    FROM asked WHERE former.arrived_at IS NOT NULL
), polled AS (
    SELECT p.*, explode(sequence(unix_millis(p.polled_at) DIV :MINUTE_MS,
                                 unix_millis(coalesce(p.next_at, greatest(p.polled_at, a.at)))
                                     DIV :MINUTE_MS)) AS minute
    FROM polls p
    JOIN (SELECT member, max(at) AS at FROM asked GROUP BY member) a USING (member)
)

-- let IDLE_POLL_MS = 200
--   How long a member waits in a poll that brings nothing (consumers/consumer.py).
