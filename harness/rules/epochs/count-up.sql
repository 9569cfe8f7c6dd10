-- Epochs count up, and members follow them
-- Each change raises the group epoch by one: each member that joins, leaves or is removed is a
-- change. A target assignment is computed for an epoch that the group has, by the assignor that
-- members name, or, where they name none, always by the same. A member is given only epochs that
-- the group has, and none below its last unless it joins anew. Each heartbeat names the epoch that
-- the member was given last.
-- why: Commits and assignments are fenced by the epoch: one that goes back lets a former owner in
--   again.
-- source: KIP-848, group epoch and member epoch; ConsumerGroup.validateMemberEpoch and
--   preferredServerAssignor
-- id: X35 | was: X83 | rows: group epochs, their targets, members, and those that came or went |
--   unit: epochs | measured: above the epoch before | low: repeats an epoch or goes back | high:
--   skips epochs | protocols: consumer | kind: always
--
-- One thread of a coordinator changes a group: it writes who came or went, and next the new epoch.
-- A static member that takes its own place changes nothing. A program may ask for topics by a
-- pattern, which is looked up later: joins of its members are not examined.
--
-- A change that could not be written is undone, and its epoch used again, by another coordinator or
-- while a broker is gone. An epoch that a member was given was written. An answer that was lost on
-- a disturbed link leaves a member with the epoch before. An empty group is forgotten with its
-- positions, and begins anew (GroupMetadataManager.maybeDeleteGroup).

