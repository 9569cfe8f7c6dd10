-- Every running process works
-- At the end of the run, when nothing has been broken for a while, every running process is a
-- member of the group. Each one that holds a partition fetches from it and makes progress.
-- why: A process that runs and does nothing looks healthy to its supervisor.
-- source: kafka-chaos, programs under test
-- id: P7 | rows: running processes | unit: ms | measured: since the last fetch | high: holds
--   partitions and fetches nothing | clients: app | headline: work
--
-- Processes that run when the members are told to end; a session timeout is time enough.
--
-- One that came later than a session before that may still be on its way into the group.

WITH alive AS (
    SELECT member, started_at, coalesce(session_timeout_ms, :session_ms) AS session_ms
    FROM {members}
    WHERE role = 'consumer' AND started_at <= after(-:session_ms, :stopped_at)
      AND (ended_at IS NULL OR ended_at >= :stopped_at)
      AND (told_at IS NULL OR told_at >= :stopped_at)
), belonging AS (
    SELECT a.member, count(m.member_id) AS ids
    FROM alive a LEFT JOIN {memberships} m
      ON m.member = a.member AND m.joined_at <= :stopped_at
     AND (m.removed_at IS NULL OR m.removed_at >= :stopped_at)
    GROUP BY a.member
), removed AS (
    SELECT a.member, max(m.removed_at) AS at
    FROM alive a JOIN {memberships} m ON m.member = a.member
    WHERE m.removed_at < :stopped_at GROUP BY a.member
),
-- More records than come in a second: less may be left to the next commit.
waiting AS (
    SELECT a.member, count(*) AS partitions, sum(w.records) AS records,
           max(greatest(coalesce(w.advanced_at, o.from_at), o.from_at)) AS advanced_at
    FROM alive a JOIN {ownership} o
      ON o.member = a.member AND o.from_at <= :stopped_at
     AND (o.to_at IS NULL OR o.to_at >= :stopped_at)
    JOIN (SELECT e.topic, e.partition, max(p.at) AS advanced_at,
                 max(e.end_offset) - coalesce(max(p.position), 0) AS records
          FROM {topology} e LEFT JOIN {advances} p ON same(p, e, topic, partition)
          WHERE e.what = 'end_offset' GROUP BY e.topic, e.partition) w
      ON same(w, o, topic, partition)
    WHERE w.records > :records_per_s / :partitions
      -- What it was given since then it may have had no time for.
      AND o.from_at <= after(-a.session_ms, :stopped_at)
    GROUP BY a.member
), holding AS (
    SELECT a.member, count(o.partition) AS partitions, min(o.from_at) AS from_at
    FROM alive a LEFT JOIN {ownership} o
      ON o.member = a.member AND o.from_at <= :stopped_at
     AND (o.to_at IS NULL OR o.to_at >= :stopped_at)
    GROUP BY a.member
), fetching AS (
    SELECT a.member, max(f.arrived_at) AS at
    FROM alive a LEFT JOIN {fetches} f
      ON f.member = a.member AND f.arrived_at <= :stopped_at
    GROUP BY a.member
), speaking AS (
    SELECT a.member, max(r.arrived_at) AS at
    FROM alive a LEFT JOIN {own_requests} r
      ON r.member = a.member AND r.arrived_at <= :stopped_at
    GROUP BY a.member
)
SELECT a.member AS subject, :stopped_at AS at,
       ms_between(greatest(coalesce(f.at, h.from_at), h.from_at), :stopped_at) AS measured,
       a.session_ms AS bound_high,
       CASE WHEN b.ids = 0
            THEN clause('runs, and is no member of the group; ',
                        coalesce(concat('its coordinator last heard of it ',
                                        round(ms_between(s.at, :stopped_at) / 1e3, 1),
                                        ' s before'),
                                 'no coordinator ever heard of it'))
            WHEN ms_between(w.advanced_at, :stopped_at) > a.session_ms
            THEN clause('holds ', w.partitions, ' partitions in which ', w.records,
                        ' records wait, and came no further for ',
                        round(ms_between(w.advanced_at, :stopped_at) / 1e3, 1), ' s')
            END AS wrong,
       CASE WHEN b.ids = 0 AND ms_between(x.at, :stopped_at) < a.session_ms
            THEN 'was put out of the group just before the end' END AS unknown,
       IF(h.partitions = 0, 'holds no partition', NULL) AS excused,
       clause('holds ', h.partitions, ' partitions') AS note
FROM alive a JOIN belonging b USING (member) JOIN holding h USING (member)
JOIN fetching f USING (member) JOIN speaking s USING (member)
LEFT JOIN waiting w ON w.member = a.member
LEFT JOIN removed x ON x.member = a.member
