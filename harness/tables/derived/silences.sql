-- One row per time that a member id was not heard of while one coordinator worked.
--
-- From the moment its session timer was armed to the next sign of life (`ended_by` "sign"), to its
-- removal ("evicted", "left", "fenced", "stragglers_removed", "replaced"), or to the last sign that
-- the coordinator was at work ("end"). One that outlasted its session while the coordinator was
-- stopped is none: its timers rested as well. Nor is one of which no more than a session was before
-- or after a join phase that the member got through, for a JoinGroup may have waited then. It
-- counts from the latest moment at which its timer can have been armed, so that it was surely as
-- long; one that ended in an eviction from the earliest, so that it was surely no longer.
--
-- Law: a silence is held against a member for no longer than the record shows that it was.

WITH armed AS (
    SELECT s.member_id, s.broker, s.heard_at, s.armed_at, s.armed_from_at,
           s.armed_by_at, t.tenure, t.to_at
    FROM {signs_of_life} s JOIN {tenures} t
      ON t.broker = s.broker AND (t.tenure = 1 OR s.armed_at >= t.from_at)
     AND (t.next_at IS NULL OR s.armed_at < t.next_at)
    UNION ALL
    -- A coordinator that loads the group gives every member a full session.
    SELECT m.member_id, t.broker, t.from_at, t.from_at, t.from_at, t.from_at, t.tenure,
           t.to_at
    FROM {tenures} t JOIN {memberships} m
      ON m.joined_at < t.from_at AND (m.removed_at IS NULL OR m.removed_at >= t.from_at)
    WHERE t.loaded
), followed AS (
    SELECT a.*, m.member, m.session_timeout_ms, m.removed_at, m.removed_by,
           lead(a.heard_at) OVER (PARTITION BY a.member_id, m.since_at, a.tenure
                                  ORDER BY a.armed_at, a.heard_at) AS next_heard_at
    FROM armed a JOIN {memberships} m
      ON m.member_id = a.member_id AND (m.since_at IS NULL OR a.armed_at > m.since_at)
     AND (m.until_at IS NULL OR a.armed_at <= m.until_at)
), ended AS (
    SELECT *,
           CASE WHEN next_heard_at IS NOT NULL THEN next_heard_at
                WHEN removed_at <= greatest(to_at, armed_at) THEN removed_at
                ELSE to_at END AS to,
           CASE WHEN next_heard_at IS NOT NULL THEN 'sign'
                WHEN removed_at <= greatest(to_at, armed_at) THEN removed_by
                ELSE 'end' END AS ended_by
    FROM followed
), timed AS (
    SELECT *, IF(ended_by = 'evicted', armed_from_at, armed_by_at) AS from_at FROM ended
)
SELECT member_id, member, t.broker, t.from_at, to AS to_at, ended_by, session_timeout_ms,
       greatest(0, ms_between(t.from_at, to)) AS ms
FROM timed t LEFT ANTI JOIN {stopped_brokers} b
  ON b.broker = t.broker AND b.from_at <= t.to AND b.to_at >= t.from_at
 AND t.ended_by IN ('sign', 'end')
 AND t.to > after(t.session_timeout_ms, t.from_at)
LEFT ANTI JOIN {join_waits} w
  ON same(w, t, member_id, broker) AND w.from_at < t.to AND w.to_at > t.from_at
 AND w.from_at <= after(t.session_timeout_ms + :slack_ms, t.from_at)
 AND w.to_at >= after(-t.session_timeout_ms - :slack_ms, t.to)
 AND t.ended_by IN ('sign', 'end')
 AND t.to > after(t.session_timeout_ms, t.from_at)
