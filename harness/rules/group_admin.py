"""What administrators' calls say of groups, and what they may do to them."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.group_apis import ANSWERED  # noqa: F401 (a query names it)
from harness.rules.rule import Rule

# How much later than a new coordinator the observer may see that it leads the group's partition.
NOTICED_MS: Final = 5_000

DESCRIBED = """
    WITH described AS (
        SELECT p.*, CAST(get_json_object(p.request, '$.version') AS INT) AS version,
               get_json_object(p.answer, '$.groups[0].groupState') AS described_as,
               get_json_object(p.answer, '$.groups[0].protocolType') AS protocol_type,
               get_json_object(p.answer, '$.groups[0].protocolData') AS assignor,
               from_json(get_json_object(p.answer, '$.groups[0].members'),
                         'array<struct<memberId:string,groupInstanceId:string,clientId:string,'
                         || 'clientHost:string,memberMetadata:string,memberAssignment:string>>')
                   AS members
        FROM {probed} p WHERE p.api = 'DESCRIBE_GROUPS'
    )
"""


@Rule(
    "R28",
    title="DescribeGroups lists the members of a group",
    statement="DescribeGroups returns each member with its id, instance id, client id, host and "
    "latest assignment, and once. It returns a member's metadata, and the assignor that was "
    "chosen, only while the group is stable.",
    source="document 003, DESCRIBE_GROUPS; ClassicGroupMember.describe and describeNoMetadata; "
    "ClassicGroup.protocolName",
    unit="members",
    things="described members and groups",
    matters="Administration tools show this answer, so an operator looks for members by it.",
    broker=True,
    protocols=CLASSIC,
    since="4.0",  # MemberMetadata.summaryNoMetadata of 3.x shows no assignment
)
def described_members() -> str:
    """Each member of each described group, and each description as a whole."""
    return """
        {DESCRIBED}, shown AS (
            SELECT d.* EXCEPT (members), one.*
            FROM described d LATERAL VIEW explode(members) AS one WHERE d.state IS NOT NULL
        ), known AS (
            SELECT t.call, t.subject, t.sent_at, t.state, t.memberId, t.clientId, t.clientHost,
                   t.memberMetadata, t.memberAssignment, t.probe, m.member_id,
                   m.instance_id <=> t.groupInstanceId AS same_instance, m.metadata,
                   max(struct(s.sent_at, get_json_object(s.answer, '$.assignment') AS assignment))
                       .assignment AS assignment
            FROM shown t LEFT JOIN {probe_members} m
              ON m.`group` = t.`group` AND m.member_id = t.memberId AND m.from_at < t.sent_at
             AND (m.to_at IS NULL OR m.to_at > t.sent_at)
            LEFT JOIN {calls} s
              ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND s.`group` = t.`group`
             AND s.member_id = t.memberId AND s.sent_at < t.sent_at
            WHERE t.`group` <> :group GROUP BY ALL
        ), chosen AS (
            SELECT d.call, max(struct(j.answered_at, get_json_object(j.answer, '$.protocolName')
                                          AS assignor)).assignor AS assignor
            FROM described d JOIN {calls} j
              ON j.api = 'JOIN_GROUP' AND j.error_code = :NONE AND j.`group` = d.`group`
             AND j.answered_at <= d.sent_at
            GROUP BY d.call
        )
        SELECT concat('member in ', subject) AS subject, sent_at AS at,
               CAST(NULL AS STRING) AS unknown, CAST(NULL AS STRING) AS note,
               CASE WHEN member_id IS NULL THEN 'is no member'
                    WHEN NOT same_instance THEN 'is described with another instance id'
                    WHEN NOT clientId <=> concat('probe-', probe)
                    THEN clause('is described as client ', clientId)
                    WHEN coalesce(clientHost, '') = '' THEN 'is described without a host'
                    WHEN NOT memberMetadata <=> IF(state = 'Stable', metadata, '')
                    THEN clause('is described with wrong metadata for state ', state)
                    WHEN NOT memberAssignment <=> coalesce(assignment, '')
                    THEN 'is described with another assignment than it was given last'
                    END AS wrong
        FROM known
        UNION ALL
        SELECT subject, sent_at, NULL, concat(described_as, ' with ', size(members), ' members'),
               CASE WHEN NOT (error_code = :NONE AND described_as <=> state
                              AND size(members) <=> size)
                    THEN concat('was answered ', concat_ws(', ', error_code, described_as),
                                ' with ', coalesce(size(members), 0), ' of ', size, ' members')
                    WHEN size(array_distinct(transform(members, m -> m.memberId))) < size(members)
                    THEN 'names a member twice'
                    -- A script's members are of one process, which has one address.
                    WHEN size(array_distinct(filter(transform(members, m -> m.clientHost),
                                                    host -> host <> '')))
                         > size(array_distinct(transform(members, m -> m.clientId)))
                    THEN 'names a client at two hosts'
                    WHEN protocol_type <> 'consumer'
                    THEN clause('is described as a group of ', protocol_type)
                    WHEN state <> 'Stable' AND d.assignor <> ''
                      OR state = 'Stable' AND d.assignor <> c.assignor
                    THEN clause('is described with the assignor "', d.assignor, '" when it was ',
                                state) END
        FROM described d LEFT JOIN chosen c ON c.call = d.call
        WHERE state IS NOT NULL AND state <> 'Dead' AND `group` <> :group
        UNION ALL
        -- The group under test: no script made it, so its members are those of the request log.
        SELECT subject, sent_at, NULL, described_as,
               IF(error_code = :NONE, NULL,
                  concat('was answered ', error_code, ' when it was stable'))
        FROM described WHERE state = 'Stable' AND `group` = :group
        UNION ALL
        SELECT concat('member in ', t.subject), t.sent_at,
               IF(m.member IS NULL, 'is no member by the request log', NULL), NULL,
               IF(m.member <> t.clientId,
                  concat('is ', m.member, ', described as client ', t.clientId), NULL)
        FROM shown t LEFT JOIN {memberships} m
          ON m.member_id = t.memberId AND m.joined_at < t.sent_at
         AND (m.removed_at IS NULL OR m.removed_at > t.sent_at)
        WHERE t.`group` = :group
    """


@Rule(
    "R28-epoch",
    title="ConsumerGroupDescribe lists the members of a KIP-848 group",
    statement="ConsumerGroupDescribe returns each member with its epoch, client and latest "
    "and target assignment, and the group's epochs and assignor. In a stable group the target is "
    "what the member has, and its epoch the group's. DescribeGroups answers GROUP_ID_NOT_FOUND "
    "(69) for such a group.",
    source="KIP-848, ConsumerGroupDescribe API; KIP-1043",
    unit="members",
    things="described members and groups",
    matters="A tool that knows only the older request does not find the group, although it is at "
    "work.",
    broker=True,
    protocols=("consumer",),
)
def described_by_the_new_call() -> str:
    """Descriptions of a settled group of KIP-848, by its own call and by the classic one.

    The first must have each member as the script knows it, and nobody else.
    """
    return """
        WITH asked AS (
            SELECT step, sent_at, api, error_code,
                   from_json(expected, 'map<string,struct<epoch:int,client:string,'
                                       || 'partitions:array<int>>>') AS members,
                   from_json(get_json_object(answer, '$.groups[0].members'),
                             'array<struct<memberId:string,memberEpoch:int,clientId:string,'
                             || 'clientHost:string,assignment:struct<topicPartitions:'
                             || 'array<struct<partitions:array<int>>>>,targetAssignment:'
                             || 'struct<topicPartitions:array<struct<partitions:array<int>>>>>>')
                       AS shown,
                   get_json_object(answer, '$.groups[0].groupState') AS state,
                   CAST(get_json_object(answer, '$.groups[0].groupEpoch') AS INT) AS epoch,
                   CAST(get_json_object(answer, '$.groups[0].assignmentEpoch') AS INT)
                       AS target_epoch,
                   get_json_object(answer, '$.groups[0].assignorName') AS assignor, `group`
            FROM {calls} WHERE rule = 'R28-epoch'
        ), computed AS (
            SELECT a.sent_at, max(struct(t.at, t.reason)).reason AS assignor
            FROM asked a JOIN {coordinator_events} t
              ON t.`group` = a.`group` AND t.event = 'target_computed' AND t.at <= a.sent_at
            GROUP BY a.sent_at
        ), known AS (
            SELECT sent_at, each.key AS member_id, each.value AS member,
                   get(filter(shown, m -> m.memberId = each.key), 0) AS found
            FROM asked LATERAL VIEW explode(map_entries(members)) AS each
            WHERE api = 'CONSUMER_GROUP_DESCRIBE'
        )
        SELECT concat('member ', member_id) AS subject, sent_at AS at,
               CAST(NULL AS STRING) AS unknown,
               CASE WHEN found IS NULL THEN 'is not described'
                    WHEN NOT found.memberEpoch <=> member.epoch
                    THEN clause('is described in epoch ',
                                coalesce(string(found.memberEpoch), 'none'), ', not ',
                                member.epoch)
                    WHEN NOT found.clientId <=> member.client
                    THEN clause('is described as client ', coalesce(found.clientId, 'none'))
                    WHEN coalesce(found.clientHost, '') = '' THEN 'is described without a host'
                    WHEN NOT array_sort(flatten(transform(
                             found.assignment.topicPartitions, p -> p.partitions)))
                         <=> member.partitions
                    THEN 'is described with another assignment than it was given'
                    WHEN array_sort(flatten(transform(
                             found.targetAssignment.topicPartitions, p -> p.partitions)))
                         <> member.partitions
                    THEN 'is described with another target than it has reached' END AS wrong
        FROM known
        UNION ALL
        SELECT a.step, a.sent_at, IF(error_code IS NULL, 'was not answered', NULL),
               CASE WHEN api = 'DESCRIBE_GROUPS'
                         AND NOT (error_code = :GROUP_ID_NOT_FOUND AND state <=> 'Dead')
                    THEN concat('was answered ', concat_ws(', ', error_code, state))
                    WHEN api = 'CONSUMER_GROUP_DESCRIBE'
                         AND NOT (error_code = :NONE AND state <=> 'Stable'
                                  AND size(shown) <=> size(map_keys(members)))
                    THEN concat('was answered ', concat_ws(', ', error_code, state), ' with ',
                                coalesce(size(shown), 0), ' of ', size(map_keys(members)),
                                ' members')
                    WHEN size(array_distinct(filter(transform(shown, m -> m.clientHost),
                                                    host -> host <> ''))) > 1
                    THEN 'names a client at two hosts'
                    WHEN api = 'CONSUMER_GROUP_DESCRIBE' AND epoch <> target_epoch
                    THEN clause('is described as stable in epoch ', epoch,
                                ' with a target of epoch ', target_epoch)
                    WHEN api = 'CONSUMER_GROUP_DESCRIBE'
                         AND exists(shown, m -> m.memberEpoch <> epoch)
                    THEN clause('is described as stable in epoch ', epoch,
                                ', which not all members have')
                    WHEN api = 'CONSUMER_GROUP_DESCRIBE' AND a.assignor <> c.assignor
                    THEN clause('is described with the assignor ', a.assignor,
                                ', and its target was computed by ', c.assignor) END
        FROM asked a LEFT JOIN computed c ON c.sent_at = a.sent_at
        WHERE api IN ('CONSUMER_GROUP_DESCRIBE', 'DESCRIBE_GROUPS')
    """


# Descriptions of groups that do not exist.
MISSING: Final = """
    {DESCRIBED}, missing AS (
        SELECT subject, sent_at AS at, version, error_code, described_as,
               concat('was answered ', concat_ws(', ', error_code, described_as)) AS answer
        FROM described WHERE state = 'Dead'
    )
