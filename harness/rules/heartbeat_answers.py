"""KIP-848: what a coordinator answers to heartbeats, right and wrong, of scripted members."""

from typing import Final

from harness.rules.rule import Rule

KIP_848: Final = ("consumer",)

# Calls about a group, and the answers that heartbeats among them were given. Members that scripts
# play subscribe to one topic that there is, so that a number names a partition.
_CALLS: Final = """
    WITH asked AS (
        SELECT row_number() OVER (ORDER BY sent_at, step) AS call, api, `group`, step, sent_at,
               answered_at, error_code,
               CAST(get_json_object(request, '$.version') AS INT) AS version,
               coalesce(get_json_object(request, '$.memberId'), '') AS member_id,
               CAST(get_json_object(request, '$.memberEpoch') AS INT) AS epoch,
               get_json_object(request, '$.instanceId') AS instance_id,
               get_json_object(request, '$.groupId') AS group_id,
               get_json_object(request, '$.rackId') AS rack_id,
               CAST(get_json_object(request, '$.rebalanceTimeoutMs') AS INT) AS rebalance_ms,
               get_json_object(request, '$.serverAssignor') AS assignor,
               get_json_object(request, '$.subscribedTopicNames') AS names,
               get_json_object(request, '$.subscribedTopicRegex') AS regex,
               get_json_object(request, '$.protocolType') AS protocol_type,
               flatten(transform(from_json(get_json_object(request, '$.topicPartitions'),
                   'array<struct<partitions:array<int>>>'), t -> t.partitions)) AS owned,
               get_json_object(expected, '$.regex') = 'broken' AS regex_broken,
               CAST(get_json_object(answer, '$.memberEpoch') AS INT) AS told_epoch,
               coalesce(nullif(get_json_object(answer, '$.memberId'), ''),
                        get_json_object(request, '$.memberId')) AS told_id,
               flatten(transform(from_json(
                   get_json_object(answer, '$.assignment.topicPartitions'),
                   'array<struct<partitions:array<int>>>'), t -> t.partitions)) AS told
        FROM {calls} WHERE answered_at IS NOT NULL
    ), accepted AS (
        SELECT call, `group`, told_id, epoch, told_epoch, answered_at,
               last_value(instance_id, true) OVER (
                   PARTITION BY `group`, told_id ORDER BY call {SO_FAR}) AS instance_id,
               lag(told_epoch) OVER (PARTITION BY `group`, told_id ORDER BY call) AS told_before,
               last_value(told, true) OVER (
                   PARTITION BY `group`, told_id ORDER BY call {SO_FAR}) AS has
        FROM asked WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE
    )
"""
# Who was a member when each call was sent, in which epoch, by what had been answered before.
_MEMBERS: Final = """
    latest AS (
        SELECT c.call, c.`group`, c.sent_at, a.told_id AS who,
               max_by(a.instance_id, a.call) AS instance_id,
               max_by(struct(a.call, a.told_epoch, a.told_before, a.has, a.answered_at), a.call)
                   AS was
        FROM asked c JOIN accepted a ON a.`group` = c.`group` AND a.answered_at <= c.sent_at
        GROUP BY c.call, c.`group`, c.sent_at, a.told_id
    ), members AS (
        SELECT l.call, l.who, l.instance_id, l.was.told_epoch AS epoch,
               l.was.told_before AS epoch_before, l.was.has AS has
        FROM latest l
        LEFT ANTI JOIN {coordinator_events} e
          ON e.`group` = l.`group` AND e.event = 'evicted' AND e.member_id = l.who
         AND e.at >= l.was.answered_at AND e.at <= l.sent_at
        -- Another that joined with its instance id has its place.
        LEFT ANTI JOIN accepted r ON same(r, l, `group`, instance_id) AND r.told_id <> l.who
         AND r.epoch = 0 AND r.call > l.was.call AND r.answered_at <= l.sent_at
        WHERE l.was.told_epoch <> -1
    ), sizes AS (
        SELECT l.call, count(m.who) AS size
        FROM latest l LEFT JOIN members m ON same(m, l, call, who) GROUP BY l.call
    ), joined AS (
        SELECT c.call, max_by(j.protocol_type, j.call) AS classic_type
        FROM asked c JOIN asked j
          ON j.`group` = c.`group` AND j.api = 'JOIN_GROUP' AND j.error_code = :NONE
         AND j.sent_at < c.sent_at
        GROUP BY c.call
    ), met AS (
        SELECT c.*, concat(c.step, coalesce(concat(' (', c.`group`, ')'), '')) AS subject,
               s.size IS NOT NULL AS there, coalesce(s.size, 0) AS size, j.classic_type,
               own.who IS NOT NULL AS known, own.epoch AS epoch_now, own.epoch_before,
               i.who AS owner, i.epoch AS owner_epoch,
               coalesce(size(c.owned) = 0 OR size(array_except(c.owned, own.has)) = 0, false)
                   AS owns_its_own,
               coalesce(own.epoch_before > 0 AND own.epoch_before < own.epoch, false) AS moved
        FROM asked c LEFT JOIN sizes s ON s.call = c.call LEFT JOIN joined j ON j.call = c.call
        LEFT JOIN members own ON own.call = c.call AND own.who = c.member_id
        LEFT JOIN members i ON same(i, c, call, instance_id)
    )
"""
# The first thing that a coordinator finds in a heartbeat, in the order in which it looks
# (GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid, then
# GroupMetadataManager.consumerGroupHeartbeat and consumerGroupLeave).
_FOUND: Final = """
    CASE WHEN member_id = '' AND (version >= 1 OR epoch > 0 OR epoch = -1) THEN 'no member id'
         WHEN group_id = '' OR instance_id = '' OR rack_id = '' THEN 'an empty id'
         WHEN epoch = 0 AND rebalance_ms = -1 THEN 'a join without a time-out'
         WHEN epoch = 0 AND (owned IS NULL OR size(owned) > 0) THEN 'a join that owns partitions'
         WHEN epoch = 0 AND names IS NULL AND regex IS NULL THEN 'a join without a subscription'
         WHEN epoch = -2 AND instance_id IS NULL THEN 'a static goodbye without an instance id'
         WHEN epoch < -2 THEN 'an epoch that does not exist'
         WHEN assignor NOT IN ('uniform', 'range') THEN 'another assignor'
         WHEN epoch <> 0 AND NOT there THEN 'no such group'
         WHEN epoch = 0 AND NOT there AND classic_type <> 'consumer' THEN 'no such group'
         WHEN epoch >= 0 AND size >= :consumer_max_size AND NOT known AND owner IS NULL
         THEN 'a full group'
         WHEN epoch = 0 AND instance_id IS NULL AND known THEN 'a join anew'
         WHEN epoch = 0 AND (instance_id IS NULL OR owner IS NULL) THEN 'a join'
         WHEN epoch = 0 AND owner_epoch = -2 THEN 'a join in the place of one that said goodbye'
         WHEN epoch = 0 AND owner = member_id THEN 'a join anew of a static member'
         WHEN epoch = 0 THEN 'an instance id in use'
         WHEN instance_id IS NOT NULL AND owner IS NULL THEN 'an unknown member'
         WHEN instance_id IS NOT NULL AND owner <> member_id THEN 'the instance id of another'
         WHEN NOT known THEN 'an unknown member'
         WHEN epoch < 0 THEN 'a goodbye'
         WHEN epoch = epoch_now THEN 'its epoch'
         WHEN epoch > epoch_now THEN 'an epoch to come'
         WHEN NOT owns_its_own THEN 'an epoch before, with partitions that it has not'
         WHEN moved AND epoch = epoch_before THEN 'the epoch before'
         WHEN moved OR coalesce(epoch_before, 0) <= 0 THEN 'an older epoch' END
"""
HEARTBEATS: Final = f"""
    {_CALLS}, {_MEMBERS},
    found AS (
        SELECT *, {_FOUND} AS found FROM met WHERE api = 'CONSUMER_GROUP_HEARTBEAT'
    ), judged AS (
        SELECT *,
               CASE WHEN found IN ('no member id', 'an empty id', 'a join without a time-out',
                                   'a join that owns partitions', 'a join without a subscription',
                                   'a static goodbye without an instance id',
                                   'an epoch that does not exist') THEN :INVALID_REQUEST
                    WHEN found = 'another assignor' THEN :UNSUPPORTED_ASSIGNOR
                    WHEN found = 'no such group' THEN :GROUP_ID_NOT_FOUND
                    WHEN found = 'a full group' THEN :GROUP_MAX_SIZE_REACHED
                    WHEN found = 'an instance id in use' THEN :UNRELEASED_INSTANCE_ID
                    WHEN found = 'the instance id of another' THEN :FENCED_INSTANCE_ID
                    WHEN found = 'an unknown member' THEN :UNKNOWN_MEMBER_ID
                    WHEN found IN ('an epoch to come', 'an older epoch',
                                   'an epoch before, with partitions that it has not')
                    THEN :FENCED_MEMBER_EPOCH
                    WHEN regex_broken AND epoch >= 0 THEN :INVALID_REGULAR_EXPRESSION
                    WHEN found IS NOT NULL THEN :NONE END AS must
        FROM found
    )
"""
ANSWERED: Final = """
    SELECT subject, sent_at AS at, error_code AS measured, must AS bound_low, must AS bound_high,
           concat('answered ', error_code, ' to ', found) AS note
    FROM judged
"""