WITH bumps AS (
    SELECT broker, at, generation, evidence, lag(generation) OVER w AS generation_before,
           lag(broker) OVER w AS broker_before, lag(at) OVER w AS before_at
    FROM {coordinator_events} WHERE `group` = :group AND event = 'epoch_bumped'
    WINDOW w AS (PARTITION BY `group` ORDER BY at, length(evidence), evidence)
), troubles AS (
    SELECT injecting_at AS from_at, after(:session_ms, coalesce(healed_at, :ended_at)) AS to_at
    FROM {fault_windows} WHERE disturbs_heartbeats OR breaks = 'broker'
), changes AS (
    -- In a group that changes its protocol, generations and epochs follow each other.
    SELECT count(*) > 0 AS changed FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
), stored AS (
    SELECT member_epoch AS generation, min(processed_at) AS at
    FROM {consumer_heartbeats} WHERE error_code = :NONE GROUP BY member_epoch
), steps AS (
    SELECT b.*, count(t.from_at) > 0 AS troubled, count(s.at) > 0 AS stored
    FROM bumps b LEFT JOIN troubles t ON t.from_at <= b.at AND t.to_at >= b.at
    LEFT JOIN stored s
      ON s.generation = b.generation_before AND s.at < after(-:slack_ms, b.at)
    CROSS JOIN changes c
    WHERE b.generation_before IS NOT NULL AND NOT c.changed
    GROUP BY ALL
), stayed AS (
    -- Members of the group after the change before.
    SELECT s.evidence, count(m.member_id) AS members
    FROM steps s LEFT JOIN {memberships} m
      ON m.joined_at <= s.before_at
     AND (m.removed_at IS NULL OR m.removed_at > after(:slack_ms, s.before_at))
    WHERE s.generation = 1 GROUP BY s.evidence
), wanted AS (
    SELECT max(assignor) AS assignor, count(DISTINCT coalesce(assignor, '')) AS kinds
    FROM {members} WHERE role = 'consumer' AND protocol = 'consumer'
), computed AS (
    SELECT t.*, first_value(t.reason) OVER (PARTITION BY 1 ORDER BY t.at, t.generation) AS first
    FROM {coordinator_events} t WHERE t.`group` = :group AND t.event = 'target_computed'
), targets AS (
    SELECT t.at, t.generation, t.evidence,
           CASE WHEN count_if(b.generation = t.generation) = 0
                THEN concat('was computed when the group was in ',
                            coalesce(CAST(max(b.generation) AS STRING), 'none'))
                WHEN max(w.kinds) = 1 AND max(t.reason) <> max(coalesce(w.assignor, t.first))
                THEN concat('was computed by another assignor than ',
                            max(coalesce(w.assignor, t.first))) END AS odd,
           concat('by the assignor ', max(t.reason)) AS note
    FROM computed t CROSS JOIN changes c
    LEFT JOIN bumps b ON b.at <= after(:slack_ms, t.at)
    CROSS JOIN wanted w WHERE NOT c.changed
    GROUP BY t.at, t.generation, t.evidence
), beats AS (
    SELECT *, lag(member_epoch) OVER w AS epoch_before, lag(arrived_at) OVER w AS before_at
    FROM {consumer_heartbeats} WHERE error_code = :NONE
    WINDOW w AS (PARTITION BY member_id ORDER BY arrived_at, answered_at)
), group_epochs AS (
    -- By then, for each heartbeat. No answer names an epoch before it has a target.
    SELECT beat, coalesce(max(target) OVER w, max(epoch) OVER w) AS group_epoch
    FROM (SELECT at, generation AS epoch, CAST(NULL AS STRING) AS beat,
                 IF(event = 'target_computed', generation, NULL) AS target
          FROM {coordinator_events}
          WHERE `group` = :group AND event IN ('epoch_bumped', 'target_computed')
          UNION ALL
          SELECT after(:slack_ms, processed_at), NULL, evidence, NULL FROM beats)
    WINDOW w AS (ORDER BY at)
), doubted AS (
    SELECT b.member, b.member_id, b.arrived_at, b.evidence, b.generation, b.member_epoch,
           b.epoch_before, g.group_epoch, count(t.from_at) AS troubles
    FROM beats b JOIN group_epochs g ON g.beat = b.evidence
    LEFT JOIN troubles t ON t.from_at <= b.arrived_at AND t.to_at >= b.before_at
    GROUP BY ALL
), judged AS (
    SELECT d.*,
           CASE WHEN c.changed THEN NULL
                WHEN generation < 0
                THEN IF(member_epoch <> generation,
                        concat('left, and was given epoch ', member_epoch), NULL)
                WHEN member_epoch > group_epoch
                THEN concat('was given epoch ', member_epoch, ' when the newest target was for ',
                            group_epoch)
                WHEN generation > 0 AND member_epoch < generation
                THEN concat('was given epoch ', member_epoch, ' when it was in ', generation)
                WHEN generation > 0 AND epoch_before > 0 AND generation <> epoch_before
                     AND troubles = 0
                THEN concat('named epoch ', generation, ' when it had been given ',
                            epoch_before) END AS odd
    FROM doubted d CROSS JOIN changes c
), joins AS (
    -- The first line of each stay: a member that asks again, since no answer came, is in the group.
    SELECT s.member_id, s.joined_at AS at
    FROM {memberships} s JOIN {members} m ON m.member = s.member AND m.client <> 'app'
    LEFT SEMI JOIN {consumer_heartbeats} q
      ON q.member_id = s.member_id AND q.generation = 0 AND q.error_code = :NONE
     AND q.arrived_at <= after(:STAMP_LATE_MS, s.joined_at)
     AND q.processed_at >= after(-:slack_ms, s.joined_at)
), moves AS (
    SELECT *, lead(event) OVER (
        PARTITION BY broker ORDER BY at, length(evidence), evidence) AS event_after
    FROM {coordinator_events} WHERE `group` = :group
), moved AS (
    SELECT e.* FROM moves e CROSS JOIN changes c
    LEFT SEMI JOIN {consumer_heartbeats} h ON h.member_id = e.member_id
    LEFT JOIN joins j ON same(j, e, member_id, at)
    WHERE NOT c.changed AND e.event_after NOT IN ('loaded', 'unloaded')
      AND (e.event IN ('left', 'evicted', 'fenced')
           OR e.event = 'member_added' AND j.at IS NOT NULL
              AND coalesce(e.text NOT LIKE '%to replace the existing member %', true))
)
SELECT concat('epoch ', generation) AS subject, at,
       generation - generation_before AS measured,
       IF((broker <> broker_before OR troubled) AND NOT stored, 0, 1) AS bound_low,
       1 AS bound_high, CAST(NULL AS STRING) AS wrong,
       IF(y.members = 0, 'the group was empty, was forgotten and began anew', NULL) AS excused,
       concat('after epoch ', generation_before) AS note, s.evidence
FROM steps s LEFT JOIN stayed y ON y.evidence = s.evidence
UNION ALL
SELECT concat('target of epoch ', generation), at, NULL, NULL, NULL, odd, NULL, note, evidence
FROM targets
UNION ALL
SELECT concat(min(member), ' (', member_id, ')'), min(arrived_at), NULL, NULL, NULL,
       min_by(odd, arrived_at) FILTER (WHERE odd IS NOT NULL), NULL,
       concat(count(*), ' heartbeats'),
       coalesce(min_by(evidence, arrived_at) FILTER (WHERE odd IS NOT NULL),
                min_by(evidence, arrived_at))
FROM judged GROUP BY member_id
UNION ALL
SELECT concat(member_id, ' (', event, ')'), at, NULL, NULL, NULL,
       IF(event_after <> 'epoch_bumped', 'was followed by no new epoch', NULL), NULL,
       concat('followed by ', event_after), evidence
FROM moved
