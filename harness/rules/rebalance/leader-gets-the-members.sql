-- A generation has one leader, which gets its members
-- All members of a generation get the same leader, and it is one of them. The leader gets each
-- member of the generation once, with its instance id and the metadata by which it joined, and no
-- other. Only a static leader that joins again in a stable group has to skip the assignment.
-- why: The leader gives partitions to those that it gets: a member that is left out reads nothing,
--   and the share of a stranger is not read.
-- source: ClassicGroup.currentClassicGroupMembers and maybeElectNewJoinedLeader; KIP-345; KIP-814
-- id: X108 | rows: answers to JoinGroup | unit: members | protocols: classic | kind: broker, in
--   passing
--
-- A static member that has not joined again is listed, too, as it was when it joined last.

-- let GIVEN = get(filter(k.offers, o -> o.name = l.protocol), 0).metadata

{JOINED}, listed AS (
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
), leading AS (
    SELECT j.*, count(k.sent_at) AS joins,
           max(o.other_leader) FILTER (WHERE o.other_leader <> j.leader) AS other_leader
    FROM joined j JOIN others o ON same(o, j, subject, sent_at, member_id)
    LEFT JOIN claims k
      ON k.`group` = j.`group` AND k.generation IN (0, j.generation) AND k.member_id = j.leader
    GROUP BY ALL
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
SELECT subject, sent_at,
       CASE WHEN other_leader IS NOT NULL
            THEN clause('was answered that ', leader, ' leads, and another that ',
                        other_leader, ' does')
            WHEN joins = 0 AND lost = 0
            THEN clause('was answered that ', leader, ' leads, which did not join') END,
       IF(joins = 0 AND lost > 0 AND other_leader IS NULL,
          'has a leader whose join may be without an answer', NULL)
FROM leading
UNION ALL
SELECT concat(subject, ', assignment'), sent_at,
       CASE WHEN instance_id IS NULL OR leader <> member_id
              OR before = 0 AND lost = 0
            THEN 'had to skip the assignment, and is no static leader of before' END,
       IF(before = 0 AND lost > 0, 'may have joined without an answer before', NULL)
FROM skipping
