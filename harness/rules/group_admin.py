"""What administrators' calls say of groups, and what they may do to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.group_apis import ANSWERED
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

_DESCRIBED = """
    WITH described AS (
        SELECT p.*, CAST(get_json_object(p.request, '$.version') AS INT) AS version,
               get_json_object(p.answer, '$.groups[0].groupState') AS told,
               from_json(get_json_object(p.answer, '$.groups[0].members'),
                         'array<struct<memberId:string,groupInstanceId:string,clientId:string,'
                         || 'clientHost:string,memberMetadata:string,memberAssignment:string>>')
                   AS members
        FROM {probed} p WHERE p.api = 'DESCRIBE_GROUPS'
    )
"""


def _describe(t: Tables) -> Frame:
    """Each member of each described group, and each description as a whole."""
    return t.sql(
        _DESCRIBED
        + """
        , told AS (
            SELECT d.* EXCEPT (members), one.*
            FROM described d LATERAL VIEW explode(members) AS one WHERE d.state IS NOT NULL
        ),
        parts AS (
            SELECT `group`, member_id, sent_at,
                   get_json_object(answer, '$.assignment') AS assignment
            FROM {calls} WHERE api = 'SYNC_GROUP' AND error_code = 0
        ),
        known AS (
            SELECT t.call, t.subject, t.sent_at, t.state, t.memberId, t.clientId, t.clientHost,
                   t.memberMetadata, t.memberAssignment, t.probe, m.member_id,
                   m.instance_id <=> t.groupInstanceId AS same_instance, m.metadata,
                   max_by(s.assignment, s.sent_at) AS assignment
            FROM told t LEFT JOIN {probe_members} m
              ON m.`group` = t.`group` AND m.member_id = t.memberId AND m.from_at < t.sent_at
             AND (m.to_at IS NULL OR m.to_at > t.sent_at)
            LEFT JOIN parts s
              ON s.`group` = t.`group` AND s.member_id = t.memberId AND s.sent_at < t.sent_at
            WHERE t.`group` <> :group GROUP BY ALL
        ),
        judged AS (
            SELECT *, CASE WHEN member_id IS NULL THEN 'is no member'
                           WHEN NOT same_instance THEN 'has another instance id'
                           WHEN clientId <> concat('probe-', probe)
                           THEN concat('is said to be client ', clientId)
                           WHEN coalesce(length(clientHost), 0) = 0 THEN 'has no host'
                           WHEN memberMetadata <> CASE WHEN state = 'Stable' THEN metadata
                                                       ELSE '' END
                           THEN 'has other metadata than it must have'
                           WHEN memberAssignment <> coalesce(assignment, '')
                           THEN 'has another assignment than it was given last' END AS wrong
            FROM known
        )
        SELECT concat('member in ', subject) AS subject, sent_at AS at, wrong IS NULL AS ok,
               coalesce(wrong, 'as it joined and was assigned') AS why
        FROM judged
        UNION ALL
        SELECT subject, sent_at, error_code = 0 AND told = state AND size(members) = size,
               concat(told, ' with ', size(members), ' of ', size, ' members')
        FROM described WHERE state IS NOT NULL AND state <> 'Dead' AND `group` <> :group
        UNION ALL
        -- The group under test: no script made it, so its members are those of the request log.
        SELECT concat('member in ', t.subject), t.sent_at, m.member = t.clientId,
               concat(coalesce(m.member, 'nobody'), ' is described as client ', t.clientId)
        FROM told t LEFT JOIN {memberships} m
          ON m.member_id = t.memberId AND m.joined_at < t.sent_at
         AND (m.removed_at IS NULL OR m.removed_at > t.sent_at)
        WHERE t.`group` = :group
        """
    )


def _described_by_the_new_call(t: Tables) -> Frame:
    """Descriptions of a settled group of KIP-848, by its own call and by the classic one.

    The first tells each member as the script knows it, and nobody else; to the second there is no
    such group.
    """
    return t.sql(
        """
        WITH asked AS (
            SELECT step, sent_at, api, error_code, answer,
                   from_json(expected, 'map<string,struct<epoch:int,client:string,'
                         || 'partitions:array<int>>>')
                       AS members,
                   from_json(get_json_object(answer, '$.groups[0].members'),
                             'array<struct<memberId:string,memberEpoch:int,clientId:string,'
                             || 'clientHost:string,assignment:struct<topicPartitions:'
                             || 'array<struct<partitions:array<int>>>>>>') AS told,
                   get_json_object(answer, '$.groups[0].groupState') AS state
            FROM {calls} WHERE rule = 'R28-epoch'
        ),
        known AS (
            SELECT step, sent_at, each.key AS member_id, each.value AS member, state, told,
                   get(filter(told, m -> m.memberId = each.key), 0) AS found
            FROM asked LATERAL VIEW explode(map_entries(members)) AS each
            WHERE api = 'CONSUMER_GROUP_DESCRIBE'
        ),
        compared AS (
            SELECT step, sent_at, member_id,
                   CASE WHEN found IS NULL THEN 'is not told'
                        WHEN NOT found.memberEpoch <=> member.epoch
                        THEN concat('is said to be in epoch ',
                                    coalesce(string(found.memberEpoch), 'none'), ', not ',
                                    member.epoch)
                        WHEN NOT found.clientId <=> member.client
                        THEN concat('is said to be client ', coalesce(found.clientId, 'nobody'))
                        WHEN coalesce(length(found.clientHost), 0) = 0 THEN 'has no host'
                        WHEN NOT array_sort(flatten(transform(
                                 found.assignment.topicPartitions, p -> p.partitions)))
                             <=> member.partitions
                        THEN 'has another assignment than it was given' END AS wrong
            FROM known
        )
        SELECT concat('member ', member_id) AS subject, sent_at AS at, wrong IS NULL AS ok,
               coalesce(wrong, 'as it was told itself') AS why
        FROM compared
        UNION ALL
        SELECT step, sent_at, error_code = 0 AND state = 'Stable'
               AND size(told) = size(map_keys(members)),
               concat('answered ', error_code, coalesce(concat(', ', state), ''), ' with ',
                      coalesce(size(told), 0), ' of ', size(map_keys(members)), ' members')
        FROM asked WHERE api = 'CONSUMER_GROUP_DESCRIBE'
        UNION ALL
        SELECT step, sent_at, error_code = 69 AND state = 'Dead',
               concat('answered ', error_code, coalesce(concat(', ', state), ''))
        FROM asked WHERE api = 'DESCRIBE_GROUPS'
        """
    )


def _unknown_is_dead(t: Tables) -> Frame:
    """By the newest version of the call that both sides know: the one that clients use."""
    return t.sql(
        _DESCRIBED
        + """
        , newest AS (SELECT max(version) AS version FROM described)
        SELECT d.subject, d.sent_at AS at, d.error_code = 0 AND d.told = 'Dead' AS ok,
               concat('version ', d.version, ' answered ', d.error_code, ', ', d.told) AS why
        FROM described d JOIN newest n ON n.version = d.version WHERE d.state = 'Dead'
        """
    )


def _unknown_group(t: Tables) -> Frame:
    return t.sql(
        _DESCRIBED
        + """
        SELECT subject, sent_at AS at,
               told = 'Dead' AND error_code = CASE WHEN version >= 6 THEN 69 ELSE 0 END AS ok,
               concat('version ', version, ' answered ', error_code, ', ', told) AS why
        FROM described WHERE state = 'Dead'
        """
    )


def _list(t: Tables) -> Frame:
    return t.sql(
        """
        WITH coordinators AS (
            SELECT `group`, max(broker) AS coordinator FROM {calls}
            WHERE api = 'JOIN_GROUP' AND error_code = 0 GROUP BY `group`
        ),
        listed AS (
            SELECT p.*, c.coordinator,
                   get(filter(from_json(get_json_object(p.answer, '$.groups'),
                                        'array<struct<groupId:string,protocolType:string,'
                                        || 'groupState:string>>'),
                              one -> one.groupId = p.`group`), 0) AS found,
                   from_json(get_json_object(p.request, '$.statesFilter'),
                             'array<string>') AS states
            FROM {probed} p JOIN coordinators c USING (`group`) WHERE p.api = 'LIST_GROUPS'
        ),
        judged AS (
            SELECT *, broker = coordinator
                      AND (size(states) = 0 OR array_contains(states, state)) AS must
            FROM listed
        )
        SELECT concat(subject, ', broker ', broker) AS subject, sent_at AS at,
               CASE WHEN state IS NOT NULL THEN
                   error_code = 0 AND must = (found IS NOT NULL)
                   AND (found IS NULL OR found.groupState = state
                        AND found.protocolType = 'consumer')
               END AS ok,
               CASE WHEN found IS NULL THEN 'not listed' ELSE concat('listed as ', found.groupState)
               END AS why
        FROM judged
        """
    )


def _guards(t: Tables) -> Frame:
    """Deletes of groups and of positions, and positions set by nobody."""
    return t.sql(
        f"""
        WITH asked AS (
            SELECT *, get_json_object(request, '$.topics[0].name') AS topic FROM {{probed}}
        ),
        subscribed AS (
            SELECT a.call, bool_or(contains(unbase64(m.metadata),
                                            encode(a.topic, 'UTF-8'))) AS subscribed
            FROM asked a JOIN {{probe_members}} m
              ON m.`group` = a.`group` AND m.from_at < a.sent_at
             AND (m.to_at IS NULL OR m.to_at > a.sent_at)
            WHERE a.api = 'OFFSET_DELETE' GROUP BY a.call
        ),
        judged AS (
            SELECT a.*, CASE
                       WHEN api = 'DELETE_GROUPS' AND state_before = 'Empty' THEN 0
                       WHEN api = 'OFFSET_COMMIT' AND state_before IN ('Empty', 'Dead') THEN 0
                       WHEN state IS NULL THEN NULL
                       WHEN api = 'DELETE_GROUPS' AND state = 'Dead' THEN 69
                       WHEN api = 'DELETE_GROUPS' THEN 68
                       WHEN api = 'OFFSET_DELETE' AND state = 'Dead' THEN 69
                       WHEN api = 'OFFSET_DELETE'
                       THEN CASE WHEN coalesce(s.subscribed, false) THEN 86 ELSE 0 END
                       ELSE 25 END AS must
            FROM asked a LEFT JOIN subscribed s USING (call)
            WHERE api IN ('DELETE_GROUPS', 'OFFSET_DELETE')
               -- Too much metadata is another rule's matter.
               OR api = 'OFFSET_COMMIT' AND nobody AND error_code <> 12
        )
        SELECT subject, sent_at AS at, {ANSWERED} FROM judged
        UNION ALL
        SELECT concat('after it: ', subject), answered_at, state_after = 'Dead',
               concat('the group is in state ', state_after)
        FROM judged WHERE api = 'DELETE_GROUPS' AND error_code = 0
        """
    )


def _coordinators(t: Tables) -> Frame:
    """Java's hash of a group's name, computed here, against the leader that the observer saw."""
    return t.sql(
        """
        WITH found AS (
            SELECT c.sent_at, one.key, one.nodeId, one.errorCode
            FROM {calls} c LATERAL VIEW explode(from_json(
                get_json_object(c.answer, '$.coordinators'),
                'array<struct<key:string,nodeId:int,errorCode:int>>')) AS one
            WHERE c.api = 'FIND_COORDINATOR'
              AND coalesce(get_json_object(c.request, '$.keyType'), '0') = '0'
        ),
        hashed AS (
            SELECT *, aggregate(transform(sequence(1, length(key)), n -> ascii(substr(key, n, 1))),
                                0L, (hash, unit) -> pmod(hash * 31 + unit, 4294967296L)) AS bits
            FROM found
        ),
        sized AS (SELECT count(DISTINCT partition) AS partitions FROM {topology}
                  WHERE what = 'partition' AND topic = '__consumer_offsets'),
        placed AS (
            SELECT h.*, CASE WHEN bits = 2147483648L THEN 0
                             WHEN bits > 2147483648L THEN 4294967296L - bits
                             ELSE bits END % s.partitions AS partition
            FROM hashed h CROSS JOIN sized s WHERE s.partitions > 0
        )
        SELECT p.key AS subject, p.sent_at AS at,
               p.errorCode = 0 AND p.nodeId = max_by(l.leader, l.at) AS ok,
               concat('partition ', p.partition, ' is led by broker ', max_by(l.leader, l.at),
                      ', its coordinator is said to be broker ', p.nodeId) AS why
        FROM placed p JOIN {topology} l
          ON l.what = 'partition' AND l.topic = '__consumer_offsets' AND l.partition = p.partition
         AND l.at <= p.sent_at
        GROUP BY p.key, p.sent_at, p.errorCode, p.nodeId, p.partition
        """
    )


DESCRIBED = Rule(
    id="R28",
    title="DescribeGroups tells who is in a group",
    statement=(
        "A described group has each member with its id, instance id, client id, host and the "
        "assignment that it was given last; with its metadata only where the group is stable."
    ),
    source="seed 003, DESCRIBE_GROUPS; ClassicGroupMember.describe and describeNoMetadata",
    unit="members",
    things="described members and groups",
    measures="",
    examine=_describe,
    broker=True,
    protocols=CLASSIC,
)
DESCRIBED_BY_THE_NEW_CALL = Rule(
    id="R28-epoch",
    title="ConsumerGroupDescribe tells who is in a group of KIP-848",
    statement=(
        "ConsumerGroupDescribe gives each member with its epoch, client and the partitions that it "
        "was given last; to DescribeGroups there is no such group (GROUP_ID_NOT_FOUND, 69)."
    ),
    source="KIP-848, ConsumerGroupDescribe API; KIP-1043",
    unit="members",
    things="described members and groups",
    measures="",
    examine=_described_by_the_new_call,
    broker=True,
    protocols=("consumer",),
)
UNKNOWN_IS_DEAD = Rule(
    id="R28-dead",
    title="A group that does not exist is described as dead (documented, outdated)",
    statement="A group that does not exist is described as one in state Dead, without an error.",
    source="seed 003, DESCRIBE_GROUPS and the group's states",
    unit="descriptions",
    things="descriptions of groups that do not exist",
    measures="",
    examine=_unknown_is_dead,
    broker=True,
    protocols=CLASSIC,
)
UNKNOWN_GROUP = Rule(
    id="R28-unknown",
    title="A group that does not exist is not found",
    statement=(
        "A group that does not exist is described with GROUP_ID_NOT_FOUND (69) from DescribeGroups "
        "v6 on, and as Dead without an error before."
    ),
    source="KIP-1043; DescribeGroupsResponse v6",
    unit="descriptions",
    things="descriptions of groups that do not exist",
    measures="",
    examine=_unknown_group,
    broker=True,
    protocols=CLASSIC,
)
LISTED = Rule(
    id="R28-list",
    title="Each coordinator lists its groups",
    statement=(
        "ListGroups gives a group at its coordinator and nowhere else, with its state, and only if "
        "that is one of those asked for."
    ),
    source="seed 003, LIST_GROUPS; KIP-518",
    unit="answers",
    things="lists of groups",
    measures="",
    examine=_list,
    broker=True,
    protocols=CLASSIC,
)
GUARDS = Rule(
    id="X30",
    title="What members use cannot be deleted or altered",
    statement=(
        "A group with members cannot be deleted (NON_EMPTY_GROUP, 68), nor the positions of a "
        "topic that they subscribe to (GROUP_SUBSCRIBED_TO_TOPIC, 86), nor set by others "
        "(UNKNOWN_MEMBER_ID, 25); an empty group and its positions can; one that does not exist is "
        "not found (69)."
    ),
    source="seed 003, DELETE_GROUPS and OFFSET_DELETE; KIP-229; KIP-496",
    unit="error code",
    things="deletes and alterations",
    measures="",
    examine=_guards,
    broker=True,
    protocols=CLASSIC,
)
COORDINATORS = Rule(
    id="X13",
    title="A group's name decides its coordinator",
    statement=(
        "A group is coordinated by the leader of the partition of __consumer_offsets whose number "
        "is the absolute value of the name's Java hash, modulo the number of partitions."
    ),
    source="GroupCoordinatorService.partitionFor; Utils.abs",
    unit="groups",
    things="groups",
    measures="",
    examine=_coordinators,
    broker=True,
    protocols=CLASSIC,
)
