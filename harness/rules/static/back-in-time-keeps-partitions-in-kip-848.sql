-- A static member on temporary leave keeps its partitions
-- In KIP-848 a process that joins with the instance id of a member that left temporarily (epoch -2)
-- takes that member's place: group epoch and partitions stay the same.
-- why: A restart within the session timeout moves no partition to another member.
-- source: KIP-848, Static membership; group.instance.id
-- id: X02-epoch | rows: processes that took a static member's place | unit: ms | measured: from
--   joining to having the partitions | protocols: consumer
--
-- The first to join under the instance id of a member that had left for now. From that leaving
-- until the new process has its partitions no group epoch may be bumped because of the two. A
-- process that asks an unready coordinator asks again.

WITH {LEFT_FOR_NOW},
steps AS (
    SELECT at, named, lag(reason) OVER (PARTITION BY 1 ORDER BY at) <> reason AS by_topics
    FROM {epoch_bumps}
), given AS (
    SELECT member_id, processed_at AS at, answered_at,
           array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
    FROM {consumer_heartbeats} WHERE error_code = :NONE AND assigned IS NOT NULL
), asked AS (
    SELECT o.*, max(struct(g.at, g.parts)).parts AS had,
           min(struct(b.arrived_at AS at, b.member_id, b.member, b.error_code,
                      b.processed_at, b.evidence)) AS new
    FROM gone o LEFT JOIN given g ON g.member_id = o.member_id AND g.at <= o.at
    JOIN {consumer_heartbeats} b
      ON b.instance_id = o.instance_id AND b.member_id <> o.member_id
     AND b.generation = 0 AND b.arrived_at > o.at AND b.error_code NOT IN ({NOT_READY})
     AND (o.removed_at IS NULL OR b.arrived_at < {SEEN_AS_GONE})
    GROUP BY ALL
), got AS (
    SELECT a.*, min(struct(g.at, g.answered_at, g.parts)) AS got
    FROM asked a LEFT JOIN given g ON g.member_id = a.new.member_id AND g.at >= a.new.at
    GROUP BY ALL
), bumped AS (
    SELECT g.*, count(e.at) AS changes,
           count_if(e.at IS NOT NULL
                    AND coalesce(e.named IN (g.member_id, g.new.member_id),
                                 NOT coalesce(e.by_topics, false))) AS bumps
    FROM got g LEFT JOIN steps e
      ON e.at >= g.at AND e.at <= g.got.answered_at
    GROUP BY ALL
), compared AS (
    SELECT *, coalesce(removed_by = 'replaced', false) AS replaced,
           IF(got.parts <> had, concat('was given ', array_join(got.parts, ' '), ', not ',
                                       array_join(had, ' ')), NULL) AS changed
    FROM bumped
)
SELECT concat(instance_id, ' (', new.member, ')') AS subject, new.at,
       ms_between(new.at, got.answered_at) AS measured,
       CASE WHEN NOT replaced AND removed_at <= new.processed_at
            THEN 'the session ended while it joined'
            WHEN new.error_code <> :NONE OR NOT replaced THEN NULL
            WHEN had IS NULL THEN 'what it had before is not on record'
            WHEN changed IS NOT NULL AND changes > bumps
            THEN clause(changed, ', but other members came or went') END AS unknown,
       CASE WHEN new.error_code <> :NONE
            THEN clause('was refused with error ', new.error_code)
            WHEN NOT replaced THEN 'did not take the place of the other'
            WHEN got.parts IS NULL THEN 'was never given partitions'
            WHEN bumps > 0 THEN 'was followed by a new group epoch'
            ELSE changed END AS wrong,
       concat('given ', array_join(got.parts, ' ')) AS note, new.evidence
FROM compared
