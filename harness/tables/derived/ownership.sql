-- One row per partition held, by the member's own callbacks, as its application saw them.
--
-- What a member holds ends with revoked or lost, or with the process. `removed_at` is set where the
-- coordinator had removed the holder before that: from then on it is a zombie that does not know it
-- yet. That may be before its assignment: a stalled application hears of one that it had, when it
-- polls again.

WITH framed AS (
    SELECT *, lead(at) OVER w AS next_at, lead(event) OVER w AS next_event
    FROM {callbacks}
    WINDOW w AS (PARTITION BY member, topic, partition
                 ORDER BY at, CASE event WHEN 'assigned' THEN 1 ELSE 0 END)
), closed AS (
    SELECT member, max(coalesce(observed_at, event_at)) AS closed_at
    FROM {client_events} WHERE event = 'closed' GROUP BY member
), held AS (
    SELECT f.topic, f.partition, f.member, f.member_id, f.generation, f.at AS from_at,
           coalesce(f.next_at, c.closed_at, p.ended_at) AS to_at,
           coalesce(f.next_event, CASE WHEN c.closed_at IS NOT NULL THEN 'closed' END,
                    p.ended_by) AS ended_by
    FROM framed f LEFT JOIN closed c USING (member)
    LEFT JOIN {process_ends} p ON p.member = f.member
    WHERE f.event = 'assigned'
)
SELECT h.topic, h.partition, h.member, h.member_id, h.generation, h.from_at, h.to_at,
       h.ended_by, min(s.removed_at) AS removed_at
FROM held h LEFT JOIN {removals} s
  ON s.member_id = h.member_id
 AND (s.removed_at >= h.from_at AND coalesce(s.since_at < h.from_at, true)
      OR s.removed_at < h.from_at AND coalesce(s.back_at > h.from_at, true))
 AND (h.to_at IS NULL OR s.removed_at <= h.to_at)
GROUP BY ALL
ORDER BY topic, partition, from_at
