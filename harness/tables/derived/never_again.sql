-- One row per partition whose last records no member read before the run asked all to end.
--
-- `position` is the first of these, and `from_at` when the last one before it was worked off and
-- it, or one after it, was sent; both are null where none ever was. `ms` is the time from then to
-- the end.

WITH ends AS (
    SELECT topic, partition, max(end_offset) AS end_offset
    FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
), read AS (
    SELECT topic, partition, max(last_offset) + 1 AS position,
           max(coalesce(processed_at, polled_at)) AS read_at,
           max_by(member, struct(polled_at, poll)) AS member
    FROM {reads} GROUP BY topic, partition
), waiting AS (
    SELECT r.topic, r.partition, r.position, r.member,
           IF(min(s.first_sent_at) > after(:PAUSE_MS, r.read_at), min(s.first_sent_at),
              r.read_at) AS from_at
    FROM read r LEFT JOIN {sends} s ON same(s, r, topic, partition)
     AND s.outcome = 'acknowledged' AND s.last_offset >= r.position
    GROUP BY r.topic, r.partition, r.position, r.member, r.read_at
)
SELECT e.topic, e.partition, e.end_offset, r.position, r.member, r.from_at,
       ms_between(r.from_at, :stopped_at) AS ms
FROM ends e LEFT JOIN waiting r ON same(r, e, topic, partition)
WHERE e.end_offset > coalesce(r.position, 0)
  AND (r.from_at IS NULL OR r.from_at < :stopped_at)
