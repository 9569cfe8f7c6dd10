-- The older of two static members gets FENCED_INSTANCE_ID
-- When a second member joins with the group.instance.id of a live one, every later request of the
-- older one is answered FENCED_INSTANCE_ID (82), and the newer one has its place.
-- why: The first of two processes that share a group.instance.id by mistake has to stop.
-- source: KIP-345; ClassicGroup.validateMember
-- id: X05-wire | rows: requests after the second join | unit: error code | protocols: classic |
--   kind: broker

WITH calls AS (
    SELECT p.*, IF(p.member_id = m.member_id, 'older', 'newer') AS owner_is
    FROM {probe_members} m JOIN {probed} p ON same(p, m, `group`, instance_id)
     AND p.member_id IN (m.member_id, m.replaced_by) AND p.sent_at > m.replaced_at
    -- A rejoin after leaving is no duplicate.
    WHERE m.replaced_by IS NOT NULL AND m.ended_by = 'replaced'
)
SELECT subject, sent_at AS at,
       IF(IF(owner_is = 'older', error_code <> :FENCED_INSTANCE_ID,
             error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID)),
          clause('was answered ', error_code, ' as the ', owner_is, ' member'), NULL) AS wrong,
       concat('answered ', error_code, ' as the ', owner_is, ' member') AS note
FROM calls
