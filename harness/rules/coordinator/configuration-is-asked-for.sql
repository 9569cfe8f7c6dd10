-- A member asks for what it was configured with
-- The requests of a member name the client library and the version of its process, its group, the
-- assignor that it was configured with, and in KIP-848 the topic that it is to read.
-- why: A verdict about a version says nothing if another version was under test.
-- source: KIP-511; JoinGroup, protocols; ConsumerGroupHeartbeat, SubscribedTopicNames
-- id: X79 | rows: members | unit: requests | measured: that name something else | high: named
--   something else than it was configured with | kind: in passing
--
-- A library of before KIP-511 does not name itself. Settings of the client library may name another
-- assignor. Transactions have a coordinator too, which a member looks up by their id.

-- let SAYS = {FIRST_ODD} AS wrong, concat(count(*), ' requests') AS note

WITH judged AS (
    SELECT concat(r.member, ' (configured)') AS subject, r.arrived_at AS at, r.evidence,
           CASE WHEN r.client_software <> 'unknown'
                     AND concat(r.client_software, ' ', r.client_software_version) <> IF(
                         m.client = 'java',
                         concat('apache-kafka-java ', split_part(m.client_version, ' ', 2)),
                         concat('confluent-kafka-python ', split_part(m.client_version, ' ', 2),
                                '-rdkafka-', split_part(m.client_version, ' ', 4)))
                THEN concat('named ', r.client_software, ' ', r.client_software_version,
                            ', and runs ', m.client_version)
                WHEN array_join(r.assignors, ',') <> coalesce(m.assignor, IF(
                         m.protocol = 'eager', 'range', 'cooperative-sticky'))
                     AND r.api = 'JOIN_GROUP'
                     AND coalesce(m.settings, '') NOT LIKE '%assign%'
                THEN concat('offered the assignor ', array_join(r.assignors, ','))
                WHEN r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation >= 0
                     AND get_json_object(r.detail, '$.topics') <> concat('["', :topic, '"]')
                THEN concat('subscribed to ', get_json_object(r.detail, '$.topics'))
           END AS odd
    FROM {own_requests} r JOIN {members} m ON m.member = r.member
    WHERE m.role = 'consumer' AND :client <> 'app'
    UNION ALL
    SELECT concat(r.client_id, ' (configured)'), r.arrived_at, r.evidence,
           concat('sent a ', r.api, ' of the group ', r.`group`)
    FROM {requests} r LEFT SEMI JOIN {members} m ON m.member = r.client_id
    WHERE r.`group` <> :group AND r.api <> 'FIND_COORDINATOR' AND :client <> 'app'
)
{ODD_ONES} GROUP BY subject
