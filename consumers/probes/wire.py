"""Kafka's protocol, spoken with Kafka's own message classes: JSON objects in, JSON objects out.

A request is a dict with Kafka's field names; what it leaves out at the top level has Kafka's
default. Bytes are base64 in it, as they are in the brokers' request log. Only the classes that
generate and parse messages are used, which are alike in Kafka 3.9 to 4.3.
"""

import json
import socket
import struct
import time
from typing import Any, Final

import jpype

from consumers.probes.admission import Admission
from harness.base.codec import answer_on
from harness.base.credentials import Credentials
from harness.base.errors import ClusterError

Body = dict[str, Any]

# The newest version of each call that names topics by name (ids came later) and that both
# coordinators, the old and the new, answer.
VERSIONS: Final[dict[str, int]] = {
    "ADD_OFFSETS_TO_TXN": 3,
    "ALTER_PARTITION_REASSIGNMENTS": 0,
    "CONSUMER_GROUP_DESCRIBE": 0,  # and no other coordinator than the new one
    "CREATE_PARTITIONS": 3,
    "CREATE_TOPICS": 7,
    "DELETE_GROUPS": 2,
    "DESCRIBE_GROUPS": 5,
    "ELECT_LEADERS": 2,
    "END_TXN": 3,
    "FIND_COORDINATOR": 4,
    "HEARTBEAT": 4,
    "INIT_PRODUCER_ID": 4,
    "JOIN_GROUP": 9,
    "LEAVE_GROUP": 5,
    "LIST_GROUPS": 4,
    "LIST_OFFSETS": 7,
    "METADATA": 9,
    "OFFSET_COMMIT": 8,
    "OFFSET_DELETE": 0,
    "OFFSET_FETCH": 8,
    "OFFSET_FOR_LEADER_EPOCH": 4,
    "SYNC_GROUP": 5,
    "TXN_OFFSET_COMMIT": 3,
}


class Codec:
    """Requests to bytes and bytes to answers. The JVM has to run (`consumers.jvm`)."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        common = "org.apache.kafka.common"
        self._types = jpype.JClass(f"{common}.message.ApiMessageType")
        self._accessor = jpype.JClass(f"{common}.protocol.ByteBufferAccessor")
        self._cache = jpype.JClass(f"{common}.protocol.ObjectSerializationCache")
        self._request_header = jpype.JClass(f"{common}.message.RequestHeaderData")
        self._response_header = jpype.JClass(f"{common}.message.ResponseHeaderData")
        self._buffer = jpype.JClass("java.nio.ByteBuffer")
        self._mapper = jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")()

    def newest(self, api: str) -> int:
        """The newest version of a call that these jars know."""
        return int(self._types.valueOf(api).highestSupportedVersion(False))

    def encode(self, api: str, version: int, body: Body) -> bytes:
        kind = self._types.valueOf(api)
        header = {
            "requestApiKey": int(kind.apiKey()),
            "requestApiVersion": version,
            "correlationId": 1,
            "clientId": self._client_id,
        }
        header_version = int(kind.requestHeaderVersion(jpype.JShort(version)))
        whole = self._bytes(self._request_header(), header_version, header)
        whole += self._bytes(kind.newRequest(), version, body)
        return struct.pack(">i", len(whole)) + whole

    def decode(self, api: str, version: int, data: bytes) -> Body:
        """The answer in what came back, less its length."""
        kind = self._types.valueOf(api)
        readable = self._accessor(self._buffer.wrap(jpype.JArray(jpype.JByte)(data)))
        header_version = kind.responseHeaderVersion(jpype.JShort(version))
        self._response_header().read(readable, header_version)
        answer = kind.newResponse()
        answer.read(readable, jpype.JShort(version))
        return self._as_json(answer, version)

    def _bytes(self, empty: Any, version: int, fields: Body) -> bytes:
        short = jpype.JShort(version)
        tree = self._mapper.readTree(json.dumps({**self._as_json(empty, version), **fields}))
        message = self._converter(empty).read(tree, short)
        cache = self._cache()
        buffer = self._buffer.allocate(message.size(cache, short))
        message.write(self._accessor(buffer), cache, short)
        return bytes(buffer.array())

    def _as_json(self, message: Any, version: int) -> Body:
        tree = self._converter(message).write(message, jpype.JShort(version))
        found: Body = json.loads(str(tree.toString()))
        return found

    @staticmethod
    def _converter(message: Any) -> Any:
        return jpype.JClass(f"{message.getClass().getName()}JsonConverter")


class Link:
    """One connection to one broker, for one question."""

    def __init__(
        self, address: tuple[str, int], timeout_s: float, admission: Admission | None = None
    ) -> None:
        self._deadline = time.monotonic() + timeout_s
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if admission is not None:
            self._socket = admission.enter(self._socket, address[0])

    def send(self, data: bytes) -> None:
        """Send a whole request. Raises OSError."""
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """The answer, less its length. Raises OSError, TimeoutError when time is up included."""
        with self._socket:
            return answer_on(self._socket, self._deadline)


class Brokers:
    """The brokers of a cluster as one listener advertises them, and who leads what."""

    def __init__(
        self,
        codec: Codec,
        bootstrap: str,
        timeout_s: float = 10.0,
        credentials: Credentials | None = None,
    ) -> None:
        self._codec = codec
        self._timeout_s = timeout_s
        self._admission = None if credentials is None else Admission(credentials)
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self._first = (host, int(port))
        brokers = self._ask(self._first, "METADATA", {"topics": []})["brokers"]
        self.addresses: dict[int, tuple[str, int]] = {
            broker["nodeId"]: (broker["host"], broker["port"])
            for broker in sorted(brokers, key=lambda one: int(one["nodeId"]))
        }

    def link(self, broker: int) -> Link:
        return Link(self.addresses[broker], self._timeout_s, self._admission)

    def ask(self, broker: int, api: str, body: Body, version: int | None = None) -> Body:
        """One question on a connection of its own, in the usual version or another.

        Raises OSError.
        """
        return self._ask(self.addresses[broker], api, body, version)

    def coordinator(self, key: str, kind: int = 0) -> int:
        """The coordinator of a group (kind 0) or of a transactional id (kind 1).

        Raises ClusterError while there is none.
        """
        body = {"keyType": kind, "coordinatorKeys": [key]}
        (found,) = self._ask(self._first, "FIND_COORDINATOR", body)["coordinators"]
        if found["errorCode"]:
            raise ClusterError(f"no coordinator of {key!r} now (error {found['errorCode']})")
        return int(found["nodeId"])

    def partitions(self, topic: str) -> list[Body]:
        """Metadata of a topic's partitions, by number; empty while brokers do not know it."""
        body = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
        (found,) = self._ask(self._first, "METADATA", body)["topics"]
        return sorted(found["partitions"], key=lambda one: int(one["partitionIndex"]))

    def _ask(
        self, address: tuple[str, int], api: str, body: Body, version: int | None = None
    ) -> Body:
        version = VERSIONS[api] if version is None else version
        link = Link(address, self._timeout_s, self._admission)
        link.send(self._codec.encode(api, version, body))
        return self._codec.decode(api, version, link.receive())