"""


@Rule(
    "R28-dead",
    title="A missing group is described as dead (documented, outdated)",
    statement="DescribeGroups returns the state Dead, without an error, for a group that does not "
    "exist.",
    source="document 003, DESCRIBE_GROUPS and the group's states",
    unit="descriptions",
    things="descriptions of groups that do not exist",
    matters="A tool that looks for Dead without an error misses what brokers answer today.",
    broker=True,
    protocols=CLASSIC,
)
def unknown_is_dead() -> str:
    """By the newest version of the call that both sides know: the one that clients use."""
    return """
        {MISSING}
        SELECT subject, at, answer AS note,
               IF(error_code = :NONE AND described_as <=> 'Dead', NULL, answer) AS wrong
        FROM missing WHERE version = (SELECT max(version) FROM described)
    """


@Rule(
    "R28-unknown",
    title="DescribeGroups reports a missing group as not found",
    statement="DescribeGroups answers GROUP_ID_NOT_FOUND (69) for a group that does not exist "
    "from version 6 on, and the state Dead without an error before.",
    source="KIP-1043; DescribeGroupsResponse v6",
    unit="descriptions",
    things="descriptions of groups that do not exist",
    matters="A tool can tell a misspelt group from an empty one if its library is new enough.",
    broker=True,
    protocols=CLASSIC,
)
def unknown_group() -> str:
    return """
        {MISSING}
        SELECT subject, at, answer AS note,
               IF(error_code = IF(version >= 6, :GROUP_ID_NOT_FOUND, :NONE)
                  AND described_as <=> 'Dead', NULL, answer) AS wrong
        FROM missing
    """


@Rule(
    "R28-list",
    title="Each coordinator lists its own groups",
    statement="ListGroups returns a group once, at its coordinator and nowhere else, with its "
    "state, and only if that state was requested.",
    source="document 003, LIST_GROUPS; KIP-518",
    unit="answers",
    things="lists of groups",
    matters="Only a tool that asks every broker sees all groups, and those of a dead broker are "
    "missing.",
    broker=True,
    protocols=CLASSIC,
)
def listed_groups() -> str:
    return """
        WITH coordinators AS (
            SELECT `group`, max_by(broker, struct(answered_at, broker)) AS coordinator FROM {calls}
            WHERE api = 'JOIN_GROUP' AND error_code = :NONE GROUP BY `group`
        ), listed AS (
            SELECT p.*, c.coordinator,
                   filter(from_json(get_json_object(p.answer, '$.groups'),
                                    'array<struct<groupId:string,protocolType:string,'
                                    || 'groupState:string>>'),
                          one -> one.groupId = p.`group`) AS entries,
                   from_json(get_json_object(request, '$.statesFilter'), 'array<string>') AS states
            FROM {probed} p JOIN coordinators c USING (`group`) WHERE p.api = 'LIST_GROUPS'
        ), judged AS (
            SELECT *, get(entries, 0) AS found, broker = coordinator
                      AND coalesce(size(states) = 0 OR array_contains(states, state), true) AS must
            FROM listed
        )
        SELECT concat(subject, ', broker ', broker) AS subject, sent_at AS at,
               IF(state IS NULL, 'the group changed meanwhile', NULL) AS unknown,
               CASE WHEN error_code <> :NONE THEN clause('answered ', error_code)
                    WHEN found IS NULL THEN IF(must, 'did not list the group', NULL)
                    WHEN NOT must THEN 'listed a group of another broker or state'
                    WHEN size(entries) > 1
                    THEN clause('listed the group ', size(entries), ' times')
                    WHEN NOT (found.groupState <=> state AND found.protocolType <=> 'consumer')
                    THEN clause('listed the group as ', concat_ws(', ', found.protocolType,
                                found.groupState), ', not as consumer, ', state) END AS wrong,
               IF(found IS NULL, 'not listed', concat('listed as ', found.groupState)) AS note
        FROM judged
    """


@Rule(
    "X30",
    title="A group in use cannot be deleted, nor its positions",
    statement="A group with members cannot be deleted (NON_EMPTY_GROUP, 68). The positions of a "
    "topic that its members subscribe to can be neither deleted (GROUP_SUBSCRIBED_TO_TOPIC, 86) "
    "nor set by others (UNKNOWN_MEMBER_ID, 25). An empty group and its positions can be deleted "
    "and set; a group that does not exist is not found (69).",
    source="document 003, DELETE_GROUPS and OFFSET_DELETE; KIP-229; KIP-496; ConsumerGroup (Kafka "
    "4)",
    unit="error code",
    things="deletes and alterations",
    matters="Positions can be reset only after all consumers of the group have stopped.",
    broker=True,
)
def used_are_guarded() -> str:
    """Deletes of groups and of positions, and positions set by nobody, in groups of both kinds."""
    return """
        WITH asked AS (
            SELECT *, get_json_object(request, '$.topics[0].name') AS topic FROM {probed}
        ), beats AS (
            -- What a member of KIP-848 subscribes to, whenever it says so; to nothing once it left.
            SELECT `group`, member_id, answered_at, step,
                   IF(CAST(get_json_object(request, '$.memberEpoch') AS INT) = -1, '[]',
                      get_json_object(request, '$.subscribedTopicNames')) AS topics
            FROM {probed} WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE
        ), named AS (
            SELECT a.call, a.topic, b.member_id,
                   max_by(b.topics, struct(b.answered_at, b.step)) AS topics
            FROM asked a JOIN beats b ON b.`group` = a.`group` AND b.answered_at <= a.sent_at
            WHERE a.api = 'OFFSET_DELETE' AND b.topics IS NOT NULL
            GROUP BY a.call, a.topic, b.member_id
        ), said AS (
            SELECT a.call, contains(unbase64(m.metadata), encode(a.topic, 'UTF-8')) AS subscribed
            FROM asked a JOIN {probe_members} m
              ON m.`group` = a.`group` AND m.from_at < a.sent_at
             AND (m.to_at IS NULL OR m.to_at > a.sent_at)
            WHERE a.api = 'OFFSET_DELETE'
            UNION ALL
            SELECT call, array_contains(from_json(topics, 'array<string>'), topic) FROM named
        ), subscribed AS (
            SELECT call, bool_or(subscribed) AS subscribed FROM said GROUP BY call
        ), judged AS (
            SELECT a.*,
                   CASE WHEN api = 'DELETE_GROUPS' AND state_before = 'Empty' THEN :NONE
                        WHEN api = 'OFFSET_COMMIT' AND state_before IN ('Empty', 'Dead') THEN :NONE
                        WHEN state IS NULL THEN NULL
                        WHEN api = 'OFFSET_COMMIT' THEN :UNKNOWN_MEMBER_ID
                        WHEN state = 'Dead' THEN :GROUP_ID_NOT_FOUND
                        WHEN api = 'DELETE_GROUPS' THEN :NON_EMPTY_GROUP
                        WHEN s.subscribed THEN :GROUP_SUBSCRIBED_TO_TOPIC
                        ELSE :NONE END AS must
            FROM asked a LEFT JOIN subscribed s USING (call)
            WHERE api IN ('DELETE_GROUPS', 'OFFSET_DELETE')
               -- Too much metadata is another rule's matter.
               OR api = 'OFFSET_COMMIT' AND nobody AND error_code <> :OFFSET_METADATA_TOO_LARGE
                  AND rule <> 'R31-withdrawn'  -- asked while nothing could be written
        )
        SELECT subject, sent_at AS at, {ANSWERED} FROM judged
        UNION ALL
        SELECT concat('after it: ', subject), answered_at,
               IF(state_after IS NULL, 'the state of the group is not known', NULL),
               IF(state_after <> 'Dead', concat('the group was in state ', state_after), NULL),
               NULL
        FROM judged WHERE api = 'DELETE_GROUPS' AND error_code = :NONE
    """


@Rule(
    "X13",
    title="A group's name decides its coordinator",
    statement="The coordinator of a group is the leader of one partition of __consumer_offsets, "
    "whose number is the absolute Java hash of the group's name modulo the number of partitions. "
    "A lookup is answered for each group that it names.",
    source="GroupCoordinatorService.partitionFor; Utils.abs",
    unit="groups",
    things="groups",
    matters="The groups that the loss of a broker affects are known beforehand.",
    broker=True,
    protocols=CLASSIC,
)
def coordinator_by_name() -> str:
    """Java's hash of a group's name, computed here, against the leader that the observer saw.

    The group under test is asked about for each time that a broker coordinated it: the observer may
    see a new leader a little later than that has loaded the group.
    """
    return """
        WITH asked AS (
            SELECT sent_at, get_json_object(request, '$.coordinatorKeys') AS keys,
                   from_json(get_json_object(answer, '$.coordinators'),
                             'array<struct<key:string,nodeId:int,errorCode:int>>') AS told
            FROM {calls}
            WHERE api = 'FIND_COORDINATOR' AND get_json_object(answer, '$.coordinators') IS NOT NULL
              AND coalesce(get_json_object(request, '$.keyType'), '0') = '0'
        ), found AS (
            SELECT from_at AS sent_at, :group AS key, broker AS nodeId, 0 AS errorCode, true AS own
            FROM {tenures}
            UNION ALL
            SELECT sent_at, key, get(filter(told, t -> t.key = key), 0).nodeId,
                   get(filter(told, t -> t.key = key), 0).errorCode, false
            FROM asked LATERAL VIEW explode(coalesce(from_json(keys, 'array<string>'),
                                                     transform(told, t -> t.key))) AS key
        ), hashed AS (
            SELECT *, aggregate(transform(sequence(1, length(key)), n -> ascii(substr(key, n, 1))),
                                0L, (hash, unit) -> pmod(hash * 31 + unit, 4294967296L)) AS bits
            FROM found
        ), sized AS (SELECT count(DISTINCT partition) AS partitions FROM {topology}
                     WHERE what = 'partition' AND topic = '__consumer_offsets'),
        placed AS (
            SELECT h.*, CASE WHEN bits = 2147483648L THEN 0
                             WHEN bits > 2147483648L THEN 4294967296L - bits
                             ELSE bits END % s.partitions AS partition
            FROM hashed h CROSS JOIN sized s WHERE s.partitions > 0
        ), led AS (
            SELECT p.*, max(struct(l.at, l.leader)).leader AS leader,
                   count_if(l.leader = p.nodeId) AS times
            FROM placed p JOIN {topology} l
              ON l.what = 'partition' AND l.topic = '__consumer_offsets'
             AND l.partition = p.partition
             AND l.at <= IF(p.own, after(:NOTICED_MS, p.sent_at), p.sent_at)
            GROUP BY ALL
        )
        SELECT key AS subject, sent_at AS at,
               IF(errorCode = :NONE AND coalesce(leader < 0, true),
                  clause('partition ', partition, ' had no leader'), NULL) AS unknown,
               CASE WHEN errorCode IS NULL THEN 'was left out of the answer'
                    WHEN errorCode <> :NONE THEN clause('was answered ', errorCode)
                    WHEN nodeId <> leader AND leader >= 0 AND NOT (own AND times > 0)
                    THEN clause('has coordinator ', nodeId, ', but partition ', partition,
                                ' has leader ', leader) END AS wrong,
               concat('belongs to partition ', partition) AS note
        FROM led
    """
