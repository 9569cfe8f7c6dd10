"""The few questions that the observer asks brokers, in Kafka's wire protocol.

Why not a client library: librdkafka's coordinator-targeted admin calls abort the whole process when
the connection drops at the wrong moment (use after free; librdkafka issue 4605, seen here too), and
faults drop connections all the time. Asking one broker directly also gives what no library does:
the answer of that very broker, within a time we choose. Old versions of the calls are used, which
need no tagged fields and which brokers from 2.1 to 4.4 answer; only groups of KIP-848 are asked for
by a call whose first version has them (KIP-482: lengths are varints, one more than they say).
"""

import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.base.ports import LOOPBACK
from harness.cluster import links

_LIST_OFFSETS: Final = 2
_METADATA: Final = 3
_OFFSET_FETCH: Final = 9
_FIND_COORDINATOR: Final = 10
_DESCRIBE_GROUPS: Final = 15
_API_VERSIONS: Final = 18
_DELETE_RECORDS: Final = 21
_OFFSET_DELETE: Final = 47
_CONSUMER_GROUP_DESCRIBE: Final = 69

_UNKNOWN_GROUP: Final = "Dead"  # what DescribeGroups v0 says of it, and of a KIP-848 group

CLIENT_ID: Final = "observer"
LATEST: Final = -1
EARLIEST: Final = -2


class Reader:
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
        return [self.number("i") for _ in range(self.number("i"))]

    def varint(self) -> int:
        """An unsigned varint: seven bits per byte, the lowest first."""
        value, shift = 0, 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def compact_text(self) -> str:
        """A compact string; null is empty."""
        return self._take(self.varint() - 1).decode()

    def tagged(self) -> "dict[int, Reader]":
        """Tagged fields, each to be read for itself, by their tags."""
        found = {}
        for _ in range(self.varint()):
            tag = self.varint()
            found[tag] = Reader(self._take(self.varint()))
        return found

    def tagged_fields(self) -> None:
        """Skip them: most are not wanted."""
        self.tagged()

    def _take(self, length: int) -> bytes:
        if length <= 0:
            return b""
        self._at += length
        return self._data[self._at - length : self._at]


