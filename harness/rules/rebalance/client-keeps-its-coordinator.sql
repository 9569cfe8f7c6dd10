-- A client that hears of a rebalance keeps its coordinator
-- A heartbeat answered REBALANCE_IN_PROGRESS counts for the client as well: its own session timer
-- does not run out while such answers come.
-- why: A rebalance may take as long as max.poll.interval.ms, which is more than a session.
-- source: document 000, HeartbeatThread (receiveHeartbeat); rd_kafka_cgrp_handle_Heartbeat
-- id: R08-client | rows: members answered REBALANCE_IN_PROGRESS for longer than a session | unit:
--   ms | measured: since the last answer without an error | protocols: classic | kind: in passing
--
-- Between two answers there has to be less than a session, or the client's session ends rightly.

-- let SAYS_SO = (api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS)

WITH numbered AS (
    SELECT *, {SAYS_SO} AS heard, count_if(NOT {SAYS_SO}) OVER w AS turn,
           ms_between(lag(answered_at) OVER w, answered_at) AS gap_ms
    FROM {own_requests}
    WHERE api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP')
      AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
    WINDOW w AS (PARTITION BY member_id ORDER BY answered_at, evidence)
), spans AS (
    SELECT member, member_id, turn, min(answered_at) AS from_at, max(answered_at) AS to_at,
           count_if(heard) AS heard, max(gap_ms) FILTER (WHERE heard) AS gap_ms,
           max(evidence) AS evidence
    FROM numbered WHERE turn > 0 GROUP BY member, member_id, turn
), ended AS (
    SELECT s.*, m.session_timeout_ms, min(c.event_at) AS ended_at
    FROM spans s JOIN {members} m ON m.member = s.member
    LEFT JOIN {client_events} c
      ON c.member = s.member AND c.event = 'session_timed_out'
     AND c.event_at >= after(m.session_timeout_ms, s.from_at) AND c.event_at <= s.to_at
    GROUP BY ALL
)
SELECT concat(member, ' (kept waiting)') AS subject, from_at AS at,
       ms_between(from_at, to_at) AS measured,
       IF(ended_at IS NOT NULL,
          clause('took its session for ended after ',
                 CAST(round(ms_between(from_at, ended_at)) AS INT), ' ms'), NULL) AS wrong,
       concat(heard, ' heartbeats were answered so; its session is ', session_timeout_ms,
              ' ms') AS note, evidence
FROM ended
WHERE heard > 0 AND gap_ms < session_timeout_ms
  AND ms_between(from_at, to_at) > session_timeout_ms
