-- The first member of an empty group becomes its leader
-- The leader of a group that was empty is the member that was added to it first.
-- why: The first process to start computes the assignment for all, with its own assignor.
-- source: document 001, choice of the leader; ClassicGroup.add
-- id: R12-first | rows: generations of a new group | unit: place | measured: of the leader in the
--   order of arrival | high: is led by a member that came later | protocols: classic | kind:
--   broker, in passing
--
-- Generations of a group without members before, unless the first of them went before its end. A
-- leader whose generation ended before it could assign anything is known by the answers to the
-- JoinGroups.

WITH formed AS (
    SELECT * EXCEPT (leader), coalesce(leader, array_min(leaders)) AS leader,
           lag(joined_at) OVER (ORDER BY number) AS empty_at
    FROM {generations}
), added AS (
    SELECT f.number, f.generation, f.joined_at, f.leader, f.evidence, e.member_id,
           rank() OVER (PARTITION BY f.number ORDER BY e.at) AS place
    FROM formed f JOIN {coordinator_events} e
      ON e.`group` = :group AND e.broker = f.broker AND e.event = 'member_added'
     AND e.at <= f.joined_at AND (f.empty_at IS NULL OR e.at > f.empty_at)
    WHERE f.event = 'stabilized' AND f.leader IS NOT NULL
      AND (f.generation = 1 OR f.members_before = 0)
)
SELECT concat('generation ', a.generation) AS subject, min(a.joined_at) AS at,
       min(a.place) FILTER (WHERE a.member_id = a.leader) AS measured, 1 AS bound_high,
       IF(count_if(a.member_id = a.leader) = 0,
          concat('is led by ', min(a.leader), ', which was not added to it'), NULL) AS wrong,
       concat('led by ', min(a.leader)) AS note, min(a.evidence) AS evidence
FROM added a LEFT ANTI JOIN (
    SELECT f.number FROM added f JOIN {memberships} m
      ON m.member_id = f.member_id AND m.removed_at <= f.joined_at AND f.place = 1
) g ON g.number = a.number
GROUP BY a.number, a.generation
