-- A program ends only on request
-- No process ends by itself while nothing is broken. A process that ends by itself during a fault
-- has an exit code other than 0, so that its supervisor notices.
-- why: A supervisor does not restart a process that ended with exit code 0.
-- source: kafka-chaos, programs under test
-- id: P14 | rows: processes | clients: app

WITH broken AS (
    {FAULTS}
), ends AS (
    SELECT m.member, m.ended_at, m.exit_code,
           coalesce(m.`end` = 'failed' AND m.ended_at < :stopped_at, FALSE) AS by_itself,
           max_by(b.what, struct(b.from_at, b.what)) AS what
    FROM {members} m LEFT JOIN broken b
      ON b.from_at <= m.ended_at AND b.to_at >= m.ended_at
    WHERE m.role = 'consumer' GROUP BY ALL
)
SELECT member AS subject, coalesce(ended_at, :stopped_at) AS at,
       CASE WHEN by_itself AND exit_code = 0
            THEN 'ended by itself with exit code 0, so that no supervisor starts it again'
            WHEN by_itself AND what IS NULL
            THEN clause('ended by itself with exit code ', exit_code,
                        ' while nothing was broken') END AS wrong,
       IF(by_itself, concat('ended by itself after ', what), NULL) AS note
FROM ends
