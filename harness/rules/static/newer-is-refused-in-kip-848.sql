-- In KIP-848 the newer of two with one instance id is refused
-- A process that joins with the instance id of a member that has neither left temporarily nor been
-- removed is refused with UNRELEASED_INSTANCE_ID, and its client gives up for good.
-- why: A process that crashed cannot start again before its former session ends.
-- source: KIP-848, Static membership; UNRELEASED_INSTANCE_ID
-- id: X05-unreleased | rows: joins with an instance id in use | unit: ms | measured: after the
--   owner's last heartbeat | protocols: consumer
--
-- The owner may be alive or dead, which the coordinator does not know: its silence at that time is
-- what is measured. What an unready coordinator answers proves nothing.

WITH owned AS (
    SELECT j.member_id, j.member, j.instance_id, j.error_code, j.arrived_at, j.evidence,
           o.member AS owner,
           o.removed_at <= j.processed_at AND o.removed_by <> 'replaced' AS going,
           max(b.processed_at) FILTER (WHERE b.arrived_at <= j.arrived_at) AS seen_at,
           count_if(b.arrived_at > j.arrived_at
                    AND coalesce(b.arrived_at < o.removed_at, true)
                    AND b.error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID,
                                         :FENCED_MEMBER_EPOCH, :UNRELEASED_INSTANCE_ID))
               AS refusals
    FROM {consumer_heartbeats} j JOIN {memberships} o
      ON o.instance_id = j.instance_id AND o.member_id <> j.member_id
     AND o.joined_at <= j.arrived_at
     AND (o.removed_at IS NULL OR j.arrived_at < {SEEN_AS_GONE})
    JOIN {consumer_heartbeats} b ON b.member_id = o.member_id
    WHERE j.generation = 0 AND j.error_code NOT IN ({NOT_READY}) GROUP BY ALL
    HAVING count_if(b.generation = -2 AND b.arrived_at <= j.processed_at) = 0
)
SELECT concat(o.member, ' (', o.instance_id, ')') AS subject, arrived_at AS at,
       ms_between(seen_at, arrived_at) AS measured,
       IF(going, 'its owner was removed just then', NULL) AS unknown,
       CASE WHEN error_code = :NONE THEN clause('was let in, while ', owner, ' had the id')
            WHEN error_code <> :UNRELEASED_INSTANCE_ID
            THEN clause('was answered with error ', error_code)
            WHEN refusals > 0 THEN clause('was refused, and so was ', owner)
            WHEN p.member IS NOT NULL AND coalesce(p.`end` <> 'failed', true)
            THEN 'its client went on' END AS wrong,
       concat(owner, ' had the id') AS note, evidence
FROM owned o LEFT JOIN {members} p ON p.member = o.member