def answers(where: str) -> str:
    """Heartbeats of which that is so, each with the error that it was and had to be answered."""
    return f"{HEARTBEATS} {ANSWERED} WHERE {where}"


ANOTHER: Final = "got another error code"


@Rule(
    "X40",
    title="An incomplete heartbeat is refused",
    statement="A heartbeat is answered INVALID_REQUEST (42) if it has no member id (since version "
    "1), an empty group, instance or rack id, an epoch below -2, or epoch -2 without an instance "
    "id. So is a join that has no rebalance timeout, no subscription, or partitions of its own. "
    "In version 0 a join without a member id is given one.",
    source="KIP-848, ConsumerGroupHeartbeat; KIP-1082",
    unit="error code",
    things="heartbeats of a probe",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="The author of a client learns of a mistake at the first heartbeat.",
    broker=True,
    protocols=KIP_848,
)
def whole_requests() -> str:
    return answers("must = :INVALID_REQUEST OR must = :NONE AND member_id = ''")


@Rule(
    "X40-assignor",
    title="An assignor that the broker does not have is refused",
    statement="A heartbeat that names an assignor other than the broker's own (uniform, range) is "
    "answered UNSUPPORTED_ASSIGNOR (112), whatever else it says. A heartbeat that names one of "
    "these is not.",
    source="KIP-848, ConsumerGroupHeartbeat; group.consumer.assignors",
    unit="error code",
    things="heartbeats that name an assignor",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A client whose group.remote.assignor names an unknown one fails at once.",
    broker=True,
    protocols=KIP_848,
)
def assignors() -> str:
    return answers("assignor IS NOT NULL AND must <> :INVALID_REQUEST")


