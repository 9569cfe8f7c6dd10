"""The few questions that the harness asks brokers, in Kafka's wire protocol.

No library asks one broker alone, within a time that we choose, and librdkafka's admin calls may
abort the process when a connection drops (its issue 4605), as faults have it. Old versions of the
calls are used, which brokers from 2.1 to 4.4 answer, and newer calls only for what older ones do
not know. Each question asks one broker and raises OSError.
"""

import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.base.codec import ASSIGNMENT, Body, answer_on, decoded, encoded
from harness.base.ports import LOOPBACK
from harness.cluster import links

CLIENT_ID: Final = "observer"
LATEST: Final = -1
EARLIEST: Final = -2

Places = dict[tuple[str, int], int]  # an offset by topic and partition


@dataclass(frozen=True)
class Call:
    """One version of a call: its number, and the fields of its request and its answer.

    The fields have Kafka's own names, which are those of the brokers' request log too. `header{}`
    reads the tagged fields with which the header of most flexible answers ends.
    """

    api: int
    version: int
    asks: str
    answers: str

    def request(self, asked: Body, client_id: str = CLIENT_ID) -> bytes:
        head = "api:h version:h number:i client:text"
        named = {"api": self.api, "version": self.version, "number": 1, "client": client_id}
        whole = encoded(head, named)
        whole += b"\0" if self.asks.startswith("~") else b""
        whole += encoded(self.asks, asked)
        return len(whole).to_bytes(4, "big") + whole


_ACL: Final = "principal:text host:text operation:b permissionType:b"
_DESCRIBE: Final = "~ groupIds:text* includeAuthorizedOperations:b"
_GROUP: Final = (
    "~ header{} throttleTimeMs:i groups[errorCode:h errorMessage:text groupId:text groupState:text "
    "groupEpoch:i assignmentEpoch:i"
)
_PARTITIONS: Final = "{topicPartitions[topicId:uuid topicName:text partitions:i*]}"
_TASKS: Final = "[subtopologyId:text partitions:i*]"
_ALL_TASKS: Final = f"{{activeTasks{_TASKS} standbyTasks{_TASKS} warmupTasks{_TASKS}}}"
_OFFSETS: Final = "[subtopologyId:text partition:i offset:q]"
_TOPICS: Final = "[name:text partitions:i replicationFactor:h topicConfigs[key:text value:text]]"

