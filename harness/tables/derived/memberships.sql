-- One row per `stay` of a member id in the group: whose, when it joined, when and how removed.
--
-- A member of KIP-848 keeps its id, so that this can have several stays: `since_at` is when the one
-- before ended, `until_at` when this one did, both null where there is no other. What bears the id
-- between them belongs to this stay. A static member's id is `replaced` when another process joins
-- under its instance id.
--
-- A classic coordinator keeps a new member in its memory alone until a generation with it is
-- complete. One that was never accepted but to join, and whose coordinator was gone then, is
-- `forgotten` with the last sign that this was at work.

WITH lines AS (
    SELECT member_id, at, event, evidence FROM {coordinator_events}
    WHERE `group` = :group
      AND event IN ('member_added', 'evicted', 'left', 'replaced', 'fenced')
    UNION ALL
    SELECT trim(straggler), at, event, evidence
    FROM {coordinator_events}
    LATERAL VIEW explode(split(regexp_replace(reason, '[^-_.\\w,]', ''), ','))
        AS straggler
    WHERE `group` = :group AND event = 'stragglers_removed'
    UNION ALL
    -- Who does not send its SyncGroup in time is removed by this line alone.
    SELECT trim(silent), at, 'sync_expired', evidence
    FROM {coordinator_events}
    LATERAL VIEW explode(split(regexp_extract(reason, '^Removing .([^]]+)', 1), ','))
        AS silent
    WHERE `group` = :group AND event = 'rebalance_started'
      AND reason LIKE 'Removing [%on pending sync%'
    UNION ALL
    -- A static member of KIP-848 that came back takes the place of the one it was.
    SELECT regexp_extract(text, 'existing member (.+)\\.$', 1), at, 'replaced',
           evidence
    FROM {coordinator_events}
    WHERE `group` = :group AND event = 'member_added'
      AND text LIKE '%to replace the existing member %'
), numbered AS (
    SELECT *, count_if(event <> 'member_added') OVER (
        PARTITION BY member_id
        ORDER BY at, IF(event = 'member_added', 1, 0), length(evidence), evidence
        {BEFORE}) AS stay
    FROM lines WHERE member_id <> ''
), by_coordinator AS (
    SELECT member_id, stay,
           min(at) FILTER (WHERE event = 'member_added') AS added_at,
           min(at) FILTER (WHERE event <> 'member_added') AS removed_at,
           min_by(event, struct(at, length(evidence), evidence))
               FILTER (WHERE event <> 'member_added') AS removed_by,
           min_by(evidence, struct(at, length(evidence), evidence))
               FILTER (WHERE event <> 'member_added') AS evidence
    FROM numbered GROUP BY member_id, stay
    HAVING stay = 0 OR count_if(event = 'member_added') > 0
), forgotten AS (
    SELECT c.member_id, c.stay, min(t.to_at) AS at
    FROM by_coordinator c JOIN {tenures} t
      ON c.added_at >= t.from_at AND c.added_at < t.next_at
    LEFT ANTI JOIN {requests} r
      ON r.member_id = c.member_id
     AND (r.api = 'CONSUMER_GROUP_HEARTBEAT' OR r.api <> 'JOIN_GROUP' AND r.error_code = 0
          OR r.error_code IN (0, 27) AND r.processed_at >= t.next_at)
    WHERE c.removed_at IS NULL GROUP BY c.member_id, c.stay
), by_requests AS (
    SELECT member_id, min(member) AS member,
           min(processed_at) FILTER (WHERE error_code = 0 AND (api = 'JOIN_GROUP'
               OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0)) AS joined_at,
           max(session_timeout_ms) AS session_timeout_ms,
           max(instance_id) AS instance_id
    FROM {own_requests} WHERE member_id IS NOT NULL GROUP BY member_id
)
SELECT member_id,
       -- A classic member id is the client id, a dash and a UUID of 36 characters.
       coalesce(r.member, substr(member_id, 1, length(member_id) - 37)) AS member,
       coalesce(c.added_at, CASE WHEN coalesce(c.stay, 0) = 0 THEN r.joined_at END)
           AS joined_at,
       coalesce(c.removed_at, f.at) AS removed_at,
       coalesce(c.removed_by, IF(f.at IS NULL, NULL, 'forgotten')) AS removed_by, r.instance_id,
       concat_ws(' ', member_id, c.stay) AS stay,
       coalesce(r.session_timeout_ms, :session_ms) AS session_timeout_ms, c.evidence,
       lag(c.removed_at) OVER w AS since_at,
       CASE WHEN lead(c.stay) OVER w IS NOT NULL THEN c.removed_at END AS until_at
FROM by_coordinator c LEFT JOIN forgotten f USING (member_id, stay)
FULL OUTER JOIN by_requests r USING (member_id)
WINDOW w AS (PARTITION BY member_id ORDER BY c.stay)
