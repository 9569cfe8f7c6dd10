-- What probes that join a group are answered: who they are, who leads, and who else is there.

-- let JOINED
--   JoinGroups of probes that were accepted, in groups of their own. `others` are those that joined
--   the same generation at that time; a static member that takes its place in a stable group joins
--   one that is complete, and is none of them. `failed` are joins without an answer, and those that
--   a coordinator could not complete: their sender may be a member all the same. `lost` counts
--   those that name no member id.
WITH asked AS (
    SELECT c.`group`, c.step, c.sent_at, c.answered_at, c.error_code, c.instance_id,
           c.member_id AS named, concat(c.step, ' (', c.`group`, ')') AS subject,
           c.instance_id IS NOT NULL AND coalesce(c.state_before = 'Stable', true) AS later,
           get_json_object(c.request, '$.protocolType') AS asked_type,
           from_json(get_json_object(c.request, '$.protocols'),
                     'array<struct<name:string,metadata:string>>') AS offers,
           get_json_object(c.answer, '$.memberId') AS member_id,
           CAST(get_json_object(c.answer, '$.generationId') AS INT) AS generation,
           get_json_object(c.answer, '$.leader') AS leader,
           get_json_object(c.answer, '$.protocolType') AS given_type,
           get_json_object(c.answer, '$.protocolName') AS protocol,
           coalesce(get_json_object(c.answer, '$.skipAssignment') = 'true', false) AS skips,
           from_json(get_json_object(c.answer, '$.members'),
                     'array<struct<memberId:string,groupInstanceId:string,metadata:string>>')
               AS members
    FROM {calls} c LEFT ANTI JOIN {calls} k
      ON k.`group` = c.`group` AND k.api = 'CONSUMER_GROUP_HEARTBEAT'
    WHERE c.api = 'JOIN_GROUP' AND c.`group` <> :group
), failed AS (
    SELECT * FROM asked WHERE coalesce(error_code NOT IN (:NONE, {REFUSALS}), true)
), joined AS (
    SELECT a.*, count(f.sent_at) AS lost
    FROM (SELECT * FROM asked WHERE error_code = :NONE) a LEFT JOIN failed f
      ON f.`group` = a.`group` AND f.named IS NULL AND f.sent_at <= a.answered_at
    GROUP BY ALL
), others AS (
    SELECT j.`group`, j.subject, j.sent_at, j.member_id, o.member_id AS other,
           o.instance_id AS other_instance, o.leader AS other_leader,
           o.protocol AS other_protocol, o.offers AS other_offers
    FROM joined j JOIN joined o
      ON same(o, j, `group`, generation) AND o.sent_at <= j.answered_at
     AND o.answered_at >= j.sent_at
    WHERE NOT o.later AND NOT j.later
)

-- let REFUSALS
--   Answers after which the coordinator keeps nothing of a join.
:INCONSISTENT_GROUP_PROTOCOL, :UNKNOWN_MEMBER_ID, :INVALID_SESSION_TIMEOUT, :MEMBER_ID_REQUIRED,
:GROUP_MAX_SIZE_REACHED, :FENCED_INSTANCE_ID