FETCH: Final = Call(1, 4,
    "replicaId:i maxWaitMs:i minBytes:i maxBytes:i isolationLevel:b "
    "topics[topic:text partitions[partition:i fetchOffset:q partitionMaxBytes:i]]",
    "throttleTimeMs:i responses[topic:text partitions[partitionIndex:i errorCode:h "
    "highWatermark:q lastStableOffset:q abortedTransactions[producerId:q firstOffset:q] "
    "records:octets]]",
)  # fmt: skip
LIST_OFFSETS: Final = Call(2, 2,
    "replicaId:i isolationLevel:b topics[name:text partitions[partitionIndex:i timestamp:q]]",
    "throttleTimeMs:i "
    "topics[name:text partitions[partitionIndex:i errorCode:h timestamp:q offset:q]]",
)  # fmt: skip
METADATA: Final = Call(3, 7,
    "topics[name:text] allowAutoTopicCreation:b",
    "throttleTimeMs:i brokers[nodeId:i host:text port:i rack:text] clusterId:text controllerId:i "
    "topics[errorCode:h name:text isInternal:b partitions[errorCode:h partitionIndex:i leaderId:i "
    "leaderEpoch:i replicaNodes:i* isrNodes:i* offlineReplicas:i*]]",
)  # fmt: skip
OFFSET_FETCH: Final = Call(9, 2,
    "groupId:text topics[name:text partitionIndexes:i*]",
    "topics[name:text partitions[partitionIndex:i committedOffset:q metadata:text errorCode:h]] "
    "errorCode:h",
)  # fmt: skip
FIND_COORDINATOR: Final = Call(10, 0, "key:text", "errorCode:h nodeId:i host:text port:i")
DESCRIBE_GROUPS: Final = Call(15, 0,
    "groups:text*",
    "groups[errorCode:h groupId:text groupState:text protocolType:text protocolData:text members["
    "memberId:text clientId:text clientHost:text memberMetadata:octets memberAssignment:octets]]",
)  # fmt: skip
LIST_GROUPS: Final = Call(16, 0, "", "errorCode:h groups[groupId:text protocolType:text]")
API_VERSIONS: Final = Call(18, 0, "", "")  # that there is an answer is enough
FEATURES: Final = Call(18, 3,
    "~ clientSoftwareName:text clientSoftwareVersion:text",
    "~ errorCode:h apiKeys[apiKey:h minVersion:h maxVersion:h] throttleTimeMs:i "
    "finalizedFeatures@2[name:text maxVersionLevel:h minVersionLevel:h]",
)  # fmt: skip
DELETE_RECORDS: Final = Call(21, 1,
    "topics[name:text partitions[partitionIndex:i offset:q]] timeoutMs:i",
    "throttleTimeMs:i topics[name:text partitions[partitionIndex:i lowWatermark:q errorCode:h]]",
)  # fmt: skip
DESCRIBE_ACLS: Final = Call(29, 1,
    "resourceTypeFilter:b resourceNameFilter:text patternTypeFilter:b principalFilter:text "
    "hostFilter:text operation:b permissionType:b",
    "throttleTimeMs:i errorCode:h errorMessage:text "
    f"resources[resourceType:b resourceName:text patternType:b acls[{_ACL}]]",
)  # fmt: skip
OFFSET_DELETE: Final = Call(47, 0,
    "groupId:text topics[name:text partitions[partitionIndex:i]]",
    "errorCode:h throttleTimeMs:i topics[name:text partitions[partitionIndex:i errorCode:h]]",
)  # fmt: skip
DESCRIBE_USERS: Final = Call(50, 0,
    "~ users[name:text]",
    "~ header{} throttleTimeMs:i errorCode:h errorMessage:text results[user:text errorCode:h "
    "errorMessage:text credentialInfos[mechanism:b iterations:i]]",
)  # fmt: skip
UPDATE_FEATURES: Final = Call(57, 1,
    "~ timeoutMs:i featureUpdates[feature:text maxVersionLevel:h upgradeType:b] validateOnly:b",
    "~ header{} throttleTimeMs:i errorCode:h errorMessage:text "
    "results[feature:text errorCode:h errorMessage:text]",
)  # fmt: skip
CONSUMER_GROUP_DESCRIBE: Final = Call(69, 0,
    _DESCRIBE,
    f"{_GROUP} assignorName:text members[memberId:text instanceId:text rackId:text memberEpoch:i "
    "clientId:text clientHost:text subscribedTopicNames:text* subscribedTopicRegex:text "
    f"assignment{_PARTITIONS} targetAssignment{_PARTITIONS}] authorizedOperations:i]",
)  # fmt: skip
SHARE_GROUP_DESCRIBE: Final = Call(77, 1,
    _DESCRIBE,
    f"{_GROUP} assignorName:text members[memberId:text rackId:text memberEpoch:i clientId:text "
    f"clientHost:text subscribedTopicNames:text* assignment{_PARTITIONS}] authorizedOperations:i]",
)  # fmt: skip
STREAMS_GROUP_DESCRIBE: Final = Call(89, 0,
    _DESCRIBE,
    f"{_GROUP} topology?{{epoch:i subtopologies[subtopologyId:text sourceTopics:text* "
    f"repartitionSinkTopics:text* stateChangelogTopics{_TOPICS} "
    f"repartitionSourceTopics{_TOPICS}]}} members[memberId:text memberEpoch:i "
    "instanceId:text rackId:text clientId:text clientHost:text topologyEpoch:i processId:text "
    f"userEndpoint?{{host:text port:H}} clientTags[key:text value:text] taskOffsets{_OFFSETS} "
    f"taskEndOffsets{_OFFSETS} assignment{_ALL_TASKS} targetAssignment{_ALL_TASKS} isClassic:b] "
    "authorizedOperations:i]",
)  # fmt: skip


CONSUMER: Final = ""
_CALLS: Final = {
    CONSUMER: CONSUMER_GROUP_DESCRIBE,
    "share": SHARE_GROUP_DESCRIBE,
    "streams": STREAMS_GROUP_DESCRIBE,
}
_CLASSIC: Final = "consumer"  # the type of protocol in which assignments can be read
_UNKNOWN: Final = "Dead"  # what DescribeGroups v0 says of a group that is no classic one
_ROLES: Final = {"activeTasks": "", "standbyTasks": "standby ", "warmupTasks": "warm-up "}


