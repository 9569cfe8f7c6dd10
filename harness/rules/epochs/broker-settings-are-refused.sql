-- Clients refuse settings that the broker decides in KIP-848
-- A client with group.protocol=consumer refuses session.timeout.ms, heartbeat.interval.ms and
-- partition.assignment.strategy; librdkafka refuses group.protocol.type too.
-- why: A client that is configured with a timer without effect fails at its start.
-- source: KIP-848, Consumer configurations; librdkafka CONFIGURATION.md
-- id: X26 | rows: consumers created | protocols: consumer

WITH made AS (
    SELECT step, sent_at, error_code, get_json_object(expected, '$.refused') AS setting,
           get_json_object(answer, '$.said') AS said
    FROM {calls} WHERE rule = 'X26'
)
SELECT step AS subject, sent_at AS at,
       CASE WHEN setting IS NULL AND error_code <> 0 THEN 'was refused without cause'
            WHEN setting IS NOT NULL AND error_code = 0 THEN 'was accepted'
            WHEN NOT contains(said, setting)
            THEN clause('was refused for another reason: ', said) END AS wrong,
       CASE WHEN error_code IS NULL THEN 'was never answered'
            WHEN error_code <> 0 AND said IS NULL
            THEN 'was refused without a reason' END AS unknown,
       CASE WHEN error_code <> 0 THEN concat('refused: ', said) END AS note
FROM made
