-- REBALANCE_IN_PROGRESS answers keep a member in the group
-- A member whose heartbeats are answered REBALANCE_IN_PROGRESS keeps its place for as long as it
-- goes on sending them.
-- why: A member that finishes a long batch while the others rebalance is not dropped, as long as it
--   rejoins within max.poll.interval.ms.
-- source: document 000, GroupCoordinator; document 003, HEARTBEAT; GroupMetadataManager
-- id: R08-members | was: R08-wire | rows: members whose heartbeats were answered so for longer than
--   a session | unit: ms | measured: between other signs of life | protocols: classic | kind:
--   always
--
-- Stretches, longer than a session, in which a member's only signs of life were heartbeats answered
-- REBALANCE_IN_PROGRESS: of members by the request log, and of probes by the answers they got.

-- let SAYS_SO = (api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS)

WITH signs AS (
    SELECT *, {SAYS_SO} AS waits, count_if(NOT {SAYS_SO}) OVER (
        PARTITION BY member_id ORDER BY armed_at, heard_at, evidence {SO_FAR}) AS stretch
    FROM {signs_of_life}
), stretches AS (
    SELECT member_id, stretch, min(heard_at) FILTER (WHERE NOT waits) AS heard_at,
           min(armed_at) FILTER (WHERE NOT waits) AS from_at, count_if(waits) AS times,
           max(armed_at) FILTER (WHERE waits) AS waits_at,
           -- Its answer can have waited for what was written before it.
           max(armed_from_at) FILTER (WHERE waits) AS waits_from_at
    FROM signs GROUP BY member_id, stretch
), followed AS (
    SELECT s.*, m.member, m.session_timeout_ms AS session_ms, m.removed_at, m.removed_by,
           lead(s.heard_at) OVER (PARTITION BY s.member_id ORDER BY s.stretch) AS next_at
    FROM stretches s JOIN {memberships} m USING (member_id)
), ended AS (
    SELECT *, coalesce(next_at, removed_at, waits_at) AS to_at,
           ms_between(from_at, coalesce(next_at, removed_at, waits_at)) AS ms,
           -- From the last of them to an eviction.
           IF(next_at IS NULL AND removed_by = 'evicted', ms_between(waits_from_at, removed_at),
              NULL) AS evicted_ms
    FROM followed WHERE times > 0 AND from_at IS NOT NULL
), answers AS (
    SELECT c.*, m.session_ms,
           c.api = 'HEARTBEAT' AND c.error_code = :REBALANCE_IN_PROGRESS AS refused
    FROM {calls} c JOIN {probe_members} m ON same(m, c, `group`, member_id)
    WHERE c.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
      AND c.answered_at IS NOT NULL AND c.error_code <> :UNKNOWN_MEMBER_ID
), probed AS (
    SELECT *, max(IF(refused, NULL, answered_at)) OVER (
        PARTITION BY `group`, member_id ORDER BY sent_at, api, step {SO_FAR}) AS else_at
    FROM answers
), spans AS (
    SELECT `group`, member_id, session_ms, else_at, max(sent_at) AS last_at,
           ms_between(else_at, max(sent_at)) AS ms
    FROM probed WHERE refused AND else_at IS NOT NULL
    GROUP BY `group`, member_id, session_ms, else_at
)
SELECT concat(member, ' (', times, ' answers)') AS subject, from_at AS at,
       ms AS measured, CAST(NULL AS BIGINT) AS bound_low,
       IF(evicted_ms < session_ms - :slack_ms,
          'was evicted although its heartbeats were answered', NULL) AS wrong,
       IF(evicted_ms IS NULL, NULL,
          'evicted when a session had passed since the last of them') AS note,
       CAST(NULL AS STRING) AS evidence
FROM ended x
-- A coordinator that takes over gives each member a session again.
LEFT ANTI JOIN {tenures} l
  ON l.loaded AND l.from_at >= x.from_at AND l.from_at <= x.to_at
WHERE x.ms > x.session_ms - :slack_ms
UNION ALL
SELECT concat('heartbeats during a rebalance (', s.`group`, ')'), s.last_at, s.ms, s.session_ms,
       IF(count(e.at) > 0, 'their member was evicted in spite of them', NULL), NULL,
       min(e.evidence)
FROM spans s LEFT JOIN {coordinator_events} e
  ON e.event = 'evicted' AND same(e, s, `group`, member_id)
 AND e.at BETWEEN s.else_at AND after(s.session_ms, s.last_at)
WHERE s.ms > s.session_ms
GROUP BY s.`group`, s.member_id, s.session_ms, s.else_at, s.last_at, s.ms
