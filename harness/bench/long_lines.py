"""Lines of brokers' logs, as the brokers of a made-up long run write them.

Their forms are those of Kafka 4.4's own lines: a request log's are `RequestConvertToJson`, and the
coordinator's those of `GroupMetadataManager`.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from harness.bench.long_plan import COORDINATOR, SECOND_US
from harness.cluster.plan import GROUP, TOPIC

_SUBSCRIPTION: Final = "AAMAAAABAAF0AAAAAAAAAAD/////AAA="  # of range, to the topic t
_VERSIONS: Final = {
    "LIST_OFFSETS": (2, 7),
    "FIND_COORDINATOR": (10, 2),
    "JOIN_GROUP": (11, 5),
    "HEARTBEAT": (12, 3),
    "SYNC_GROUP": (14, 3),
    "LEAVE_GROUP": (13, 1),
    "OFFSET_COMMIT": (8, 9),
    "OFFSET_FETCH": (9, 9),
}
_LIBRDKAFKA: Final = ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")
_UNKNOWN: Final = ("unknown", "unknown")
_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


def stamp(us: int) -> str:
    """A time as `harness/cluster/log4j2.xml` has it written."""
    at = datetime.fromtimestamp(us // SECOND_US, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{us % SECOND_US:06d}"


def request(
    us: int,
    api: str,
    client: str,
    correlation: int,
    asked: Mapping[str, Any],
    answer: Mapping[str, Any],
    total_ms: float,
    listener: str,
    version: int | None = None,
) -> str:
    """A line of a request log, written at `us`, of a request that took so long."""
    key, usual = _VERSIONS[api]
    name, of = _UNKNOWN if listener == "DIRECT" else _LIBRDKAFKA
    waited_ms = round(max(0.0, total_ms - 0.15), 3)
    header = (
        f'{{"isForwarded":false,"requestHeader":{{"requestApiKey":{key},"requestApiVersion":'
        f'{version or usual},"correlationId":{correlation},"clientId":"{client}",'
        f'"requestApiKeyName":"{api}"}},"request":'
    )
    rest = (
        f',"connection":"127.0.0.1:40665-127.0.0.1:43830-6-3","totalTimeMs":{total_ms:.3f},'
        f'"requestQueueTimeMs":0.03,"localTimeMs":0.05,"remoteTimeMs":{waited_ms},'
        '"throttleTimeMs":0,"responseQueueTimeMs":0.03,"sendTimeMs":0.04,'
        f'"securityProtocol":"PLAINTEXT","principal":"User:ANONYMOUS","listener":"{listener}",'
        f'"clientInformation":{{"softwareName":"{name}","softwareVersion":"{of}"}}}}\n'
    )
    body = f'{_ENCODE(asked)},"response":{_ENCODE(answer)}'
    return f"{stamp(us)} Completed request:{header}{body}{rest}"


def started(us: int, broker: int) -> str:
    """The first lines of a broker's coordinator in its server log."""
    of = f"INFO GroupCoordinatorService [GroupCoordinator id={broker}]"
    return f"{stamp(us)} {of} Starting up.\n{stamp(us + 100)} {of} Startup complete.\n"


def coordinator(us: int, text: str) -> str:
    """A line of a server log, of the coordinator of the group."""
    of = f"[GroupCoordinator id={COORDINATOR} topic=__consumer_offsets partition=1]"
    return f"{stamp(us)} INFO GroupMetadataManager {of} {text}\n"


# What requests ask, and their answers


def find() -> tuple[dict[str, Any], dict[str, Any]]:
    """Of a member: who the coordinator is."""
    found = {"nodeId": COORDINATOR, "host": "127.0.0.1", "port": 42505}
    answer = {"throttleTimeMs": 0, "errorCode": 0, "errorMessage": "NONE", **found}
    return {"key": GROUP, "keyType": 0}, answer


def looked() -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the observer: who the coordinator is."""
    return {"key": GROUP}, {
        "errorCode": 0,
        "nodeId": COORDINATOR,
        "host": "127.0.0.1",
        "port": 33679,
    }


def join(
    member_id: str,
    given: str,
    generation: int,
    leader: str,
    members: Sequence[str],
    timeouts: Mapping[str, int],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One that joins, or is given an id to join with (KIP-394), which is generation -1."""
    asked = {
        "groupId": GROUP,
        **timeouts,
        "memberId": member_id,
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": _SUBSCRIPTION}],
    }
    answer = {
        "throttleTimeMs": 0,
        "errorCode": 79 if generation < 0 else 0,  # MEMBER_ID_REQUIRED
        "generationId": generation,
        "protocolName": "" if generation < 0 else "range",
        "leader": leader,
        "memberId": given,
        "members": [
            {"memberId": each, "groupInstanceId": None, "metadata": _SUBSCRIPTION}
            for each in members
        ],
    }
    return asked, answer


