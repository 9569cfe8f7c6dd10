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
), stable AS (
    SELECT r.at, r.member_id FROM replacements r JOIN {coordinator_events} e
      ON e.`group` = :group AND e.at < r.at
     AND e.event IN ('stabilized', 'assignment_received', 'loaded')
    GROUP BY r.at, r.member_id
    HAVING max_by(e.event, struct(e.at, e.event <> 'stabilized')) <> 'stabilized'
), rejoined AS (
    SELECT o.*, min(struct(b.arrived_at, b.member_id, b.member, b.error_code, b.processed_at,
                           b.evidence)) AS new
    FROM gone o JOIN {consumer_heartbeats} b
      ON b.instance_id = o.instance_id AND b.member_id <> o.member_id
     AND b.generation = 0 AND b.arrived_at > o.at AND b.error_code NOT IN ({NOT_READY})
     AND (o.removed_at IS NULL OR b.arrived_at < {SEEN_AS_GONE})
    WHERE :protocol = 'consumer' GROUP BY ALL
), takers AS (
    SELECT r.at AS shown_at, r.at AS from_at, r.instance_id, r.member_id,
           r.new.member_id AS new_id, r.new.member, r.new.arrived_at, r.new.generation,
           CAST(NULL AS STRING) AS broken, false AS ended, r.evidence
    FROM replacements r JOIN stable s ON same(s, r, at, member_id)
    LEFT JOIN offered o ON o.member_id = r.member_id
    WHERE :protocol <> 'consumer' AND NOT r.rebalancing
      AND coalesce(r.new.assignors = o.assignors, true)
    UNION ALL
    SELECT new.arrived_at, at, instance_id, member_id, new.member_id, new.member,
           new.arrived_at, NULL,
           CASE WHEN new.error_code <> :NONE
                THEN clause('was refused with error ', new.error_code)
                WHEN coalesce(removed_by <> 'replaced', true)
                THEN 'did not take the place of the other' END,
           coalesce(removed_by <> 'replaced' AND removed_at <= new.processed_at, false),
           new.evidence
    FROM rejoined
), given AS (
    SELECT member_id, generation, processed_at AS at, answered_at,
           array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
    FROM {own_requests}
    WHERE error_code = :NONE
      AND (api = 'SYNC_GROUP' OR api = 'CONSUMER_GROUP_HEARTBEAT' AND assigned IS NOT NULL)
), placed AS (
    SELECT t.*, max(struct(h.at, h.generation, h.parts)) AS had,
           min(struct(g.at, g.answered_at, g.parts)) AS got
    FROM takers t LEFT JOIN given h ON h.member_id = t.member_id AND h.at <= t.from_at
    LEFT JOIN given g ON g.member_id = t.new_id AND g.at >= t.arrived_at
    GROUP BY ALL
), steps AS (
    SELECT at, CAST(NULL AS STRING) AS named, false AS by_topics FROM {coordinator_events}
    WHERE `group` = :group AND event = 'rebalance_started' AND :protocol <> 'consumer'
    UNION ALL
    SELECT at, named, lag(reason) OVER (PARTITION BY 1 ORDER BY at) <> reason FROM {epoch_bumps}
    WHERE :protocol = 'consumer'
), judged AS (
    SELECT h.*, count(e.at) AS changes,
           count_if(e.at IS NOT NULL
                    AND coalesce(e.named IN (h.member_id, h.new_id),
                                 NOT coalesce(e.by_topics, false))) AS steps,
           IF(h.got.parts <> h.had.parts,
              concat('was given ', array_join(h.got.parts, ' '), ', not ',
                     array_join(h.had.parts, ' ')), NULL) AS changed
    FROM placed h LEFT JOIN steps e ON e.at >= h.from_at AND e.at <= h.got.answered_at
    GROUP BY ALL
)
SELECT concat(instance_id, ' (', coalesce(member, 'unknown'), ')') AS subject, shown_at AS at,
       ms_between(arrived_at, got.answered_at) AS measured,
       CASE WHEN ended THEN 'the session ended while it joined'
            WHEN broken IS NOT NULL THEN NULL
            WHEN had.parts IS NULL THEN 'what it had before is not on record'
            WHEN new_id IS NULL THEN 'no join in its place is on record'
            WHEN changed IS NOT NULL AND changes > steps
            THEN clause(changed, ', but other members came or went') END AS unknown,
       CASE WHEN broken IS NOT NULL THEN broken
            WHEN steps > 0
            THEN IF(:protocol = 'consumer', 'was followed by a new group epoch',
                    'was followed by a rebalance before it had its partitions')
            WHEN generation <> had.generation
            THEN clause('came back in generation ', generation, ', not ', had.generation)
            WHEN got.parts IS NULL THEN 'was never given partitions'
            ELSE changed END AS wrong,
       concat('given ', array_join(got.parts, ' ')) AS note, evidence
FROM judged
