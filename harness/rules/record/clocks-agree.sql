-- The clocks of brokers and members agree
-- A commit arrives at the broker after its member sent it, and is answered before the member has
-- the answer, by the stamps of both.
-- why: A time between two processes is only as exact as their clocks agree.
-- source: kafka-chaos, evidence
-- id: E10 | rows: brokers | unit: ms | measured: off at least | kind: always
--
-- Each commit bounds the difference on both sides. A broker behind shows in the one that arrived
-- soonest; one ahead in the median, for single lines of a log are stamped late. Nothing is wrong
-- with Kafka then, and no timing can be trusted, so the row is unknown.

WITH asked AS (
    SELECT member, topic, partition, committed, min(asked_at) AS asked_at,
           min(answered_at) AS answered_at
    FROM {commits} WHERE asked_at IS NOT NULL AND error_code = :NONE
    GROUP BY member, topic, partition, committed HAVING count(*) = 1
), heard AS (
    SELECT member, topic, partition, committed, min(broker) AS broker,
           min(arrived_at) AS arrived_at, min(answered_at) AS answered_at
    FROM {positions} WHERE api = 'OFFSET_COMMIT' AND error_code = :NONE
    GROUP BY member, topic, partition, committed HAVING count(*) = 1
), bounds AS (
    SELECT h.broker, count(*) AS commits, min(h.arrived_at) AS at,
           min(ms_between(a.asked_at, h.arrived_at)) AS most,
           median(ms_between(a.answered_at, h.answered_at)) AS least
    FROM asked a JOIN heard h USING (member, topic, partition, committed)
    GROUP BY h.broker HAVING count(*) >= 3
)
SELECT concat('broker-', broker) AS subject, at,
       CASE WHEN most < 0 THEN most WHEN least > 0 THEN least ELSE 0D END AS measured,
       -:slack_ms AS bound_low, :slack_ms AS bound_high,
       CASE WHEN most < -:slack_ms
            THEN clause('its clock was ', CAST(round(-most) AS INT),
                        ' ms or more behind those of members')
            WHEN most >= 0 AND least > :slack_ms
            THEN clause('its clock was ', CAST(round(least) AS INT),
                        ' ms or more ahead of those of members') END AS unknown,
       concat('by ', commits, ' commits') AS note
FROM bounds
