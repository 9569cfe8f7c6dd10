-- Every running process works
-- At the end of the run, when nothing has been broken for a while, every running process is a
-- member of the group. Each one that holds a partition fetches from it and makes progress.
-- why: A process that runs and does nothing looks healthy to its supervisor.
-- source: kafka-chaos, programs under test
-- id: P7 | rows: running processes | unit: ms | measured: since the last fetch | high: holds
--   partitions and fetches nothing | clients: app | headline: work
--
-- A process that came later than a session before the end is not examined.

WITH alive AS (
    SELECT member, coalesce(session_timeout_ms, :session_ms) AS session_ms
    FROM {members}
    WHERE role = 'consumer' AND started_at <= after(-:session_ms, :stopped_at)
      AND (ended_at IS NULL OR ended_at >= :stopped_at)
      AND (told_at IS NULL OR told_at >= :stopped_at)
), belonging AS (
    SELECT a.member, max(m.removed_at) FILTER (WHERE m.removed_at < :stopped_at) AS removed_at,
           count_if(m.joined_at <= :stopped_at
                    AND coalesce(m.removed_at >= :stopped_at, true)) AS ids
    FROM alive a LEFT JOIN {memberships} m ON m.member = a.member GROUP BY a.member
), held AS (
    SELECT a.member, a.session_ms, o.topic, o.partition, o.from_at
    FROM alive a JOIN {ownership} o
      ON o.member = a.member AND o.from_at <= :stopped_at
     AND coalesce(o.to_at >= :stopped_at, true)
), holding AS (
    SELECT member, count(*) AS partitions, min(from_at) AS from_at FROM held GROUP BY member
),
-- More records than come in a second: less may be left to the next commit.
waiting AS (
    SELECT h.member, count(*) AS partitions, sum(w.records) AS records,
           max(greatest(coalesce(w.advanced_at, h.from_at), h.from_at)) AS advanced_at
    FROM held h
    JOIN (SELECT e.topic, e.partition, max(p.at) AS advanced_at,
                 max(e.end_offset) - coalesce(max(p.position), 0) AS records
          FROM {topology} e LEFT JOIN {advances} p ON same(p, e, topic, partition)
          WHERE e.what = 'end_offset' GROUP BY e.topic, e.partition) w
      ON same(w, h, topic, partition)
    WHERE w.records > :records_per_s / :partitions
      -- What it was given since then it may have had no time for.
      AND h.from_at <= after(-h.session_ms, :stopped_at)
    GROUP BY h.member
), fetching AS (
    SELECT member, max(arrived_at) AS at FROM {fetches} WHERE arrived_at <= :stopped_at
    GROUP BY member
), speaking AS (
    SELECT member, max(arrived_at) AS at FROM {own_requests} WHERE arrived_at <= :stopped_at
    GROUP BY member
)
SELECT member AS subject, :stopped_at AS at,
       ms_between(greatest(coalesce(f.at, h.from_at), h.from_at), :stopped_at) AS measured,
       session_ms AS bound_high,
       CASE WHEN b.ids = 0
            THEN clause('runs, and is no member of the group; ',
                        coalesce(concat('its coordinator last heard of it ',
                                        round(ms_between(s.at, :stopped_at) / 1e3, 1),
                                        ' s before'),
                                 'no coordinator ever heard of it'))
            WHEN ms_between(w.advanced_at, :stopped_at) > session_ms
            THEN clause('holds ', w.partitions, ' partitions in which ', w.records,
                        ' records wait, and came no further for ',
                        round(ms_between(w.advanced_at, :stopped_at) / 1e3, 1), ' s')
            END AS wrong,
       CASE WHEN b.ids = 0 AND ms_between(b.removed_at, :stopped_at) < session_ms
            THEN 'was put out of the group just before the end' END AS unknown,
       IF(h.partitions IS NULL, 'holds no partition', NULL) AS excused,
       clause('holds ', coalesce(h.partitions, 0), ' partitions') AS note
FROM alive a JOIN belonging b USING (member) LEFT JOIN holding h USING (member)
LEFT JOIN fetching f USING (member) LEFT JOIN speaking s USING (member)
LEFT JOIN waiting w USING (member)