def ask(
    port: int,
    call: Call,
    asked: Body,
    timeout_s: float,
    address: str = LOOPBACK,
    client_id: str = CLIENT_ID,
) -> Body:
    """Ask one broker over a new connection; `asked` are the fields of the request.

    Raises OSError (TimeoutError included) if there is no answer within `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    with links.connect(port, timeout_s, address) as link:
        answer = ask_over(link, call, asked, deadline - time.monotonic(), client_id)
        links.answered(link, port, address)
        return answer


def ask_over(
    link: socket.socket, call: Call, asked: Body, timeout_s: float, client_id: str = CLIENT_ID
) -> Body:
    deadline = time.monotonic() + timeout_s
    link.sendall(call.request(asked, client_id))
    return decoded(call.answers, answer_on(link, deadline)[4:])  # less its number


@dataclass(frozen=True)
class Metadata:
    """What one broker knows of the cluster: brokers by id, and each partition's leader and ISR.

    `epochs` is the sum of all leader epochs, which only grow: who has more of them knows more.
    """

    brokers: tuple[int, ...]
    partitions: tuple[Body, ...]
    epochs: int


def metadata(port: int, topics: list[str] | None, timeout_s: float) -> Metadata:
    """Metadata of some topics, or of all, as this broker knows it. Raises OSError."""
    names = None if topics is None else [{"name": topic} for topic in topics]
    answer = ask(port, METADATA, {"topics": names, "allowAutoTopicCreation": False}, timeout_s)
    partitions = [
        {
            "topic": topic,
            "partition": each["partitionIndex"],
            "leader": each["leaderId"],
            "isr": sorted(each["isrNodes"]),
            "replicas": len(each["replicaNodes"]),
        }
        for topic, each in _partitions(answer)
    ]
    epochs = sum(each["leaderEpoch"] for _, each in _partitions(answer))
    return Metadata(tuple(each["nodeId"] for each in answer["brokers"]), tuple(partitions), epochs)


def find_coordinator(port: int, group: str, timeout_s: float) -> int | None:
    """Broker id of a group's coordinator, or None if there is none now. Raises OSError."""
    answer = ask(port, FIND_COORDINATOR, {"key": group}, timeout_s)
    return None if answer["errorCode"] else int(answer["nodeId"])


def committed(
    port: int, group: str, partitions: Mapping[str, Iterable[int]] | None, timeout_s: float
) -> Places:
    """Committed positions of a group, of some partitions (-1: none) or all, by its coordinator.

    Partitions for which it answers with an error are left out. Raises OSError.
    """
    topics = partitions and [
        {"name": topic, "partitionIndexes": list(numbers)} for topic, numbers in partitions.items()
    ]
    answer = ask(port, OFFSET_FETCH, {"groupId": group, "topics": topics}, timeout_s)
    return {} if answer["errorCode"] else _offsets(answer, "committedOffset")


def delete_offsets(
    port: int, group: str, topic: str, partitions: Iterable[int], timeout_s: float
) -> dict[int, int]:
    """Delete committed positions, asking the coordinator.

    Returns error codes by partition, 0 where it was done; -1 is the code of the group as a whole,
    given alone. Raises OSError.
    """
    topics = _topics({topic: partitions})
    answer = ask(port, OFFSET_DELETE, {"groupId": group, "topics": topics}, timeout_s)
    if answer["errorCode"]:
        return {-1: answer["errorCode"]}
    return {each["partitionIndex"]: each["errorCode"] for _, each in _partitions(answer)}


