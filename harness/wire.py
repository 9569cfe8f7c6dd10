"""The few questions that the observer asks brokers, in Kafka's wire protocol.

Why not a client library: librdkafka's coordinator-targeted admin calls abort the whole process when
the connection drops at the wrong moment (use after free; librdkafka issue 4605, seen here too), and
faults drop connections all the time. Asking one broker directly also gives what no library does:
the answer of that very broker, within a time we choose. Old versions of the calls are used, which
need no tagged fields and which brokers from 2.1 to 4.3 answer.
"""

import socket
import struct
import time
from dataclasses import dataclass
from typing import Any, Final

from harness.ports import LOOPBACK

_LIST_OFFSETS: Final = 2
_METADATA: Final = 3
_FIND_COORDINATOR: Final = 10
_DESCRIBE_GROUPS: Final = 15
_API_VERSIONS: Final = 18

CLIENT_ID: Final = "observer"
LATEST: Final = -1


class _Reader:
    """Reads an answer field by field."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, code: str) -> int:
        """A big-endian number by its struct code."""
        (value,) = struct.unpack_from(f">{code}", self._data, self._at)
        self._at += struct.calcsize(f">{code}")
        return int(value)

    def text(self) -> str:
        """A nullable string; null is empty."""
        return self._take(self.number("h")).decode()

    def octets(self) -> bytes:
        """Nullable bytes; null is empty."""
        return self._take(self.number("i"))

    def numbers(self) -> list[int]:
        """An array of int32."""
        return [self.number("i") for _ in range(self.number("i"))]

    def _take(self, length: int) -> bytes:
        if length <= 0:
            return b""
        self._at += length
        return self._data[self._at - length : self._at]


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def request(api: int, version: int, body: bytes, client_id: str = CLIENT_ID) -> bytes:
    """A whole request as it goes over the wire."""
    whole = struct.pack(">hhi", api, version, 1) + _text(client_id) + body
    return struct.pack(">i", len(whole)) + whole


def api_versions(client_id: str) -> bytes:
    """The request that every broker answers without knowing anything."""
    return request(_API_VERSIONS, 0, b"", client_id)


def ask(port: int, call: bytes, timeout_s: float, address: str = LOOPBACK) -> _Reader:
    """Send one request over a new connection and return the body of the answer.

    Raises OSError (TimeoutError included) if there is none within `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    with socket.create_connection((address, port), timeout=timeout_s) as link:
        link.sendall(call)
        length = struct.unpack(">i", _receive(link, 4, deadline))[0]
        return _Reader(_receive(link, length, deadline)[4:])  # less the correlation id


def _receive(link: socket.socket, length: int, deadline: float) -> bytes:
    parts = b""
    while len(parts) < length:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"{len(parts)} of {length} bytes of an answer came in time")
        link.settimeout(left_s)
        part = link.recv(length - len(parts))
        if not part:
            raise ConnectionResetError("the connection was closed in the middle of an answer")
        parts += part
    return parts


@dataclass(frozen=True)
class Metadata:
    """What one broker knows of the cluster: brokers by id, and each partition's leader and ISR."""

    brokers: tuple[int, ...]
    partitions: tuple[dict[str, Any], ...]


def metadata(port: int, topics: list[str], timeout_s: float) -> Metadata:
    """Metadata of some topics, as this broker knows it (Metadata v1). Raises OSError."""
    body = struct.pack(">i", len(topics)) + b"".join(_text(topic) for topic in topics)
    answer = ask(port, request(_METADATA, 1, body), timeout_s)
    brokers = []
    for _ in range(answer.number("i")):
        brokers.append(answer.number("i"))
        answer.text()  # host
        answer.number("i")  # port
        answer.text()  # rack
    answer.number("i")  # controller id
    partitions = []
    for _ in range(answer.number("i")):
        answer.number("h")  # error: the topic then has no partitions
        topic = answer.text()
        answer.number("b")  # internal
        for _ in range(answer.number("i")):
            answer.number("h")  # error: the leader then is -1
            number, leader = answer.number("i"), answer.number("i")
            answer.numbers()  # replicas
            isr = sorted(answer.numbers())
            partitions.append({"topic": topic, "partition": number, "leader": leader, "isr": isr})
    return Metadata(tuple(brokers), tuple(partitions))


def find_coordinator(port: int, group: str, timeout_s: float) -> int | None:
    """Broker id of a group's coordinator (FindCoordinator v0), or None if there is none now.

    Raises OSError.
    """
    answer = ask(port, request(_FIND_COORDINATOR, 0, _text(group)), timeout_s)
    return None if answer.number("h") else answer.number("i")


@dataclass(frozen=True)
class GroupState:
    """A group as its coordinator describes it: Kafka's error code (0 if none), state, members."""

    error_code: int
    state: str
    members: int


def describe_group(port: int, group: str, timeout_s: float) -> GroupState:
    """Describe a group, asking its coordinator (DescribeGroups v0). Raises OSError."""
    body = struct.pack(">i", 1) + _text(group)
    answer = ask(port, request(_DESCRIBE_GROUPS, 0, body), timeout_s)
    answer.number("i")  # one group
    error_code = answer.number("h")
    answer.text()  # its id
    state = answer.text()
    answer.text()  # protocol type
    answer.text()  # protocol
    return GroupState(error_code, state, answer.number("i"))


def end_offset(port: int, topic: str, partition: int, timeout_s: float) -> int | None:
    """End offset of a partition, asking its leader (ListOffsets v1); None if it does not lead.

    Raises OSError.
    """
    body = struct.pack(">ii", -1, 1) + _text(topic) + struct.pack(">iiq", 1, partition, LATEST)
    answer = ask(port, request(_LIST_OFFSETS, 1, body), timeout_s)
    answer.number("i")  # one topic
    answer.text()
    answer.number("i")  # one partition
    answer.number("i")
    error_code = answer.number("h")
    answer.number("q")  # timestamp
    return None if error_code else answer.number("q")
