-- Records that a member fetched, one row per fetch that brought some.
--
-- `last_offset` is known from the member's next fetch of the partition. Where there is none, or it
-- goes back, the member got at most what there was: `exact` is false.

WITH followed AS (
    SELECT *, lead(fetch_offset) OVER (
        PARTITION BY member, topic, partition ORDER BY arrived_at, answered_at)
        AS next_offset
    FROM {asked}
)
SELECT member, topic, partition, fetch_offset AS first_offset,
       IF(next_offset > fetch_offset, least(next_offset, end_offset), end_offset) - 1
           AS last_offset,
       coalesce(next_offset > fetch_offset, false) AS exact, arrived_at, answered_at,
       evidence
FROM followed
WHERE bytes > 0 AND fetch_offset < end_offset
  AND (next_offset IS NULL OR next_offset <> fetch_offset)