def text_of(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def varint_of(value: int) -> bytes:
    """An unsigned varint, as it goes over the wire."""
    encoded = b""
    while value >= 0x80:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def compact_text_of(value: str) -> bytes:
    encoded = value.encode()
    return varint_of(len(encoded) + 1) + encoded


def request(api: int, version: int, body: bytes, client_id: str = CLIENT_ID) -> bytes:
    """A whole request as it goes over the wire."""
    whole = struct.pack(">hhi", api, version, 1) + text_of(client_id) + body
    return struct.pack(">i", len(whole)) + whole


def api_versions(client_id: str) -> bytes:
    """The request that every broker answers without knowing anything."""
    return request(_API_VERSIONS, 0, b"", client_id)


def ask(port: int, call: bytes, timeout_s: float, address: str = LOOPBACK) -> Reader:
    """Send one request over a new connection and return the body of the answer.

    Raises OSError (TimeoutError included) if there is none within `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    with links.connect(port, timeout_s, address) as link:
        answer = ask_over(link, call, deadline - time.monotonic())
        links.answered(link, port, address)
        return answer


def ask_over(link: socket.socket, call: bytes, timeout_s: float) -> Reader:
    """Send one request over a connection and return the body of the answer, as `ask` does."""
    deadline = time.monotonic() + timeout_s
    link.sendall(call)
    length = struct.unpack(">i", _receive(link, 4, deadline))[0]
    return Reader(_receive(link, length, deadline)[4:])  # less the correlation id


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
    """What one broker knows of the cluster: brokers by id, and each partition's leader and ISR.

    `epochs` is the sum of all leader epochs, which only grow: who has more of them knows more.
    """

    brokers: tuple[int, ...]
    partitions: tuple[dict[str, Any], ...]
    epochs: int


def metadata(port: int, topics: list[str] | None, timeout_s: float) -> Metadata:
    """Metadata of some topics, or of all, as this broker knows it (Metadata v7). Raises OSError."""
    make_none = b"\0"
    count = -1 if topics is None else len(topics)
    body = struct.pack(">i", count) + b"".join(map(text_of, topics or ())) + make_none
    answer = ask(port, request(_METADATA, 7, body), timeout_s)
    answer.number("i")  # throttle time
    brokers = []
    for _ in range(answer.number("i")):
        brokers.append(answer.number("i"))
        answer.text()  # host
        answer.number("i")  # port
        answer.text()  # rack
    answer.text()  # cluster id
    answer.number("i")  # controller id
    partitions = []
    epochs = 0
    for _ in range(answer.number("i")):
        answer.number("h")  # error: the topic then has no partitions
        topic = answer.text()
        answer.number("b")  # internal
        for _ in range(answer.number("i")):
            answer.number("h")  # error: the leader then is -1
            number, leader = answer.number("i"), answer.number("i")
            epochs += answer.number("i")
            partition = {"topic": topic, "partition": number, "leader": leader}
            replicas = len(answer.numbers())
            isr = sorted(answer.numbers())
            answer.numbers()  # replicas that are offline
            partitions.append({**partition, "isr": isr, "replicas": replicas})
    return Metadata(tuple(brokers), tuple(partitions), epochs)


def find_coordinator(port: int, group: str, timeout_s: float) -> int | None:
    """Broker id of a group's coordinator (FindCoordinator v0), or None if there is none now.

    Raises OSError.
    """
    answer = ask(port, request(_FIND_COORDINATOR, 0, text_of(group)), timeout_s)
    return None if answer.number("h") else answer.number("i")


@dataclass(frozen=True)
class GroupState:
    """A group as its coordinator describes it: Kafka's error code (0 if none), state, members."""

    error_code: int
    state: str
    members: int


def describe_group(port: int, group: str, timeout_s: float) -> GroupState:
    """Describe a group, asking its coordinator, whichever protocol the group has. Raises OSError.

    DescribeGroups v0 does not know groups of KIP-848, and calls them dead.
    """
    found = _describe_classic(port, group, timeout_s)
    if found.error_code or found.state != _UNKNOWN_GROUP:
        return found
    try:
        other = _describe_consumer(port, group, timeout_s)
    except ConnectionResetError:
        return found  # a broker before 4.0 knows no such call, and hangs up
    return found if other.error_code else other


def _describe_classic(port: int, group: str, timeout_s: float) -> GroupState:
    body = struct.pack(">i", 1) + text_of(group)
    answer = ask(port, request(_DESCRIBE_GROUPS, 0, body), timeout_s)
    answer.number("i")  # one group
    error_code = answer.number("h")
    answer.text()  # its id
    state = answer.text()
    answer.text()  # protocol type
    answer.text()  # protocol
    return GroupState(error_code, state, answer.number("i"))


def _describe_consumer(port: int, group: str, timeout_s: float) -> GroupState:
    """By ConsumerGroupDescribe v0, for groups of KIP-848."""
    error_code, state, answer = consumer_group(port, group, timeout_s)
    return GroupState(error_code, state, answer.varint() - 1)


def consumer_group(port: int, group: str, timeout_s: float) -> tuple[int, str, Reader]:
    """The error code and state of a group by ConsumerGroupDescribe v0, and its members to read."""
    error_code, state, answer = one_group(port, group, timeout_s, _CONSUMER_GROUP_DESCRIBE, 0)
    answer.compact_text()  # assignor
    return error_code, state, answer


def one_group(
    port: int, group: str, timeout_s: float, api: int, version: int
) -> tuple[int, str, Reader]:
    """The error code and state of a group of a type that has a call of its own; the rest to read.

    A broker that does not know the call hangs up. Raises OSError.
    """
    no_tags, no_operations = b"\0", b"\0"
    body = no_tags + varint_of(2) + compact_text_of(group) + no_operations + no_tags
    answer = ask(port, request(api, version, body), timeout_s)
    answer.tagged_fields()
    answer.number("i")  # throttle time
    answer.varint()  # one group
    error_code = answer.number("h")
    answer.compact_text()  # error message
    answer.compact_text()  # its id
    state = answer.compact_text()
    answer.number("i")  # group epoch
    answer.number("i")  # assignment epoch
    return error_code, state, answer


def committed(
    port: int, group: str, topic: str, partitions: Sequence[int], timeout_s: float
) -> dict[int, int]:
    """Committed positions of a group, asking its coordinator (OffsetFetch v2); -1 for none.

    Partitions for which it answers with an error are left out. Raises OSError.
    """
    body = text_of(group) + _one_topic(topic, [struct.pack(">i", number) for number in partitions])
    answer = ask(port, request(_OFFSET_FETCH, 2, body), timeout_s)
    found = {}
    for _ in range(answer.number("i")):  # one topic; none where the group as a whole is refused
        answer.text()
        for _ in range(answer.number("i")):
            number, position = answer.number("i"), answer.number("q")
            answer.text()  # metadata
            if answer.number("h") == 0:
                found[number] = position
    return {} if answer.number("h") else found


def delete_offsets(
    port: int, group: str, topic: str, partitions: Sequence[int], timeout_s: float
) -> dict[int, int]:
    """Delete committed positions, asking the coordinator (OffsetDelete v0).

    Returns error codes by partition, 0 where it was done; -1 is the code of the group as a whole,
    given alone. Raises OSError.
    """
    body = text_of(group) + _one_topic(topic, [struct.pack(">i", number) for number in partitions])
    answer = ask(port, request(_OFFSET_DELETE, 0, body), timeout_s)
    if whole := answer.number("h"):
        return {-1: whole}
    answer.number("i")  # throttle time
    answer.number("i")  # one topic
    answer.text()
    return {answer.number("i"): answer.number("h") for _ in range(answer.number("i"))}


def delete_records(port: int, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
    """Delete all records below the high watermark, asking the leader (DeleteRecords v1).

    Returns the first offset left and the error code. Raises OSError.
    """
    body = _one_topic(topic, [struct.pack(">iq", partition, -1)])
    body += struct.pack(">i", round(timeout_s * 1_000))
    answer = ask(port, request(_DELETE_RECORDS, 1, body), timeout_s)
    answer.number("i")  # throttle time
    answer.number("i")  # one topic
    answer.text()
    answer.number("i")  # one partition
    answer.number("i")
    return answer.number("q"), answer.number("h")


def _one_topic(topic: str, parts: Sequence[bytes]) -> bytes:
    """An array of one topic with an array of `parts`."""
    return struct.pack(">i", 1) + text_of(topic) + struct.pack(">i", len(parts)) + b"".join(parts)


def end_offset(
    port: int,
    topic: str,
    partition: int,
    timeout_s: float,
    which: int = LATEST,
    *,
    stable: bool = False,
) -> int | None:
    """End offset of a partition, asking its leader (ListOffsets v2); None if it does not lead.

    `which` EARLIEST gives the first offset there is; `stable` ends before the first transaction
    that is open. Raises OSError.
    """
    found = end_offsets(port, topic, [partition], timeout_s, which, stable=stable)
    return found.get(partition)


def end_offsets(
    port: int,
    topic: str,
    partitions: Sequence[int],
    timeout_s: float,
    which: int = LATEST,
    *,
    stable: bool = False,
) -> dict[int, int]:
    """The end offsets of those of the partitions that this broker leads, in one request.

    Otherwise as `end_offset`.
    """
    body = struct.pack(">ibi", -1, stable, 1) + text_of(topic)
    body += struct.pack(">i", len(partitions))
    body += b"".join(struct.pack(">iq", number, which) for number in partitions)
    answer = ask(port, request(_LIST_OFFSETS, 2, body), timeout_s)
    answer.number("i")  # throttle time
    answer.number("i")  # one topic
    answer.text()
    found = {}
    for _ in range(answer.number("i")):
        number, error_code = answer.number("i"), answer.number("h")
        answer.number("q")  # timestamp
        offset = answer.number("q")
        if not error_code:
            found[number] = offset
    return found
