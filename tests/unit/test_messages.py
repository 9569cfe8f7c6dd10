"""Messages as Kafka's own classes encode them, read and written by our specifications.

`python3 -m harness.provision exec -- -m tests.unit.test_messages` prints BYTES.
"""

import base64
import sys
import textwrap
from typing import Any, Final

import pytest

from harness.base.codec import decoded, encoded
from harness.cluster import wire
from harness.cluster.wire import Call

ID: Final = "AAECAwQFBgcICQoLDA0ODw"
GIVEN: Final = {
    "topicPartitions": [{"topicId": ID, "topicName": "t" * 130, "partitions": [2, 0]}],
}
NOTHING: Final[dict[str, Any]] = {"topicPartitions": []}
GROUP: Final = {
    "errorCode": 0, "errorMessage": None, "groupId": "orders", "groupState": "Stable",
    "groupEpoch": 3, "assignmentEpoch": 2, "authorizedOperations": -2147483648,
}  # fmt: skip
MEMBER: Final = {
    "memberId": "m", "rackId": None, "memberEpoch": 3, "clientId": "c", "clientHost": "/10.0.0.1",
}  # fmt: skip
MADE: Final = {
    "name": "x", "partitions": 6, "replicationFactor": 3,
    "topicConfigs": [{"key": "k", "value": "v"}],
}  # fmt: skip
STREAMS_MEMBER: Final[dict[str, Any]] = {
    **MEMBER, "instanceId": None, "topologyEpoch": 1, "processId": "p",
    "userEndpoint": {"host": "h", "port": 60000}, "clientTags": [{"key": "zone", "value": "a"}],
    "taskOffsets": [{"subtopologyId": "0", "partition": 1, "offset": 17}], "taskEndOffsets": [],
    "assignment": {
        "activeTasks": [{"subtopologyId": "0", "partitions": [2, 0]}],
        "standbyTasks": [{"subtopologyId": "1", "partitions": [4]}], "warmupTasks": [],
    },
    "targetAssignment": {"activeTasks": [], "standbyTasks": [], "warmupTasks": []},
    "isClassic": False,
}  # fmt: skip
TOPOLOGY: Final = {
    "epoch": 1,
    "subtopologies": [{
        "subtopologyId": "0", "sourceTopics": ["t"], "repartitionSinkTopics": [],
        "stateChangelogTopics": [MADE], "repartitionSourceTopics": [],
    }],
}  # fmt: skip

