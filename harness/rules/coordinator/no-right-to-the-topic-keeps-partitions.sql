-- A user without a right to the topic keeps its partitions
-- A member whose user has a right to the group but not to the topic has its heartbeats accepted,
-- and each of its commits refused with TOPIC_AUTHORIZATION_FAILED.
-- why: No member reads its partitions, and no rebalance gives them to a member that may.
-- source: Kafka documentation, security, authorization and ACLs (READ on TOPIC)
-- id: X43-topic | rows: requests | protocols: classic | kind: broker

{LOST}
SELECT concat(c.member, ' ', c.api) AS subject, c.arrived_at AS at,
       CASE WHEN c.api = 'HEARTBEAT'
                 AND c.error_code IN (:GROUP_AUTHORIZATION_FAILED,
                                      :TOPIC_AUTHORIZATION_FAILED)
            THEN clause('was refused with error ', c.error_code, ', although its user had ',
                        'the right to the group')
            WHEN c.api = 'OFFSET_COMMIT' AND c.error_code <> :TOPIC_AUTHORIZATION_FAILED
            THEN clause('was answered with error ', c.error_code, ' while its user had no ',
                        'right to the topic') END AS wrong,
       concat('was answered with error ', c.error_code) AS note, c.evidence
FROM {own_requests} c JOIN lost l
  ON l.member = c.member AND l.lost = 'topic'
 AND c.arrived_at >= l.gone_from_at AND c.processed_at <= l.gone_to_at
WHERE c.api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND c.error_code IS NOT NULL
