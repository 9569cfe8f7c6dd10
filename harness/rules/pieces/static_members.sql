-- Static members (KIP-345): who may come back in whose place, and what a process may not do.

-- let CLOSINGS
--   Static members that closed while the run went on, with the stay of theirs that it ended.
closings AS (
    SELECT c.member, c.event_at AS at, stay.*
    FROM (
        SELECT c.member, c.event_at,
               max(struct(m.joined_at, m.member_id, m.stay, m.session_timeout_ms, m.removed_at,
                          m.removed_by)) AS stay
        FROM {client_events} c JOIN {memberships} m
          ON m.member = c.member AND m.instance_id IS NOT NULL AND m.joined_at <= c.event_at
         AND (m.removed_at IS NULL OR m.removed_at >= c.event_at)
        WHERE c.event = 'closing' AND c.event_at < :stopped_at
        GROUP BY c.member, c.event_at
    ) c
)

-- let SESSIONS_OF_CLOSED
--   When the sessions of `closed` members ended. Their absence is found out then, unless another
--   process took their place before. `broken` is a clause about what happened in the meantime,
--   `unclear` about why nothing can be said of it.
, {WEIGHED}
SELECT concat(c.member, ' (close)') AS subject, c.at,
       e.judged_ms AS measured,
       c.session_timeout_ms - :slack_ms AS bound_low,
       c.session_timeout_ms + :slack_ms AS bound_high,
       CASE WHEN broken IS NOT NULL THEN NULL
            WHEN unclear IS NOT NULL THEN unclear
            WHEN removed_by IS NULL
             AND :stopped_at <= after(c.session_timeout_ms + :slack_ms, c.at)
            THEN 'the run ended before its session did'
            WHEN e.may_be_short OR e.may_be_long THEN e.span END AS unknown,
       CASE WHEN broken IS NOT NULL THEN broken
            WHEN removed_by IS NULL THEN 'was still a member when the run ended'
            WHEN removed_by NOT IN ('evicted', 'replaced')
            THEN clause('was removed otherwise: ', removed_by) END AS wrong,
       IF(removed_by = 'replaced', 'another process took its place', NULL) AS excused,
       coalesce(e.evidence, c.evidence) AS evidence,
       CASE WHEN e.timer_started_at IS NOT NULL
            THEN guard_from(after(c.session_timeout_ms, e.timer_started_at), removed_at)
            END AS guard_from,
       guard_to(removed_at) AS guard_to
FROM closed c LEFT JOIN weighed e
  ON e.member_id = c.member_id AND e.evicted_at = c.removed_at AND c.removed_by = 'evicted'

-- let REPLACEMENTS
--   Replacements of a static member by a process that joined under its instance id. `new` is the
--   first join under that instance id that was answered since.
replacements AS (
    SELECT e.at, e.instance_id, e.member_id, e.evidence, g.rebalancing,
           min(struct(j.processed_at, j.member_id, j.member, j.generation, j.arrived_at,
                      j.assignors)) AS new
    FROM {coordinator_events} e JOIN {group_steps} g ON same(g, e, event, member_id, at)
    LEFT JOIN {joins} j ON same(j, e, broker, instance_id) AND j.member_id <> e.member_id
     AND j.processed_at >= after(-:rounding_ms, e.at)
    WHERE e.`group` = :group AND e.event = 'replaced'
    GROUP BY ALL
)
