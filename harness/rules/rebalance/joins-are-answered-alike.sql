-- A join is answered to who asked, and all members alike
-- A JoinGroup that names a member id is answered with that id, with the protocol type that it asked
-- with, and with a protocol that all members of the generation have offered, the same for all. A
-- SyncGroup is answered with the protocol that it names. All members get the same leader, and it is
-- one of them. The leader gets each member of the generation once, with its instance id and the
-- metadata by which it joined, and no other. Only a static leader that joins again in a stable
-- group has to skip the assignment.
-- why: A client takes over the id in the answer, and computes or reads assignments by the protocol
--   in it. A member that its leader does not get reads nothing, and the share of a stranger is not
--   read.
-- source: document 001, JoinGroup; ClassicGroup.selectProtocol, currentClassicGroupMembers and
--   maybeElectNewJoinedLeader; KIP-345; KIP-559; KIP-814
-- id: X108 | was: X109 | rows: answers to JoinGroup and SyncGroup | unit: answers | protocols:
--   classic | kind: broker, in passing
--
-- A static member that has not joined again is listed, too, as it was when it joined last.
--
-- JoinGroups of probes that were accepted, in groups of their own. `others` are those that joined
-- the same generation at that time; a static member that takes its place in a stable group joins
-- one that is complete, and is none of them. `failed` are joins without an answer, and those that
-- a coordinator could not complete: their sender may be a member all the same. `lost` counts
-- those that name no member id.

-- let GIVEN = get(filter(k.offers, o -> o.name = l.protocol), 0).metadata

-- let REFUSALS
--   Answers after which the coordinator keeps nothing of a join.
:INCONSISTENT_GROUP_PROTOCOL, :UNKNOWN_MEMBER_ID, :INVALID_SESSION_TIMEOUT, :MEMBER_ID_REQUIRED,
:GROUP_MAX_SIZE_REACHED, :FENCED_INSTANCE_ID