@Rule(
    "X40-regex",
    title="The broker checks a subscribed regular expression",
    statement="A heartbeat that subscribes to an invalid RE2 expression is answered "
    "INVALID_REGULAR_EXPRESSION (128) and creates no member. A valid expression is accepted.",
    source="KIP-848, SubscribedTopicRegex; GroupMetadataManager.maybeUpdateRegularExpressions",
    unit="error code",
    things="heartbeats that subscribe by a regular expression",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="The broker's syntax is not Java's: an expression that worked before may be refused.",
    broker=True,
    protocols=KIP_848,
)
def regular_expressions() -> str:
    return answers("regex IS NOT NULL AND must IN (:NONE, :INVALID_REGULAR_EXPRESSION)")


@Rule(
    "X40-group",
    title="Only a join creates a group",
    statement="A heartbeat or a leave to a group that does not exist, or that is classic, is "
    "answered GROUP_ID_NOT_FOUND (69). So is a join to a group of another type than consumers.",
    source="GroupMetadataManager.getOrMaybeCreateConsumerGroup",
    unit="error code",
    things="heartbeats to a group that is missing or not of KIP-848",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A late member does not create a group again that was deleted or has expired.",
    broker=True,
    protocols=KIP_848,
)
def groups() -> str:
    return answers("must = :GROUP_ID_NOT_FOUND")


@Rule(
    "X40-full",
    title="A full KIP-848 group accepts no further member",
    statement="A heartbeat of a new member to a group of group.consumer.max.size members is "
    "answered GROUP_MAX_SIZE_REACHED (81). The members of the group go on, and may join anew.",
    source="group.consumer.max.size; GroupMetadataManager.throwIfConsumerGroupIsFull",
    unit="error code",
    things="heartbeats to a full group",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A surplus consumer fails, and the members of the group are safe.",
    broker=True,
    protocols=KIP_848,
)
def full_group() -> str:
    return answers(
        "size >= :consumer_max_size AND epoch >= 0 AND must <> :INVALID_REQUEST"
        " AND (known OR owner IS NULL)"
    )


