-- Group epochs of KIP-848 for which the coordinator computed a target assignment.
--
-- Epochs that were passed over, because the next came before anybody's heartbeat had one computed,
-- belong to the one that was: it starts with the first of them. `synced_at` is when all members
-- that were to stay had this epoch, `completed_at` when they had the last change of an assignment;
-- both null if the next target came before. `cause` is the line before the epoch was bumped, or
-- "metadata" where the topics had changed. Lines of one moment are in the order of the log.

WITH lines AS (
    SELECT *, lag(struct(event, member_id, reason)) OVER w AS line_before
    FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('member_added', 'left', 'left_for_now', 'evicted',
        'fenced', 'epoch_bumped', 'target_computed', 'loaded', 'upgraded')
    WINDOW w AS (PARTITION BY 1 ORDER BY at, length(evidence), evidence)
), bumps AS (
    SELECT at, generation, reason,
           CASE WHEN line_before.event NOT IN ('epoch_bumped', 'target_computed', 'loaded')
                THEN line_before END AS line,
           lag(reason) OVER w AS reason_before, row_number() OVER w AS place
    FROM lines WHERE event = 'epoch_bumped'
    WINDOW w AS (PARTITION BY 1 ORDER BY at, length(evidence), evidence)
), targets AS (
    SELECT broker, generation, at, reason AS assignor, evidence,
           lag(generation) OVER w AS generation_before, lead(at) OVER w AS next_at
    FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
    WINDOW w AS (PARTITION BY 1 ORDER BY at, length(evidence), evidence)
), begun AS (
    SELECT x.at, min(b.at) AS started_at,
           min_by(coalesce(b.line.reason, b.reason), b.place) AS reason,
           min_by(b.line.member_id, b.place) AS named,
           min_by(coalesce(b.line.event, CASE WHEN b.reason <> b.reason_before
                                              THEN 'metadata' END), b.place) AS cause
    FROM targets x JOIN bumps b
      ON b.generation <= x.generation AND b.at <= x.at
     AND (x.generation_before IS NULL OR b.generation > x.generation_before)
    GROUP BY x.at
), present AS (
    SELECT x.at, x.generation, x.next_at, m.member_id,
           coalesce(m.removed_at < x.next_at, false) AS goes
    FROM targets x JOIN {memberships} m
      ON m.joined_at <= x.at AND (m.removed_at IS NULL OR m.removed_at > x.at)
), answers AS (
    -- A new coordinator says to members again what they have: that changes nothing.
    SELECT member_id, processed_at, answered_at, arrived_at,
           assigned IS NOT NULL AND coalesce(
               array_sort(assigned) <> array_sort(last_value(assigned, true) OVER (
                   PARTITION BY member_id ORDER BY arrived_at {BEFORE})), true) AS changes,
           CASE api WHEN 'SYNC_GROUP' THEN generation ELSE member_epoch END AS epoch
    FROM {own_requests}
    WHERE error_code = :NONE AND generation >= 0
      AND api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
), heard AS (
    SELECT p.at, p.member_id, p.goes, min(a.answered_at) AS first_at,
           max(a.answered_at) FILTER (
               WHERE a.changes
                 AND (p.next_at IS NULL OR a.processed_at < p.next_at)) AS last_at
    FROM present p LEFT JOIN answers a
      ON a.member_id = p.member_id AND a.epoch = p.generation AND a.processed_at >= p.at
     AND (p.next_at IS NULL OR a.arrived_at < p.next_at)
    GROUP BY p.at, p.member_id, p.goes
), followed AS (
    SELECT at, CAST(count(*) AS INT) AS members,
           CASE WHEN count_if(NOT goes AND first_at IS NULL) = 0
                THEN max(first_at) END AS synced_at,
           max(last_at) AS last_at
    FROM heard GROUP BY at
)
SELECT x.broker, x.generation, x.at AS joined_at, x.assignor, x.evidence,
       coalesce(f.members, 0) AS members, b.started_at, b.reason, b.named, b.cause,
       f.synced_at, CASE WHEN f.synced_at IS NOT NULL
                         THEN greatest(f.synced_at, f.last_at) END AS completed_at
FROM targets x LEFT JOIN begun b ON b.at = x.at LEFT JOIN followed f ON f.at = x.at