REQUESTS: Final[list[tuple[Call, dict[str, Any]]]] = [
    (wire.FETCH, {
        "replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 1, "isolationLevel": 0,
        "topics": [{"topic": "t", "partitions": [
            {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1},
        ]}],
    }),
    (wire.LIST_OFFSETS, {
        "replicaId": -1, "isolationLevel": 1,
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 3, "timestamp": -2}]}],
    }),
    (wire.METADATA, {"topics": [{"name": "t"}], "allowAutoTopicCreation": False}),
    (wire.METADATA, {"topics": None, "allowAutoTopicCreation": False}),
    (wire.OFFSET_FETCH, {
        "groupId": "orders", "topics": [{"name": "t", "partitionIndexes": [0, 3]}],
    }),
    (wire.OFFSET_FETCH, {"groupId": "orders", "topics": None}),
    (wire.FIND_COORDINATOR, {"key": "orders"}),
    (wire.DESCRIBE_GROUPS, {"groups": ["orders"]}),
    (wire.LIST_GROUPS, {}),
    (wire.API_VERSIONS, {}),
    (wire.FEATURES, {"clientSoftwareName": "kafka-chaos", "clientSoftwareVersion": "0"}),
    (wire.DELETE_RECORDS, {
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 3, "offset": -1}]}],
        "timeoutMs": 5250,
    }),
    (wire.DESCRIBE_ACLS, {
        "resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1,
        "principalFilter": None, "hostFilter": None, "operation": 1, "permissionType": 1,
    }),
    (wire.OFFSET_DELETE, {
        "groupId": "orders", "topics": [{"name": "t", "partitions": [{"partitionIndex": 3}]}],
    }),
    (wire.DESCRIBE_USERS, {"users": None}),
    (wire.UPDATE_FEATURES, {
        "timeoutMs": 7500, "validateOnly": False,
        "featureUpdates": [{"feature": "group.version", "maxVersionLevel": 1, "upgradeType": 1}],
    }),
    *(
        (call, {"groupIds": ["orders"], "includeAuthorizedOperations": False})
        for call in (
            wire.CONSUMER_GROUP_DESCRIBE, wire.SHARE_GROUP_DESCRIBE, wire.STREAMS_GROUP_DESCRIBE,
        )
    ),
]  # fmt: skip
ANSWERS: Final[list[tuple[Call, dict[str, Any]]]] = [
    (wire.FETCH, {
        "throttleTimeMs": 1,
        "responses": [{"topic": "t", "partitions": [{
            "partitionIndex": 0, "errorCode": 29, "highWatermark": 7, "lastStableOffset": 6,
            "abortedTransactions": [{"producerId": 5, "firstOffset": 4}], "records": None,
        }]}],
    }),
    (wire.LIST_OFFSETS, {
        "throttleTimeMs": 1,
        "topics": [{"name": "t", "partitions": [
            {"partitionIndex": 3, "errorCode": 6, "timestamp": -1, "offset": 1099511627776},
        ]}],
    }),
    (wire.METADATA, {
        "throttleTimeMs": 1, "clusterId": None, "controllerId": 101,
        "brokers": [{"nodeId": 1, "host": "127.0.0.1", "port": 9092, "rack": None}],
        "topics": [{"errorCode": 0, "name": "ü", "isInternal": True, "partitions": [{
            "errorCode": 5, "partitionIndex": 0, "leaderId": -1, "leaderEpoch": 4,
            "replicaNodes": [1, 2], "isrNodes": [2], "offlineReplicas": [],
        }]}],
    }),
    (wire.OFFSET_FETCH, {
        "topics": [{"name": "t", "partitions": [
            {"partitionIndex": 0, "committedOffset": 7, "metadata": None, "errorCode": 3},
        ]}],
        "errorCode": 16,
    }),
    (wire.FIND_COORDINATOR, {"errorCode": 15, "nodeId": -1, "host": "", "port": -1}),
    (wire.DESCRIBE_GROUPS, {"groups": [{
        "errorCode": 0, "groupId": "orders", "groupState": "Stable", "protocolType": "consumer",
        "protocolData": "range",
        "members": [{
            "memberId": "m", "clientId": "c", "clientHost": "/10.0.0.1",
            "memberMetadata": "AAE=", "memberAssignment": "",
        }],
    }]}),
    (wire.LIST_GROUPS, {
        "errorCode": 14, "groups": [{"groupId": "orders", "protocolType": "consumer"}],
    }),
    (wire.FEATURES, {
        "errorCode": 0, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 4}],
        "throttleTimeMs": 0, "finalizedFeaturesEpoch": 35,
        "finalizedFeatures": [
            {"name": "group.version", "maxVersionLevel": 1, "minVersionLevel": 1},
        ],
    }),
    (wire.DELETE_RECORDS, {
        "throttleTimeMs": 1,
        "topics": [{"name": "t", "partitions": [
            {"partitionIndex": 3, "lowWatermark": 9, "errorCode": 6},
        ]}],
    }),
    (wire.DESCRIBE_ACLS, {
        "throttleTimeMs": 1, "errorCode": 54, "errorMessage": None,
        "resources": [{
            "resourceType": 3, "resourceName": "orders", "patternType": 3,
            "acls": [{
                "principal": "User:members", "host": "*", "operation": 3, "permissionType": 3,
            }],
        }],
    }),
    (wire.OFFSET_DELETE, {
        "errorCode": 0, "throttleTimeMs": 1,
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 3, "errorCode": 86}]}],
    }),
    (wire.DESCRIBE_USERS, {
        "throttleTimeMs": 1, "errorCode": 0, "errorMessage": None,
        "results": [{
            "user": "members", "errorCode": 91, "errorMessage": "why",
            "credentialInfos": [{"mechanism": 2, "iterations": 4096}],
        }],
    }),
    (wire.UPDATE_FEATURES, {
        "throttleTimeMs": 1, "errorCode": 0, "errorMessage": None,
        "results": [{"feature": "group.version", "errorCode": 95, "errorMessage": "why"}],
    }),
    (wire.CONSUMER_GROUP_DESCRIBE, {"throttleTimeMs": 1, "groups": [{
        **GROUP, "assignorName": "uniform",
        "members": [{
            **MEMBER, "instanceId": "i", "subscribedTopicNames": ["t"],
            "subscribedTopicRegex": None, "assignment": GIVEN, "targetAssignment": NOTHING,
        }],
    }]}),
    (wire.SHARE_GROUP_DESCRIBE, {"throttleTimeMs": 1, "groups": [{
        **GROUP, "assignorName": "simple",
        "members": [{**MEMBER, "subscribedTopicNames": ["t"], "assignment": GIVEN}],
    }]}),
    (wire.STREAMS_GROUP_DESCRIBE, {"throttleTimeMs": 1, "groups": [
        {**GROUP, "topology": TOPOLOGY, "members": [STREAMS_MEMBER]},
        {**GROUP, "topology": None, "members": [{**STREAMS_MEMBER, "userEndpoint": None}]},
    ]}),
]  # fmt: skip


