-- A member says who it is
-- A static member names its own instance id in each request by which it joins, stays or commits (in
-- KIP-848: by which it joins), a dynamic one none, and no member names the member id of another.
-- why: Of two processes with one instance id the coordinator fences the older, by this name; a
--   request without it comes from a member that cannot be fenced.
-- source: KIP-345, Static Membership; KIP-848, ConsumerGroupHeartbeat
-- id: X52 | rows: members | unit: requests | measured: in another's name, or without its own |
--   high: did not say who it was | kind: in passing
--
-- Each member's requests beside its settings; what a program is called is not known here.

-- let FOR_THE_ID = 'LEAVE_GROUP', 'TXN_OFFSET_COMMIT'
--   What names a member id, and an instance id as its client likes.

WITH asked AS (
    SELECT r.member, r.member_id, r.api, r.arrived_at, r.generation, r.evidence,
           r.instance_id AS named, m.instance_id AS own,
           min(r.member) OVER (PARTITION BY r.member_id) AS first_member,
           min(r.arrived_at) OVER (PARTITION BY r.member_id, r.member) AS since_at
    FROM {own_requests} r JOIN {members} m ON m.member = r.member
    WHERE m.role = 'consumer' AND :client <> 'app'
      AND r.api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'OFFSET_COMMIT',
                    'CONSUMER_GROUP_HEARTBEAT', {FOR_THE_ID})
), owners AS (
    SELECT member_id, min_by(member, since_at) AS owner FROM asked
    WHERE member_id IS NOT NULL GROUP BY member_id
), judged AS (
    SELECT a.*,
           CASE WHEN o.owner <> a.member THEN concat('the member id of ', o.owner)
                WHEN a.own IS NULL AND a.api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT')
                     AND a.member_id NOT LIKE concat(a.member, '-%')
                THEN concat('the member id ', a.member_id)
                WHEN a.api IN ({FOR_THE_ID}) THEN NULL
                WHEN a.named <> a.own OR a.named IS NOT NULL AND a.own IS NULL
                THEN concat('the instance id ', a.named)
                WHEN a.own IS NOT NULL AND a.named IS NULL
                     AND (a.api <> 'CONSUMER_GROUP_HEARTBEAT' OR a.generation = 0)
                THEN 'no instance id' END AS odd
    FROM asked a LEFT JOIN owners o ON o.member_id = a.member_id
), worst AS (
    SELECT member, max(own) AS own, min(arrived_at) AS at, count(*) AS requests,
           count_if(odd IS NOT NULL) AS times,
           min(struct(arrived_at, evidence, api, odd)) FILTER (WHERE odd IS NOT NULL)
               AS first
    FROM judged GROUP BY member
)
SELECT concat(member, ' (identity)') AS subject, coalesce(first.arrived_at, at) AS at,
       times AS measured, 0 AS bound_high,
       IF(times > 0, clause('named ', first.odd, ' in a ', first.api), NULL) AS wrong,
       concat(requests, ' requests of ',
              coalesce(concat('static ', own), 'a dynamic member')) AS note,
       first.evidence AS evidence
FROM worst
