-- What was given to whom, one row per generation and partition.
--
-- By the group leader; or, in a group of KIP-848, by the coordinator, as the members had last heard
-- when the next target was computed; classic members of such a group by SYNC_GROUP. There,
-- `removed_at` is when a member's stay ended in which it heard.

WITH targets AS (
    SELECT broker, generation, at, lead(at) OVER (PARTITION BY 1 ORDER BY at) AS next_at
    FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
), heard AS (
    SELECT x.broker, x.generation, r.member_id,
           greatest(max(r.processed_at), max(x.at)) AS at,
           max_by(r.evidence, r.processed_at) AS evidence,
           max_by(r.assigned, r.processed_at) AS assigned,
           max(m.removed_at) AS removed_at
    FROM targets x JOIN {own_requests} r
      ON r.api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP') AND r.error_code = :NONE
     AND r.assigned IS NOT NULL AND coalesce(r.member_epoch, r.generation) <= x.generation
     AND (x.next_at IS NULL OR r.arrived_at < x.next_at)
    JOIN {memberships} m
      ON m.member_id = r.member_id AND (m.since_at IS NULL OR r.arrived_at > m.since_at)
     AND (m.until_at IS NULL OR r.arrived_at <= m.until_at)
     AND (m.removed_at IS NULL OR m.removed_at > x.at)
    GROUP BY x.broker, x.generation, r.member_id
), given AS (
    SELECT broker, generation, processed_at AS at, evidence, p.member_id, p.topic, p.partition,
           CAST(NULL AS TIMESTAMP) AS removed_at
    FROM {own_requests} LATERAL VIEW explode(assignments) AS p
    WHERE api = 'SYNC_GROUP' AND error_code = :NONE
    UNION ALL
    SELECT broker, generation, at, evidence, member_id, p.topic, p.partition, removed_at
    FROM heard LATERAL VIEW explode(assigned) AS p
)
SELECT g.broker, g.generation, g.at, g.removed_at, g.evidence, g.member_id,
       coalesce(m.member, g.member_id) AS member, m.instance_id, g.topic, g.partition
FROM given g LEFT JOIN {identities} m ON m.member_id = g.member_id
