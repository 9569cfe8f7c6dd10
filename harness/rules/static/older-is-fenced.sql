-- The older of two members with one instance id is fenced
-- When a second process joins with the instance id of a live member, each later request of the
-- first one is refused with FENCED_INSTANCE_ID (82), and its client gives up for good. The newer
-- one has its place.
-- why: A group.instance.id that is used twice by mistake stops the process that was there first.
-- source: KIP-345; FENCED_INSTANCE_ID; ClassicGroup.validateMember
-- id: X05 | was: X05-wire | rows: live members that were replaced, and requests of probes | unit:
--   ms | measured: until it was refused | high: was refused too late | protocols: classic | delayed
--   by: member, toxiproxy, broker
--
-- A member that was replaced by itself, having thrown its id away when its own session ended, is no
-- second process. Lines are stamped some milliseconds late, so what seems to come just after the
-- replacement may have come before it.

WITH {REPLACEMENTS},
asked AS (
    SELECT r.at, r.instance_id, r.new, r.evidence, s.member, m.`end`, m.ended_at,
           count(q.arrived_at) AS requests,
           count_if(q.error_code = :NONE AND q.arrived_at > after(:slack_ms, r.at))
               AS accepted,
           min(struct(q.processed_at, q.api))
               FILTER (WHERE q.error_code = :FENCED_INSTANCE_ID) AS refused
    FROM replacements r JOIN {memberships} s ON s.member_id = r.member_id
    JOIN {members} m ON m.member = s.member
    LEFT JOIN {requests} q
      ON q.member_id = r.member_id AND q.arrived_at > r.at
     AND q.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
    GROUP BY ALL
), probed AS (
    SELECT p.*, IF(p.member_id = m.member_id, 'older', 'newer') AS owner_is
    FROM {probe_members} m JOIN {probed} p ON same(p, m, `group`, instance_id)
     AND p.member_id IN (m.member_id, m.replaced_by) AND p.sent_at > m.replaced_at
    -- A rejoin after leaving is no duplicate.
    WHERE m.replaced_by IS NOT NULL AND m.ended_by = 'replaced'
)
SELECT concat(member, ' (', instance_id, ')') AS subject, at,
       ms_between(at, refused.processed_at) AS measured,
       :heartbeat_ms + :cadence_ms + :slack_ms AS bound_high,
       CASE WHEN accepted > 0
            THEN clause('had requests accepted after it was replaced: ', accepted)
            WHEN refused.processed_at IS NULL
            THEN 'was never refused with FENCED_INSTANCE_ID'
            WHEN coalesce(`end` <> 'failed', true) THEN 'its client went on' END AS wrong,
       concat('refused by ', refused.api, '; ',
              coalesce(new.member, 'another process'), ' took its place') AS note,
       evidence, at AS guard_from, guard_to(refused.processed_at) AS guard_to
FROM asked
WHERE (requests > 0 OR ended_at > at) AND coalesce(new.member <> member, true)
UNION ALL
SELECT subject, sent_at, NULL, NULL,
       IF(IF(owner_is = 'older', error_code <> :FENCED_INSTANCE_ID,
             error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID)),
          clause('was answered ', error_code, ' as the ', owner_is, ' member'), NULL),
       concat('answered ', error_code, ' as the ', owner_is, ' member'), NULL, NULL, NULL
FROM probed
