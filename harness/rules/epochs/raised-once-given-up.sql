-- A member's epoch is raised once it has given up what was taken
-- A member that has to give up partitions keeps its epoch until it has acknowledged that. Every
-- other one is brought up to the newest target by its next heartbeat. A partition that was taken
-- from a member comes back to it only with a later target. A member that joins is given its part,
-- even if it is empty.
-- why: The coordinator takes a member that has its new epoch for one that has let go, and gives its
--   partitions away.
-- source: KIP-848, Reconciliation of the group; CurrentAssignmentBuilder;
--   GroupMetadataManager.consumerGroupHeartbeat
-- id: X96 | rows: members | unit: heartbeats | measured: answered with another epoch or part |
--   high: was answered with another epoch or part than its own | protocols: consumer | since: 4.2 |
--   kind: broker, in passing, compares clocks
--
-- A target is the newest as soon as the same coordinator has answered any member with its epoch:
-- one that could not be written is undone, and no answer names it. An answer that never came was an
-- answer, so the epoch that was answered last counts beside the one that a member names. A group
-- that changes its protocol is not examined.
--
-- Law: an answer that takes partitions from a member raises its epoch to the newest target exactly
-- if its request names what it owns, and none of these; else a later one that does so raises it.

-- let SAYS = {FIRST_ODD} AS wrong, concat(count(*), ' answers') AS note

{GIVEN_AND_TAKEN}, changed AS (
    SELECT count(*) AS times FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
), held AS (
    SELECT stay, arrived_at AS from_at,
           max(coalesce(acked_at, timestamp'9999-01-01')) AS to_at
    FROM acked GROUP BY stay, arrived_at
), answered AS (
    SELECT broker, member_epoch, min(processed_at) AS at
    FROM stays GROUP BY broker, member_epoch
), back AS (
    SELECT g.stay, g.arrived_at, g.evidence, g.part, g.member_epoch,
           max_by(struct(t.member_epoch AS epoch, t.broker, t.arrived_at AS at),
                  t.arrived_at) AS t
    FROM given g JOIN taken t ON same(t, g, stay, part) AND t.arrived_at < g.arrived_at
    GROUP BY g.stay, g.arrived_at, g.evidence, g.part, g.member_epoch
), known AS (
    SELECT b.stay, b.arrived_at, b.evidence, b.part, b.member_epoch, b.t.epoch AS epoch,
           coalesce(max(f.member_epoch), 0) AS target
    FROM back b LEFT JOIN answered f
      ON f.broker = b.t.broker AND f.at < after(-:slack_ms, b.t.at)
    GROUP BY ALL
), returned AS (
    -- Taken by the newest target, where others knew it, or else by one that came just then.
    SELECT k.stay, k.arrived_at, k.evidence, any_value(k.part) AS part
    FROM known k LEFT JOIN {coordinator_events} c
      ON c.`group` = :group AND c.event = 'target_computed'
     AND c.generation > greatest(k.epoch, k.target) AND c.generation <= k.member_epoch
    GROUP BY k.stay, k.arrived_at, k.evidence, k.part, k.epoch, k.target
    HAVING count(DISTINCT c.generation) < IF(k.target > k.epoch, 1, 2)
), beats AS (
    SELECT *, lag(member_epoch) OVER (PARTITION BY stay ORDER BY arrived_at, evidence)
                  AS epoch_before
    FROM stays
), placed AS (
    SELECT b.stay, b.member, b.member_id, b.arrived_at, b.evidence, b.member_epoch,
           greatest(b.generation, coalesce(b.epoch_before, 0)) AS epoch,
           b.generation > 0 AS stayed, b.assigned IS NULL AS untold,
           count(h.from_at) > 0 AS holds
    FROM beats b LEFT JOIN held h
      ON h.stay = b.stay AND h.from_at <= b.arrived_at AND h.to_at > b.arrived_at
    GROUP BY ALL
), newest AS (
    SELECT b.stay, b.arrived_at, b.evidence, max(t.member_epoch) AS epoch
    FROM beats b JOIN answered t
      ON t.broker = b.broker AND t.at < after(-:slack_ms, b.arrived_at)
    GROUP BY b.stay, b.arrived_at, b.evidence
), judged AS (
    SELECT concat(p.member, ' (', p.stay, ')') AS subject, p.arrived_at AS at, p.evidence,
           CASE WHEN p.stayed AND p.holds AND p.member_epoch > p.epoch
                THEN concat('was raised to epoch ', p.member_epoch,
                            ' before it had given up what was taken from it')
                WHEN p.stayed AND NOT p.holds AND p.member_epoch < n.epoch
                THEN concat('was left in epoch ', p.member_epoch,
                            ' when others had been given ', n.epoch)
                WHEN NOT p.stayed AND p.untold THEN 'joined, and was given no part'
                WHEN r.part IS NOT NULL
                THEN concat('was given ', r.part.topic, '-', r.part.partition,
                            ' back without another target') END AS odd
    FROM placed p CROSS JOIN changed c
    LEFT JOIN newest n ON same(n, p, stay, arrived_at, evidence)
    LEFT JOIN returned r ON same(r, p, stay, arrived_at, evidence)
    WHERE c.times = 0
)
{ODD_ONES} GROUP BY subject
