-- The gap that each row of `stops` is about: `usual_ms` is the longest one of quiet times.
--
-- A gap that spans several episodes belongs to the last that had begun when the new owner got the
-- partition. Of an episode's gaps of a partition the longest counts in which it was given to a
-- member; else the longest, unless a fault that touches it explains it better: such a one is a stop
-- without a rebalance, where it is longer than usual. So is a gap that no episode touches: a static
-- member that came back. Of several faults the one of the old owner itself counts, or else the
-- last.

WITH quiet AS (
    SELECT max(g.ms) AS usual_ms
    FROM {gaps} g LEFT ANTI JOIN {disturbed_gaps} d ON same(d, g, topic, partition, from_at)
), seen AS (
    SELECT *, max(CASE WHEN episode IS NOT NULL AND began_at <= coalesce(assigned_at, to_at)
                       THEN began_at END) OVER w AS last_began_at,
           count(fault) OVER w > 0 AS faulty, count(episode) OVER w = 0 AS alone
    FROM {disturbed_gaps} WINDOW w AS (PARTITION BY topic, partition, from_at)
), sorted AS (
    SELECT s.*, q.usual_ms,
           s.faulty AND (s.assigned_at IS NULL OR s.alone)
               AND s.ms > coalesce(q.usual_ms, 0) + :slack_ms AS by_fault
    FROM seen s CROSS JOIN quiet q
), candidates AS (
    SELECT *, CASE WHEN by_fault THEN concat(from_at) ELSE concat(episode) END AS about
    FROM sorted
    WHERE CASE WHEN by_fault THEN fault IS NOT NULL
               ELSE episode IS NOT NULL AND began_at = last_began_at END
), ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY by_fault, about, topic, partition
        ORDER BY assigned_at IS NOT NULL DESC, ms DESC,
                 coalesce(whose = old_member, false) DESC, began_at DESC) AS place
    FROM candidates
)
SELECT episode, fault, began_at, topic, partition, from_at, to_at, ms, old_member,
       old_member_id, new_member, new_member_id, assigned_at, usual_ms
FROM ranked WHERE place = 1