# Of each request, less its length, and of each answer, less its number.
BYTES: Final = """
000100040000000100086f62736572766572ffffffff000000000000000000000001000000000100017400000001000000
 00000000000000000000000001
000200020000000100086f62736572766572ffffffff01000000010001740000000100000003fffffffffffffffe
000300070000000100086f627365727665720000000100017400
000300070000000100086f62736572766572ffffffff00
000900020000000100086f6273657276657200066f726465727300000001000174000000020000000000000003
000900020000000100086f6273657276657200066f7264657273ffffffff
000a00000000000100086f6273657276657200066f7264657273
000f00000000000100086f627365727665720000000100066f7264657273
001000000000000100086f62736572766572
001200000000000100086f62736572766572
001200030000000100086f62736572766572000c6b61666b612d6368616f73023000
001500010000000100086f62736572766572000000010001740000000100000003ffffffffffffffff00001482
001d00010000000100086f6273657276657201ffff01ffffffff0101
002f00000000000100086f6273657276657200066f7264657273000000010001740000000100000003
003200000000000100086f62736572766572000000
003900010000000100086f627365727665720000001d4c020e67726f75702e76657273696f6e000101000000
004500000000000100086f627365727665720002076f72646572730000
004d00010000000100086f627365727665720002076f72646572730000
005900000000000100086f627365727665720002076f72646572730000
00000001000000010001740000000100000000001d00000000000000070000000000000006000000010000000000000005
 0000000000000004ffffffff
000000010000000100017400000001000000030006ffffffffffffffff0000010000000000
00000001000000010000000100093132372e302e302e3100002384ffffffff000000650000000100000002c3bc01000000
 01000500000000ffffffff00000004000000020000000100000002000000010000000200000000
0000000100017400000001000000000000000000000007ffff00030010
000fffffffff0000ffffffff
00000001000000066f72646572730006537461626c650008636f6e73756d6572000572616e67650000000100016d000163
 00092f31302e302e302e3100000002000100000000
000e0000000100066f72646572730008636f6e73756d6572
000002001200000004000000000002010800000000000000230214020e67726f75702e76657273696f6e0001000100
0000000100000001000174000000010000000300000000000000090006
000000010036ffff000000010300066f72646572730300000001000c557365723a6d656d6265727300012a0303
0000000000010000000100017400000001000000030056
000000000100000002086d656d62657273005b04776879020200001000000000
0000000001000000020e67726f75702e76657273696f6e005f047768790000
000000000102000000076f726465727307537461626c65000000030000000208756e69666f726d02026d02690000000003
 02630a2f31302e302e302e310202740002000102030405060708090a0b0c0d0e0f8301747474747474747474747474747
 4747474747474747474747474747474747474747474747474747474747474747474747474747474747474747474747474
 7474747474747474747474747474747474747474747474747474747474747474747474747474747474747474747474747
 4747474747474747474747474747474747474740300000002000000000000010000800000000000
000000000102000000076f726465727307537461626c6500000003000000020773696d706c6502026d000000000302630a
 2f31302e302e302e3102027402000102030405060708090a0b0c0d0e0f830174747474747474747474747474747474747
 4747474747474747474747474747474747474747474747474747474747474747474747474747474747474747474747474
 7474747474747474747474747474747474747474747474747474747474747474747474747474747474747474747474747
 4747474747474747474747474747474030000000200000000000000800000000000
000000000103000000076f726465727307537461626c650000000300000002010000000102023002027401020278000000
 06000302026b0276000001000002026d00000003000002630a2f31302e302e302e31000000010270010268ea600002057
 a6f6e65026100020230000000010000000000000011000102023003000000020000000000020231020000000400010001
 01010000008000000000000000076f726465727307537461626c650000000300000002ff02026d00000003000002630a2
 f31302e302e302e31000000010270ff02057a6f6e65026100020230000000010000000000000011000102023003000000
 0200000000000202310200000004000100010101000000800000000000
"""
ENCODED: Final = [bytes.fromhex(each) for each in BYTES.replace("\n ", "").split()]


