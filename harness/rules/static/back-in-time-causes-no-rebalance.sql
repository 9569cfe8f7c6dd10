-- A static member back within its session causes no rebalance
-- A process that joins a stable group with the instance id and the assignors of a member whose
-- session still runs takes that member's place: no rebalance starts, and generation and partitions
-- stay the same.
-- why: A restart within the session timeout does not stop the other members.
-- source: KIP-345; group.instance.id; GroupMetadataManager (a static member of a stable group)
-- id: X02 | was not: R20a-return | rows: processes that took a static member's place | unit: ms |
--   measured: from joining to having the partitions | protocols: classic
--
-- Replacements in a stable group. Until the leader has assigned, a rebalance runs: it may assign to
-- the process that is gone. A process with other assignors than its former self may change the one
-- that is chosen, and is not examined.

WITH {REPLACEMENTS},
offered AS (
    SELECT member_id, max_by(assignors, struct(arrived_at, evidence)) AS assignors
    FROM {joins} GROUP BY member_id
), given AS (
    SELECT member_id, generation, processed_at AS at, answered_at,
           array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
    FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
), stable AS (
    SELECT r.at, r.member_id FROM replacements r JOIN {coordinator_events} e
      ON e.`group` = :group AND e.at < r.at
     AND e.event IN ('stabilized', 'assignment_received', 'loaded')
    GROUP BY r.at, r.member_id
    HAVING max_by(e.event, struct(e.at, e.event <> 'stabilized')) <> 'stabilized'
), got AS (
    SELECT r.*, max(struct(h.at, h.generation, h.parts)) AS had,
           min(struct(g.at, g.answered_at, g.parts)) AS got
    FROM replacements r JOIN stable s ON same(s, r, at, member_id)
    LEFT JOIN given h ON h.member_id = r.member_id AND h.at <= r.at
    LEFT JOIN given g ON g.member_id = r.new.member_id AND g.at >= r.new.arrived_at
    LEFT JOIN offered o ON o.member_id = r.member_id
    WHERE NOT r.rebalancing AND coalesce(r.new.assignors = o.assignors, true)
    GROUP BY ALL
), started AS (
    SELECT g.*, count(e.at) AS starts
    FROM got g LEFT JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= g.at
     AND e.at <= g.got.answered_at
    GROUP BY ALL
)
SELECT concat(instance_id, ' (', coalesce(new.member, 'unknown'), ')') AS subject, at,
       ms_between(new.arrived_at, got.answered_at) AS measured,
       CASE WHEN had.parts IS NULL THEN 'what it had before is not on record'
            WHEN new.member_id IS NULL
            THEN 'no join in its place is on record' END AS unknown,
       CASE WHEN starts > 0 THEN 'was followed by a rebalance before it had its partitions'
            WHEN new.generation <> had.generation
            THEN clause('came back in generation ', new.generation, ', not ',
                        had.generation)
            WHEN got.parts IS NULL THEN 'was never given partitions'
            WHEN got.parts <> had.parts
            THEN clause('was given ', array_join(got.parts, ' '), ', not ',
                        array_join(had.parts, ' ')) END AS wrong,
       concat('given ', array_join(got.parts, ' ')) AS note, evidence
FROM started
