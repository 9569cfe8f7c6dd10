-- Every accepted request restarts the session timer
-- Each accepted heartbeat, join, sync or commit restarts the member's session timer. The member is
-- evicted if, and only if, it is silent for a whole session timeout.
-- why: Evicting a live member costs a rebalance, and its unfinished batch is repeated.
-- source: document 000, GroupCoordinator (completeAndScheduleNextHeartbeatExpiration)
-- id: R02 | rows: member ids | unit: ms | measured: of silence at most | high: was not evicted
--   although its session had run out | needs: working coordinator | delayed by: member, toxiproxy,
--   broker
--
-- The longest silence that each member id survived. An id that survived none has the silence before
-- its eviction, without a bound: R01 judges how late that was.
--
-- Law: no silence that surely was longer than a session is survived, and none that surely was
-- shorter ends in an eviction.

WITH {WEIGHED}, longest AS (
    SELECT member_id, min(member) AS member, max(session_timeout_ms) AS session_ms,
           max(ms) FILTER (WHERE ended_by <> 'evicted') AS survived_ms,
           count_if(ended_by = 'evicted' AND ms < session_timeout_ms - :slack_ms) AS early,
           max(struct(ms, to_at, from_at)) AS silence, count(*) AS silences
    FROM {silences} GROUP BY member_id
)
SELECT concat(coalesce(member, member_id), ' (', member_id, ')') AS subject,
       silence.to_at AS at, coalesce(survived_ms, silence.ms) AS measured,
       CASE WHEN survived_ms IS NOT NULL THEN session_ms + :slack_ms END AS bound_high,
       CASE WHEN early > 0
            THEN 'was evicted although its session had not run out' END AS wrong,
       IF(early = 0 AND coalesce(survived_ms <= session_ms + :slack_ms, true), u.span, NULL)
           AS unknown,
       concat('longest of ', silences, ' silences') AS note,
       guard_from(after(session_ms, silence.from_at), silence.to_at) AS guard_from,
       silence.to_at AS guard_to
FROM longest LEFT JOIN (
    SELECT member_id, min(span) AS span FROM weighed WHERE may_be_short
    GROUP BY member_id) u USING (member_id)