def sync(
    member_id: str, generation: int, given: Mapping[str, Sequence[int]], mine: Sequence[int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a member is given; the leader gives all their partitions (`given`)."""
    asked = {
        **_of_member(member_id, generation),
        "assignments": [
            {"memberId": each, "assignment": assignment(partitions)}
            for each, partitions in given.items()
        ],
    }
    return asked, {"throttleTimeMs": 0, "errorCode": 0, "assignment": assignment(mine)}


def heartbeat(member_id: str, generation: int, code: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A heartbeat, and the error that answers it (0: none)."""
    return _of_member(member_id, generation), {"throttleTimeMs": 0, "errorCode": code}


def leave(member_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """One that leaves."""
    return {"groupId": GROUP, "memberId": member_id}, {"throttleTimeMs": 0, "errorCode": 0}


def commit(
    member_id: str, generation: int, positions: Mapping[int, int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A commit of positions, by partition, all accepted."""
    asked = {
        "groupId": GROUP,
        "generationIdOrMemberEpoch": generation,
        "memberId": member_id,
        "groupInstanceId": None,
        "topics": [
            {
                "name": TOPIC,
                "partitions": [
                    {
                        "partitionIndex": partition,
                        "committedOffset": position,
                        "committedLeaderEpoch": -1,
                        "committedMetadata": "",
                    }
                    for partition, position in positions.items()
                ],
            }
        ],
    }
    codes = [{"partitionIndex": partition, "errorCode": 0} for partition in positions]
    return asked, {"throttleTimeMs": 0, "topics": [{"name": TOPIC, "partitions": codes}]}


def positions_of_member(positions: Mapping[int, int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A member that asks where to go on; -1 where nothing was committed."""
    asked = {"groupId": GROUP, "memberId": None, "memberEpoch": -1}
    topics = [{"name": TOPIC, "partitionIndexes": list(positions)}]
    told = [{"name": TOPIC, "partitions": _told(positions, committedLeaderEpoch=-1)}]
    return {"groups": [{**asked, "topics": topics}], "requireStable": True}, {
        "throttleTimeMs": 0,
        "groups": [{"groupId": GROUP, "topics": told, "errorCode": 0}],
    }


def beginnings(partitions: Iterable[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A member that asks where partitions begin, of which nothing was committed."""
    earliest = {"currentLeaderEpoch": 0, "timestamp": -2}
    answer = {"errorCode": 0, "timestamp": -1, "offset": 0, "leaderEpoch": 0}
    wanted = [{"partitionIndex": partition, **earliest} for partition in partitions]
    found = [{"partitionIndex": each["partitionIndex"], **answer} for each in wanted]
    asked = {"replicaId": -1, "isolationLevel": 1}
    return {**asked, "topics": [{"name": TOPIC, "partitions": wanted}]}, {
        "throttleTimeMs": 0,
        "topics": [{"name": TOPIC, "partitions": found}],
    }


def positions_of_observer(positions: Mapping[int, int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The observer's question about all partitions."""
    topics = [{"name": TOPIC, "partitionIndexes": list(positions)}]
    told = [{"name": TOPIC, "partitions": _told(positions)}]
    return {"groupId": GROUP, "topics": topics}, {"topics": told, "errorCode": 0}


def _told(positions: Mapping[int, int], **more: int) -> list[dict[str, Any]]:
    return [
        {
            "partitionIndex": partition,
            "committedOffset": position,
            **more,
            "metadata": "",
            "errorCode": 0,
        }
        for partition, position in positions.items()
    ]


def _of_member(member_id: str, generation: int) -> dict[str, Any]:
    return {
        "groupId": GROUP,
        "generationId": generation,
        "memberId": member_id,
        "groupInstanceId": None,
    }


def assignment(partitions: Sequence[int]) -> str:
    """Partitions as the protocol of consumers has them: version, topics, user data (base64)."""
    name = TOPIC.encode()
    data = struct.pack(">hih", 0, 1, len(name)) + name
    data += struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return base64.b64encode(data + struct.pack(">i", 0)).decode()