def named(cases: list[tuple[Call, dict[str, Any]]], encoded: list[bytes]) -> list[Any]:
    return [
        pytest.param(call, fields, data, id=f"{call.api}-{number}")
        for number, ((call, fields), data) in enumerate(zip(cases, encoded, strict=True))
    ]


@pytest.mark.parametrize(("call", "fields", "data"), named(REQUESTS, ENCODED[: len(REQUESTS)]))
def test_a_request_is_what_kafka_makes_of_its_fields(
    call: Call, fields: dict[str, Any], data: bytes
) -> None:
    assert len(data).to_bytes(4, "big") + data == call.request(fields)


@pytest.mark.parametrize(("call", "fields", "data"), named(ANSWERS, ENCODED[len(REQUESTS) :]))
def test_an_answer_has_the_fields_of_which_kafka_made_it(
    call: Call, fields: dict[str, Any], data: bytes
) -> None:
    found = decoded(call.answers, data)
    found.pop("header", None)

    assert read(fields, found) == found


def read(field: Any, found: Any) -> Any:
    """A field of Kafka's JSON as it is read: ids and octets as bytes, most nulls as nothing.

    A tagged field that no specification has is skipped.
    """
    if isinstance(found, dict):
        return {name: read(field[name], value) for name, value in found.items()}
    if isinstance(found, list) and field is not None:
        return [read(one, value) for one, value in zip(field, found, strict=True)]
    if isinstance(found, bytes) and field is not None:
        return base64.urlsafe_b64decode(field + "=" * (-len(field) % 4))
    return type(found)() if field is None and found is not None else field


def test_whatever_is_cut_off_is_no_message() -> None:
    for (call, _), data in zip(ANSWERS, ENCODED[len(REQUESTS) :], strict=True):
        for length in range(len(data)):
            with pytest.raises(ValueError, match="ends too early"):
                decoded(call.answers, data[:length])


def test_tagged_fields_that_are_not_known_are_skipped() -> None:
    tagged = b"\2" + b"\7\3abc" + b"\x81\1\0"  # two: of the tags 7 and 129
    data = tagged + b"\0\0\0\5" + b"\2" + b"\2a" + tagged + tagged

    found = decoded("~ header{} throttleTimeMs:i groups[groupId:text]", data)

    assert {"header": {}, "throttleTimeMs": 5, "groups": [{"groupId": "a"}]} == found


def test_what_is_written_can_be_read() -> None:
    spec = "id:uuid port:H empty:text no:text none:octets of?{n:q*} not?{n:b} all[n:h]"
    for each in (spec, f"~ {spec}"):
        fields = {
            "id": bytes(16), "port": 65535, "empty": "", "no": None, "none": None,
            "of": {"n": [-1, 2**40]}, "not": None, "all": [{"n": -2}],
        }  # fmt: skip
        assert {**fields, "no": "", "none": b""} == decoded(each, encoded(each, fields))


def by_kafka() -> list[bytes]:
    """The same by Kafka's own classes."""
    from consumers import jvm
    from consumers.probes.script import Codec
    from harness.provision.tools import resolve_tools

    tools = resolve_tools()
    jvm.start(str(tools.java.parent.parent), tools.kafka_classpath)
    codec = Codec(wire.CLIENT_ID)
    apis = {int(api.apiKey()): str(api) for api in codec._types.values()}
    requests = [codec.encode(apis[call.api], call.version, body)[4:] for call, body in REQUESTS]
    answers = []
    for call, body in ANSWERS:
        empty = codec._types.valueOf(apis[call.api]).newResponse()
        header = b"\0" if "header{}" in call.answers else b""
        answers.append(header + codec._bytes(empty, call.version, body))
    return requests + answers


if __name__ == "__main__":
    for message in by_kafka():
        whole = textwrap.fill(message.hex(), 98, subsequent_indent=" ")
        sys.stdout.write(f"{whole}\n")
