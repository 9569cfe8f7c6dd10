-- What a library commits by itself.

-- let POLLS
--   Polls that brought something, each with when the next such poll began.
polls AS (
    SELECT member, polled_at,
           lead(polled_at) OVER (PARTITION BY member ORDER BY polled_at, poll) AS next_at
    FROM {deliveries} WHERE :commit = 'auto'
)