@Rule(
    "X40-member",
    title="Only a member can send heartbeats or leave",
    statement="A heartbeat or a leave with a member id or an instance id that the group does not "
    "have, or no longer has, is answered UNKNOWN_MEMBER_ID (25). A member's own leave is accepted "
    "in any epoch.",
    source="KIP-848, Member ID; GroupMetadataManager.consumerGroupLeave",
    unit="error code",
    things="heartbeats of unknown members, and leaves",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A removed member learns of its removal by its next heartbeat, and joins again.",
    broker=True,
    protocols=KIP_848,
)
def known_members() -> str:
    return answers("must = :UNKNOWN_MEMBER_ID OR epoch < 0 AND must = :NONE")


@Rule(
    "X40-epoch",
    title="A heartbeat has to carry the member's epoch",
    statement="A heartbeat with the member's epoch is accepted. One with the epoch just before is "
    "accepted too if it owns only partitions that the member has, since the last answer may have "
    "been lost. Any other heartbeat is answered FENCED_MEMBER_EPOCH (110).",
    source="KIP-848, Member epoch; GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid",
    unit="error code",
    things="heartbeats of members",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A process that slept through a rebalance is stopped; a process that missed an answer "
    "is not.",
    broker=True,
    protocols=KIP_848,
)
def member_epochs() -> str:
    """Heartbeats of members but for those with an epoch that a coordinator may remember or not."""
    return answers("epoch > 0 AND known AND must IS NOT NULL AND found LIKE '%epoch%'")


@Rule(
    "X40-rejoin",
    title="A member may join anew at any time",
    statement="A heartbeat with epoch 0 of a member of the group is accepted, whatever epoch that "
    "member is in.",
    source="KIP-848, Member epoch (a fenced member rejoins with epoch 0); KAFKA-19233 (4.2)",
    unit="error code",
    things="joins of members",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A client that never got the answer to its join can join again, and is not locked out.",
    broker=True,
    protocols=KIP_848,
)
def rejoins() -> str:
    """Dynamic members; a static one is asked for its instance id first."""
    return answers("found = 'a join anew'")


@Rule(
    "X40-empty",
    title="A member without an existing topic gets no partitions",
    statement="A join that names no topic, or one that does not exist, is accepted and gets no "
    "partitions.",
    source="KIP-848, ConsumerGroupHeartbeat; throwIfConsumerGroupHeartbeatRequestIsInvalid",
    unit="partitions",
    things="joins that name no existing topic",
    measures="given",
    too_high="was given partitions",
    matters="A consumer of a topic that is misspelt looks healthy and reads nothing.",
    broker=True,
    protocols=KIP_848,
)
def empty_subscriptions() -> str:
    return """
        {HEARTBEATS}
        SELECT subject, sent_at AS at, coalesce(size(told), 0) AS measured,
               0 AS bound_high,
               IF(error_code <> :NONE, clause('was answered ', error_code), NULL) AS wrong,
               concat('answered ', error_code, ' to a subscription to ', names) AS note
        FROM judged
        WHERE epoch = 0 AND must = :NONE AND regex IS NULL
          AND NOT contains(names, concat('"', :topic, '"'))
    """


@Rule(
    "X40-classic",
    title="Classic requests change nothing in a KIP-848 group",
    statement="A classic Heartbeat or SyncGroup as a member of KIP-848 is answered "
    "UNKNOWN_MEMBER_ID (25), and a JoinGroup of another protocol type INCONSISTENT_GROUP_PROTOCOL "
    "(23).",
    source="GroupMetadataManager.throwIfMemberDoesNotUseClassicProtocol; KIP-848, Upgrade",
    unit="error code",
    things="classic requests to a KIP-848 group",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="An old client that uses a newer client's member id by mistake changes nothing.",
    broker=True,
    protocols=KIP_848,
)
def classic_calls() -> str:
    return """
        {HEARTBEATS}, classic AS (
            SELECT subject, sent_at, error_code, api,
                   IF(api = 'JOIN_GROUP', :INCONSISTENT_GROUP_PROTOCOL, :UNKNOWN_MEMBER_ID) AS due
            FROM met
            WHERE api IN ('HEARTBEAT', 'SYNC_GROUP') AND known
               OR api = 'JOIN_GROUP' AND size > 0 AND protocol_type <> 'consumer'
        )
        SELECT subject, sent_at AS at, error_code AS measured, due AS bound_low, due AS bound_high,
               concat('answered ', error_code, ' to ', api) AS note
        FROM classic
    """
