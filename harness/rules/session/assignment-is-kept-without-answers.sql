-- A client without heartbeat answers keeps its assignment
-- A client that gets no heartbeat answer for its session timeout marks its coordinator unknown and
-- keeps its assignment.
-- why: A client that gives up its assignment stops processing and repeats its batch, even if no
--   other member has its partitions.
-- source: document 000, AbstractCoordinator (client side of session.timeout.ms)
-- id: R06 | rows: session timeouts without a heartbeat answer | unit: ms | measured: until the
--   assignment was declared lost | needs: session end | protocols: classic | contradicted:
--   librdkafka
--
-- librdkafka logs that its session ended; for Java each long silence counts. A lookup that names a
-- dead coordinator again gives Java a new session.

{SESSION_ANSWERS}{TIME_OUTS}
followed AS (
    SELECT member, processed_at, lag(answered_at) OVER w AS before_at,
           ms_between(lag(answered_at) OVER w, heard_at) AS ms
    FROM answers
    WINDOW w AS (PARTITION BY member_id ORDER BY answered_at, heard_at, processed_at)
), silences AS (
    SELECT f.member, f.ms, f.processed_at, after(m.session_timeout_ms, f.before_at) AS at
    FROM followed f JOIN {members} m USING (member)
    WHERE m.client = 'java' AND f.ms > m.session_timeout_ms + :timer_late_ms + :slack_ms
), examined AS (
    SELECT member, at, lost_at, NULL AS ms FROM time_outs WHERE :client <> 'java'
    UNION ALL
    SELECT s.member, s.at, min(l.event_at), max(s.ms)
    FROM silences s LEFT JOIN {client_events} l
      ON l.member = s.member AND l.event = 'lost' AND l.event_at >= s.at
     -- It may be logged late that the answer was on the wire, not that it was ready.
     AND l.event_at < s.processed_at
    GROUP BY s.member, s.at
)
SELECT member AS subject, at, ms_between(at, lost_at) AS measured,
       CASE WHEN lost_at IS NOT NULL THEN 'declared its assignment lost' END AS wrong,
       concat(CAST(round(ms) AS INT), ' ms without an answer') AS note
FROM examined
