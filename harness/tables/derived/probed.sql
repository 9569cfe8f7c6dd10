-- Calls about a group that were answered, one row each, with what was so when they were sent.
--
-- `state` of the group, null where the call or another changed it since; its `generation_now`,
-- whether the asker is a member (`known`), who has the asker's instance id (`owner`), how many
-- members there are (`size`), and whether it names no member, instance or generation.

WITH asked AS (
    SELECT *, row_number() OVER (ORDER BY sent_at, api, step) AS call,
           CASE WHEN state_before = state_after THEN state_before END AS state,
           coalesce(generation, -1) < 0 AND member_id IS NULL AND instance_id IS NULL
               AS nobody
    FROM {calls} WHERE `group` IS NOT NULL AND answered_at IS NOT NULL
), members_then AS (
    SELECT a.call, count(m.member_id) AS size,
           coalesce(bool_or(m.member_id = a.member_id), false) AS known,
           max(m.member_id) FILTER (WHERE m.instance_id = a.instance_id) AS owner
    FROM asked a LEFT JOIN {probe_members} m
      ON m.`group` = a.`group` AND m.from_at < a.sent_at
     AND (m.to_at IS NULL OR m.to_at > a.sent_at)
    GROUP BY a.call
), generation_then AS (
    SELECT a.call, max_by(e.generation, e.at) AS generation_now
    FROM asked a JOIN {coordinator_events} e
      ON e.`group` = a.`group` AND e.event IN ('stabilized', 'emptied') AND e.at < a.sent_at
    GROUP BY a.call
)
SELECT a.*, m.size, m.known, m.owner, g.generation_now,
       concat(a.step, ' (', a.`group`, ')') AS subject
FROM asked a JOIN members_then m USING (call) LEFT JOIN generation_then g USING (call)
