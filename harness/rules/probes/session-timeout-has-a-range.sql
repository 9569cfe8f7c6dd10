-- Session timeouts are accepted from 6 s to 30 min
-- A JoinGroup with a session timeout below 6,000 ms or above 1,800,000 ms is refused with
-- INVALID_SESSION_TIMEOUT (26). No other JoinGroup is refused so.
-- why: A consumer whose session.timeout.ms is outside this range never joins its group.
-- source: document 002, session.timeout.ms; group.min.session.timeout.ms and group.max…
-- id: R17 | rows: joins | unit: ms | measured: requested | protocols: classic | kind: broker

WITH asked AS (
    SELECT subject, sent_at AS at, error_code, CAST(NULL AS STRING) AS evidence,
           CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms
    FROM {probed} WHERE api = 'JOIN_GROUP'
)
SELECT subject, at, session_ms AS measured,
       CASE WHEN (session_ms BETWEEN :session_least_ms AND :session_most_ms)
                 = (error_code = :INVALID_SESSION_TIMEOUT)
            THEN clause('was answered ', error_code, ' to a session timeout of ', session_ms,
                        ' ms') END AS wrong,
       evidence
FROM asked
UNION ALL
SELECT concat(member, ' (', member_id, ')'), first.arrived_at, first.session_timeout_ms,
       IF(first.fine, NULL, clause('was let in with a session timeout of ',
                                   first.session_timeout_ms, ' ms')),
       first.evidence
FROM (SELECT member, member_id,
             min(struct(session_timeout_ms BETWEEN :session_least_ms AND :session_most_ms AS fine,
                        arrived_at, session_timeout_ms, evidence)) AS first
      FROM {joins} WHERE session_timeout_ms IS NOT NULL GROUP BY member, member_id)