-- query
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
), listed AS (
    SELECT j.`group`, j.subject, j.sent_at, j.answered_at, j.generation, j.protocol, j.lost, one.*,
           size(array_distinct(transform(j.members, m -> m.memberId))) < size(j.members) AS twice
    FROM joined j LATERAL VIEW explode(j.members) AS one
    WHERE NOT j.later AND NOT j.skips
), claims AS (
    SELECT `group`, sent_at, member_id, CAST(NULL AS STRING) AS by_instance, instance_id,
           generation, offers
    FROM joined
    UNION ALL
    SELECT `group`, sent_at, named, instance_id, instance_id, 0, offers FROM failed
), found AS (
    SELECT l.*, count(k.sent_at) AS joins, max(k.instance_id) AS instance_id,
           collect_set({GIVEN}) FILTER (WHERE k.generation = l.generation) AS now,
           collect_set({GIVEN}) AS ever
    FROM listed l LEFT JOIN claims k
      ON k.`group` = l.`group` AND k.generation <= l.generation
     AND k.sent_at <= l.answered_at
     AND (k.member_id = l.memberId OR k.by_instance = l.groupInstanceId)
    GROUP BY ALL
), strange AS (
    SELECT subject, sent_at, max(lost) AS lost, count_if(joins = 0) AS strangers,
           min(CASE WHEN twice THEN 'got a member twice'
                    WHEN joins > 0 AND NOT groupInstanceId <=> instance_id
                    THEN clause('got the instance id ',
                                coalesce(groupInstanceId, 'none'), ' of ', memberId)
                    WHEN size(IF(size(now) > 0, now, ever)) > 0
                         AND NOT coalesce(array_contains(
                                 IF(size(now) > 0, now, ever), metadata), false)
                    THEN clause('got another subscription of ', memberId, ' than it ',
                                'joined with') END) AS odd
    FROM found GROUP BY subject, sent_at
), missing AS (
    SELECT j.subject, j.sent_at, min(o.other) AS missing
    FROM joined j JOIN others o ON same(o, j, subject, sent_at, member_id)
    WHERE size(j.members) > 0 AND NOT j.skips
      AND NOT exists(j.members, m -> coalesce(m.memberId = o.other, false)
                                  OR coalesce(m.groupInstanceId = o.other_instance, false))
    GROUP BY j.subject, j.sent_at
), agreed AS (
    SELECT j.*, count(k.sent_at) AS joins,
           NOT exists(j.offers, o -> o.name = j.protocol) AS strange,
           count_if(NOT exists(o.other_offers, p -> p.name = j.protocol)) AS without,
           max(o.other_protocol) FILTER (WHERE o.other_protocol <> j.protocol)
               AS other_protocol,
           max(o.other_leader) FILTER (WHERE o.other_leader <> j.leader) AS other_leader
    FROM joined j LEFT JOIN others o ON same(o, j, subject, sent_at, member_id)
    LEFT JOIN claims k
      ON k.`group` = j.`group` AND k.generation IN (0, j.generation) AND k.member_id = j.leader
    GROUP BY ALL
), led AS (
    SELECT *,
           CASE WHEN named <> member_id
                THEN clause('named the member id ', named, ' and was answered ', member_id)
                WHEN asked_type <> given_type
                THEN clause('asked as ', asked_type, ' and was answered as ', given_type)
                WHEN strange OR without > 0
                THEN clause('was answered ', protocol, ', which not all members offer')
                WHEN other_protocol IS NOT NULL
                THEN clause('was answered ', protocol, ' and another ', other_protocol)
                WHEN other_leader IS NOT NULL
                THEN clause('was answered that ', leader, ' leads, and another that ',
                            other_leader, ' does')
                WHEN NOT later AND joins = 0 AND lost = 0
                THEN clause('was answered that ', leader, ' leads, which did not join')
                END AS odd
    FROM agreed
), synced AS (
    SELECT concat(step, ' (', `group`, ')') AS subject, sent_at,
           get_json_object(request, '$.protocolType') AS asked_type,
           get_json_object(answer, '$.protocolType') AS given_type,
           get_json_object(request, '$.protocolName') AS asked,
           get_json_object(answer, '$.protocolName') AS given
    FROM {calls} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
), skipping AS (
    SELECT j.*, count(k.sent_at) AS before
    FROM joined j LEFT JOIN joined k
      ON same(k, j, `group`, generation, instance_id) AND k.answered_at <= j.sent_at
    WHERE j.skips GROUP BY ALL
)
SELECT concat(s.subject, ', members') AS subject, s.sent_at AS at,
       CASE WHEN s.odd IS NOT NULL THEN s.odd
            WHEN m.missing IS NOT NULL THEN clause('did not get ', m.missing)
            WHEN s.strangers > 0 AND s.lost = 0
            THEN clause('got ', s.strangers, ' that never joined') END AS wrong,
       IF(s.strangers > 0 AND s.lost > 0 AND s.odd IS NULL AND m.missing IS NULL,
          'got one whose join may be without an answer', NULL) AS unknown
FROM strange s LEFT JOIN missing m ON same(m, s, subject, sent_at)
UNION ALL
SELECT subject, sent_at, odd,
       IF(NOT later AND joins = 0 AND lost > 0 AND odd IS NULL,
          'has a leader whose join may be without an answer', NULL)
FROM led
UNION ALL
SELECT subject, sent_at,
       CASE WHEN asked_type <> given_type
            THEN clause('asked as ', asked_type, ' and was answered as ', given_type)
            WHEN asked <> given
            THEN clause('named ', asked, ' and was answered ', given) END, NULL
FROM synced
UNION ALL
SELECT concat(subject, ', assignment'), sent_at,
       CASE WHEN instance_id IS NULL OR leader <> member_id
              OR before = 0 AND lost = 0
            THEN 'had to skip the assignment, and is no static leader of before' END,
       IF(before = 0 AND lost > 0, 'may have joined without an answer before', NULL)
FROM skipping
