-- A static member back within its session causes no rebalance
-- A process that joins a stable group with the instance id and the assignors of a member whose
-- session still runs takes that member's place: no rebalance starts, and generation and partitions
-- stay the same. In KIP-848 it takes the place of a member that left temporarily (epoch -2), and
-- group epoch and partitions stay the same.
-- why: A restart within the session timeout does not stop the other members.
-- source: KIP-345; group.instance.id; GroupMetadataManager (a static member of a stable group);
--   KIP-848, Static membership
-- id: X02 | was: X02-epoch | was not: R20a-return | rows: processes that took a static member's
--   place | unit: ms | measured: from joining to having the partitions
--
-- Replacements in a stable group. Until the leader has assigned, a rebalance runs: it may assign to
-- the process that is gone. A process with other assignors than its former self may change the one
-- that is chosen, and is not examined.
--
-- In KIP-848 it is the first to join under the instance id of a member that had left for now. From
-- that leaving until the new process has its partitions no group epoch may be bumped because of the
-- two. A process that asks an unready coordinator asks again.

WITH {REPLACEMENTS}, {LEFT_FOR_NOW},
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
    WHERE :protocol <> 'consumer' AND NOT r.rebalancing
      AND coalesce(r.new.assignors = o.assignors, true)
    GROUP BY ALL
), started AS (
    SELECT g.*, count(e.at) AS starts
    FROM got g LEFT JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= g.at
     AND e.at <= g.got.answered_at
    GROUP BY ALL
), steps AS (
    SELECT at, named, lag(reason) OVER (PARTITION BY 1 ORDER BY at) <> reason AS by_topics
    FROM {epoch_bumps}
), parts_given AS (
    SELECT member_id, processed_at AS at, answered_at,
           array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
    FROM {consumer_heartbeats} WHERE error_code = :NONE AND assigned IS NOT NULL
), asked AS (
    SELECT o.*, max(struct(g.at, g.parts)).parts AS had,
           min(struct(b.arrived_at AS at, b.member_id, b.member, b.error_code,
                      b.processed_at, b.evidence)) AS new
    FROM gone o LEFT JOIN parts_given g ON g.member_id = o.member_id AND g.at <= o.at
    JOIN {consumer_heartbeats} b
      ON b.instance_id = o.instance_id AND b.member_id <> o.member_id
     AND b.generation = 0 AND b.arrived_at > o.at AND b.error_code NOT IN ({NOT_READY})
     AND (o.removed_at IS NULL OR b.arrived_at < {SEEN_AS_GONE})
    WHERE :protocol = 'consumer'
    GROUP BY ALL
), back AS (
    SELECT a.*, min(struct(g.at, g.answered_at, g.parts)) AS got
    FROM asked a LEFT JOIN parts_given g ON g.member_id = a.new.member_id AND g.at >= a.new.at
    GROUP BY ALL
), bumped AS (
    SELECT g.*, count(e.at) AS changes,
           count_if(e.at IS NOT NULL
                    AND coalesce(e.named IN (g.member_id, g.new.member_id),
                                 NOT coalesce(e.by_topics, false))) AS bumps
    FROM back g LEFT JOIN steps e
      ON e.at >= g.at AND e.at <= g.got.answered_at
    GROUP BY ALL
), compared AS (
    SELECT *, coalesce(removed_by = 'replaced', false) AS replaced,
           IF(got.parts <> had, concat('was given ', array_join(got.parts, ' '), ', not ',
                                       array_join(had, ' ')), NULL) AS changed
    FROM bumped
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
UNION ALL
SELECT concat(instance_id, ' (', new.member, ')'), new.at,
       ms_between(new.at, got.answered_at),
       CASE WHEN NOT replaced AND removed_at <= new.processed_at
            THEN 'the session ended while it joined'
            WHEN new.error_code <> :NONE OR NOT replaced THEN NULL
            WHEN had IS NULL THEN 'what it had before is not on record'
            WHEN changed IS NOT NULL AND changes > bumps
            THEN clause(changed, ', but other members came or went') END,
       CASE WHEN new.error_code <> :NONE
            THEN clause('was refused with error ', new.error_code)
            WHEN NOT replaced THEN 'did not take the place of the other'
            WHEN got.parts IS NULL THEN 'was never given partitions'
            WHEN bumps > 0 THEN 'was followed by a new group epoch'
            ELSE changed END,
       concat('given ', array_join(got.parts, ' ')), new.evidence
FROM compared
