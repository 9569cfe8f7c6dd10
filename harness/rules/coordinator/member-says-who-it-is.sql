-- A member says who it is
-- A static member names its own instance id in each request by which it joins, stays or commits (in
-- KIP-848: by which it joins), a dynamic one none, and no member names the member id of another.
-- Only a static member leaves with epoch -2.
-- why: Of two processes with one instance id the coordinator fences the older, by this name; a
--   request without it comes from a member that cannot be fenced.
-- source: KIP-345, Static Membership; KIP-848, ConsumerGroupHeartbeat
-- id: X52 | rows: members | unit: requests | measured: in another's name, or without its own |
--   high: did not say who it was | kind: in passing

-- let FOR_THE_ID = 'LEAVE_GROUP', 'TXN_OFFSET_COMMIT'
--   Requests that name a member id, and an instance id as the client likes.

-- let SAYS
{FIRST_ODD} AS wrong,
concat(count(*), ' requests of ', coalesce(concat('static ', max(own)), 'a dynamic member')) AS note

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
), judged AS (
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
)
{ODD_ONES} GROUP BY subject
