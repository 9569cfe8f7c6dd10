-- A member says who it is, and asks for what it was configured with
-- A static member names its own instance id in each request by which it joins, stays or commits (in
-- KIP-848: by which it joins), a dynamic one none, and no member names the member id of another.
-- Only a static member leaves with epoch -2. Requests name the client library and the version of
-- their process, its group, the assignor that it was configured with, and in KIP-848 the topic that
-- it is to read.
-- why: Of two processes with one instance id the coordinator fences the older, by this name; a
--   request without it comes from a member that cannot be fenced. A verdict about a version says
--   nothing if another version was under test.
-- source: KIP-345, Static Membership; KIP-511; JoinGroup, protocols; KIP-848,
--   ConsumerGroupHeartbeat
-- id: X52 | was: X79 | rows: members | unit: requests | measured: in another's name, or without its
--   own, or that name something else | high: did not say who it was | kind: in passing
--
-- A library of before KIP-511 does not name itself. Settings of the client library may name another
-- assignor. Transactions have a coordinator too, which a member looks up by their id.

-- let FOR_THE_ID = 'LEAVE_GROUP', 'TXN_OFFSET_COMMIT'
--   Requests that name a member id, and an instance id as the client likes.

-- let SAYS
{FIRST_ODD} AS wrong,
concat(count(DISTINCT evidence), ' requests of ',
       coalesce(concat('static ', max(own)), 'a dynamic member')) AS note

-- query
WITH asked AS (
    SELECT r.*, m.instance_id AS own,
           min(r.arrived_at) OVER (PARTITION BY r.member_id, r.member) AS since_at
    FROM {own_requests} r JOIN {members} m ON m.member = r.member
    WHERE m.role = 'consumer' AND :client <> 'app'
      AND r.api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'OFFSET_COMMIT',
                    'CONSUMER_GROUP_HEARTBEAT', {FOR_THE_ID})
), owners AS (
    SELECT member_id, min_by(member, since_at) AS owner FROM asked
    WHERE member_id IS NOT NULL GROUP BY member_id
), named AS (
    SELECT concat(a.member, ' (identity)') AS subject, a.own, a.arrived_at AS at, a.evidence,
           CASE WHEN o.owner <> a.member THEN concat('the member id of ', o.owner)
                WHEN a.own IS NULL AND a.api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT')
                     AND a.member_id NOT LIKE concat(a.member, '-%')
                THEN concat('the member id ', a.member_id)
                WHEN a.api IN ({FOR_THE_ID}) THEN NULL
                WHEN a.instance_id <> a.own OR a.instance_id IS NOT NULL AND a.own IS NULL
                THEN concat('the instance id ', a.instance_id)
                WHEN a.own IS NOT NULL AND a.instance_id IS NULL
                     AND (a.api <> 'CONSUMER_GROUP_HEARTBEAT' OR a.generation = 0)
                THEN 'no instance id'
                WHEN a.own IS NULL AND a.api = 'CONSUMER_GROUP_HEARTBEAT' AND a.generation = -2
                THEN 'the epoch of a static member that leaves' END AS name,
           concat('named ', name, ' in a ', a.api) AS odd
    FROM asked a LEFT JOIN owners o ON o.member_id = a.member_id
), judged AS (
    SELECT subject, own, at, evidence, odd FROM named
    UNION ALL
    SELECT concat(r.member, ' (identity)'), m.instance_id, r.arrived_at, r.evidence,
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
           END
    FROM {own_requests} r JOIN {members} m ON m.member = r.member
    WHERE m.role = 'consumer' AND :client <> 'app'
    UNION ALL
    SELECT concat(r.client_id, ' (identity)'), m.instance_id, r.arrived_at, r.evidence,
           concat('sent a ', r.api, ' of the group ', r.`group`)
    FROM {requests} r JOIN {members} m ON m.member = r.client_id
    WHERE r.`group` <> :group AND r.api <> 'FIND_COORDINATOR' AND :client <> 'app'
)
{ODD_ONES} GROUP BY subject