def delete_records(port: int, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
    """Delete all records below the high watermark, asking the leader.

    Returns the first offset left and the error code. Raises OSError.
    """
    topics = _topics({topic: [partition]}, offset=-1)
    asked = {"topics": topics, "timeoutMs": round(timeout_s * 1_000)}
    answer = ask(port, DELETE_RECORDS, asked, timeout_s)
    [(_, found)] = _partitions(answer)
    return found["lowWatermark"], found["errorCode"]


def ends(
    port: int,
    partitions: Mapping[str, Iterable[int]],
    timeout_s: float,
    which: int = LATEST,
    *,
    stable: bool = False,
) -> Places:
    """The end offsets of those of the partitions that this broker leads, in one request.

    `which` EARLIEST gives the first offset there is; `stable` ends before the first transaction
    that is open. Raises OSError.
    """
    topics = _topics(partitions, timestamp=which)
    asked = {"replicaId": -1, "isolationLevel": stable, "topics": topics}
    return _offsets(ask(port, LIST_OFFSETS, asked, timeout_s), "offset")


def _topics(partitions: Mapping[str, Iterable[int]], **fields: int) -> list[Body]:
    return [
        {"name": topic, "partitions": [{"partitionIndex": each, **fields} for each in numbers]}
        for topic, numbers in partitions.items()
    ]


def _partitions(answer: Body) -> list[tuple[str, Body]]:
    return [(topic["name"], each) for topic in answer["topics"] for each in topic["partitions"]]


def _offsets(answer: Body, name: str) -> Places:
    return {
        (topic, each["partitionIndex"]): each[name]
        for topic, each in _partitions(answer)
        if not each["errorCode"]
    }


@dataclass(frozen=True)
class MemberSeen:
    """A member as its coordinator describes it, and the partitions or tasks that it was given."""

    client_id: str
    host: str
    partitions: tuple[tuple[str, int], ...] = ()
    member_id: str = ""
    tasks: tuple[str, ...] = ()  # of a Streams group, as Streams names them


@dataclass(frozen=True)
class Described:
    """A group as its coordinator describes it; `kind` is "share", "streams", or "" of consumers."""

    state: str
    members: tuple[MemberSeen, ...] = ()
    kind: str = CONSUMER


def listed(port: int, timeout_s: float) -> list[str]:
    """The groups that this broker coordinates, of every type; none while it loads them."""
    answer = ask(port, LIST_GROUPS, {}, timeout_s)
    return [] if answer["errorCode"] else [each["groupId"] for each in answer["groups"]]


def described(port: int, group: str, timeout_s: float) -> Described | None:
    """A group with its members, asking its coordinator; None if this broker refuses."""
    if (answer := describe(port, group, timeout_s)) is None:
        return None
    kind, found = answer
    members = (_member(each, found.get("protocolType", "")) for each in found["members"])
    return Described(found["groupState"], tuple(members), kind)


def describe(
    port: int, group: str, timeout_s: float, kinds: Iterable[str] = tuple(_CALLS)
) -> tuple[str, Body] | None:
    """As `described`, a group of one of these kinds: its kind, and its fields in the answer.

    The call for classic groups does not know the others, and calls them dead.
    """
    [classic] = ask(port, DESCRIBE_GROUPS, {"groups": [group]}, timeout_s)["groups"]
    if classic["errorCode"]:
        return None
    asked = {"groupIds": [group], "includeAuthorizedOperations": False}
    for kind in kinds if classic["groupState"] == _UNKNOWN else ():
        try:
            answer = ask(port, _CALLS[kind], asked, timeout_s)
        except ConnectionResetError:
            break  # a broker that has no such groups knows no such call, and hangs up
        [found] = answer["groups"]
        if not found["errorCode"]:
            return kind, found
    return CONSUMER, classic


def _member(found: Body, protocol: str) -> MemberSeen:
    given = found.get("assignment", {})
    if protocol == _CLASSIC:
        given = assigned(found["memberAssignment"])
    host = found["clientHost"].removeprefix("/")
    return MemberSeen(found["clientId"], host, _places(given), found["memberId"], _tasks(given))


def assigned(data: bytes) -> Body:
    """An assignment of the classic protocol; empty where it cannot be read."""
    try:
        return decoded(ASSIGNMENT, data)
    except ValueError:  # none yet, or an assignor of the user's own, which may write anything
        return {}


def _places(given: Body) -> tuple[tuple[str, int], ...]:
    topics = given.get("topicPartitions", ())
    return tuple(
        sorted((each["topicName"], number) for each in topics for number in each["partitions"])
    )


def _tasks(given: Body) -> tuple[str, ...]:
    """Tasks as Streams names them: 0_3, and "standby 0_4"."""
    return tuple(
        f"{prefix}{each['subtopologyId']}_{number}"
        for role, prefix in _ROLES.items()
        for each in given.get(role, ())
        for number in sorted(each["partitions"])
    )
