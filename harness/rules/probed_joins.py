"""What probes that join a group are answered: who they are, who leads, and who else is there."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

# Answers after which the coordinator keeps nothing of a join.
REFUSALS: Final = """
    :INCONSISTENT_GROUP_PROTOCOL, :UNKNOWN_MEMBER_ID, :INVALID_SESSION_TIMEOUT, :MEMBER_ID_REQUIRED,
    :GROUP_MAX_SIZE_REACHED, :FENCED_INSTANCE_ID
"""
# JoinGroups of probes that were accepted, in groups of their own. `others` are those that joined
# the same generation meanwhile; a static member that takes its place in a stable group is told of a
# generation that is complete, and is none of them. `failed` are joins without an answer, and those
# that a coordinator could not complete: who sent one may be a member all the same, as a static one
# is whose join could not be written to the log. `lost` counts those that name no member id.
JOINED: Final = """
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
               get_json_object(c.answer, '$.protocolType') AS told_type,
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
"""


@Rule(
    "X108",
    title="A generation has one leader, which is told its members",
    statement="All members of a generation are told the same leader, and it is one of them. The "
    "leader is told each member of the generation once, with its instance id and the metadata by "
    "which it joined, and nobody else. Only a static leader that joins again in a stable group is "
    "told to skip the assignment.",
    source="ClassicGroup.currentClassicGroupMembers and maybeElectNewJoinedLeader; KIP-345; "
    "KIP-814",
    unit="members",
    things="answers to JoinGroup",
    matters="The leader gives partitions to those that it is told of: who is left out reads "
    "nothing, and the share of a stranger is read by nobody.",
    broker=True,
    protocols=CLASSIC,
    in_passing=True,
)
def leader_knows_the_members() -> str:
    """Each accepted join by its leader, and each list of members by who joined.

    A static member is listed if it has not joined again, too, as it was when it joined last.
    """
    return """
        {JOINED}, listed AS (
            SELECT j.`group`, j.subject, j.sent_at, j.answered_at, j.generation, j.protocol,
                   size(array_distinct(transform(j.members, m -> m.memberId))) < size(j.members)
                       AS twice,
                   j.lost, one.*
            FROM joined j LATERAL VIEW explode(j.members) AS one
            WHERE NOT j.later AND NOT j.skips
        ), claims AS (
            SELECT `group`, sent_at, member_id, CAST(NULL AS STRING) AS by_instance, instance_id,
                   generation, offers
            FROM joined
            UNION ALL
            SELECT `group`, sent_at, named, instance_id, instance_id, 0, offers FROM failed
        ), known AS (
            SELECT l.subject, l.sent_at, l.memberId, l.groupInstanceId, l.metadata, l.twice, l.lost,
                   k.sent_at AS known_at, k.instance_id, k.generation = l.generation AS in_time,
                   get(filter(k.offers, o -> o.name = l.protocol), 0).metadata AS given
            FROM listed l LEFT JOIN claims k
              ON k.`group` = l.`group` AND k.generation <= l.generation
             AND k.sent_at <= l.answered_at
             AND (k.member_id = l.memberId OR k.by_instance = l.groupInstanceId)
        ), found AS (
            SELECT subject, sent_at, memberId, groupInstanceId, metadata, twice, lost,
                   count(known_at) AS joins, max(instance_id) AS instance_id,
                   collect_set(given) FILTER (WHERE in_time) AS now, collect_set(given) AS ever
            FROM known GROUP BY subject, sent_at, memberId, groupInstanceId, metadata, twice, lost
        ), strange AS (
            SELECT subject, sent_at, max(lost) AS lost, count_if(joins = 0) AS strangers,
                   min(CASE WHEN twice THEN 'was told of a member twice'
                            WHEN joins > 0 AND NOT groupInstanceId <=> instance_id
                            THEN clause('was told the instance id ',
                                        coalesce(groupInstanceId, 'none'), ' of ', memberId)
                            WHEN size(IF(size(now) > 0, now, ever)) > 0
                                 AND NOT coalesce(array_contains(
                                         IF(size(now) > 0, now, ever), metadata), false)
                            THEN clause('was told another subscription of ', memberId, ' than it ',
                                        'joined with') END) AS odd
            FROM found GROUP BY subject, sent_at
        ), missing AS (
            SELECT j.subject, j.sent_at, min(o.other) AS missing
            FROM joined j JOIN others o ON same(o, j, subject, sent_at, member_id)
            WHERE size(j.members) > 0 AND NOT j.skips
              AND NOT exists(j.members, m -> coalesce(m.memberId = o.other, false)
                                          OR coalesce(m.groupInstanceId = o.other_instance, false))
            GROUP BY j.subject, j.sent_at
        ), led AS (
            SELECT j.subject, j.sent_at, j.leader, j.lost, max(o.other_leader) FILTER (
                       WHERE o.other_leader <> j.leader) AS other_leader
            FROM joined j JOIN others o ON same(o, j, subject, sent_at, member_id)
            GROUP BY ALL
        ), leading AS (
            SELECT l.subject, l.sent_at, l.leader, l.lost, l.other_leader,
                   count(k.sent_at) AS joins
            FROM led l JOIN joined j ON same(j, l, subject, sent_at)
            LEFT JOIN claims k
              ON k.`group` = j.`group` AND k.generation IN (0, j.generation)
             AND k.member_id = l.leader
            GROUP BY ALL
        ), skipping AS (
            SELECT j.subject, j.sent_at, j.instance_id, j.leader, j.member_id, j.lost,
                   count(k.sent_at) AS before
            FROM joined j LEFT JOIN joined k
              ON same(k, j, `group`, generation, instance_id) AND k.answered_at <= j.sent_at
            WHERE j.skips GROUP BY ALL
        )
        SELECT concat(s.subject, ', members') AS subject, s.sent_at AS at,
               CASE WHEN s.odd IS NOT NULL THEN s.odd
                    WHEN m.missing IS NOT NULL THEN clause('was not told of ', m.missing)
                    WHEN s.strangers > 0 AND s.lost = 0
                    THEN clause('was told of ', s.strangers, ' that never joined') END AS wrong,
               IF(s.strangers > 0 AND s.lost > 0 AND s.odd IS NULL AND m.missing IS NULL,
                  'was told of one whose join may be without an answer', NULL) AS unknown
        FROM strange s LEFT JOIN missing m ON same(m, s, subject, sent_at)
        UNION ALL
        SELECT subject, sent_at,
               CASE WHEN other_leader IS NOT NULL
                    THEN clause('was told that ', leader, ' leads, and another that ',
                                other_leader, ' does')
                    WHEN joins = 0 AND lost = 0
                    THEN clause('was told that ', leader, ' leads, which did not join') END,
               IF(joins = 0 AND lost > 0 AND other_leader IS NULL,
                  'has a leader whose join may be without an answer', NULL)
        FROM leading
        UNION ALL
        SELECT concat(subject, ', assignment'), sent_at,
               CASE WHEN instance_id IS NULL OR leader <> member_id
                      OR before = 0 AND lost = 0
                    THEN 'was told to skip the assignment, and is no static leader of before' END,
               IF(before = 0 AND lost > 0, 'may have joined without an answer before', NULL)
        FROM skipping
    """


@Rule(
    "X109",
    title="A join is answered to who asked, for what all offer",
    statement="A JoinGroup that names a member id is answered with that id. It is told the "
    "protocol type that it asked with, and a protocol that all members of the generation have "
    "offered, and all are told the same. A SyncGroup is answered with the protocol that it names.",
    source="document 001, JoinGroup; ClassicGroup.selectProtocol; KIP-559",
    unit="answers",
    things="answers to JoinGroup and SyncGroup",
    matters="A client takes over the id that it is told, and computes or reads assignments by the "
    "protocol that it is told.",
    broker=True,
    protocols=CLASSIC,
    in_passing=True,
)
def answered_as_asked() -> str:
    """Accepted joins and SyncGroups; versions that name no protocol type are not asked for it."""
    return """
        {JOINED}, agreed AS (
            SELECT j.subject, j.sent_at, j.named, j.member_id, j.asked_type, j.told_type,
                   j.protocol, NOT exists(j.offers, o -> o.name = j.protocol) AS strange,
                   count_if(NOT exists(o.other_offers, p -> p.name = j.protocol)) AS without,
                   max(o.other_protocol) FILTER (WHERE o.other_protocol <> j.protocol)
                       AS other_protocol
            FROM joined j LEFT JOIN others o ON same(o, j, subject, sent_at, member_id)
            GROUP BY ALL
        ), synced AS (
            SELECT concat(step, ' (', `group`, ')') AS subject, sent_at,
                   get_json_object(request, '$.protocolType') AS asked_type,
                   get_json_object(answer, '$.protocolType') AS told_type,
                   get_json_object(request, '$.protocolName') AS asked,
                   get_json_object(answer, '$.protocolName') AS told
            FROM {calls} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
        )
        SELECT subject, sent_at AS at,
               CASE WHEN named <> member_id
                    THEN clause('named the member id ', named, ' and was answered ', member_id)
                    WHEN asked_type <> told_type
                    THEN clause('asked as ', asked_type, ' and was answered as ', told_type)
                    WHEN strange OR without > 0
                    THEN clause('was told ', protocol, ', which not all members offer')
                    WHEN other_protocol IS NOT NULL
                    THEN clause('was told ', protocol, ' and another ', other_protocol)
                    END AS wrong
        FROM agreed
        UNION ALL
        SELECT subject, sent_at,
               CASE WHEN asked_type <> told_type
                    THEN clause('asked as ', asked_type, ' and was answered as ', told_type)
                    WHEN asked <> told
                    THEN clause('named ', asked, ' and was answered ', told) END
        FROM synced
    """
