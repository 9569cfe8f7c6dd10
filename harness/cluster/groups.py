"""What brokers tell of every group, whoever its members are: states, members, positions.

In Kafka's wire protocol, for the reasons that `wire` gives, and as its calls are: each asks one
broker, over a new connection, and raises OSError if there is no answer in time.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.cluster import wire
from harness.cluster.wire import (
    Reader,
    ask,
    consumer_group,
    request,
    text_of,
)

_LIST_OFFSETS: Final = 2
_OFFSET_FETCH: Final = 9
_DESCRIBE_GROUPS: Final = 15
_LIST_GROUPS: Final = 16

_SHARE_GROUP_DESCRIBE: Final = 77
_STREAMS_GROUP_DESCRIBE: Final = 89

_CONSUMERS: Final = "consumer"  # the type of protocol in which assignments can be read
_UNKNOWN: Final = "Dead"  # what DescribeGroups v0 says of a group that is no classic one

Places = dict[tuple[str, int], int]  # by topic and partition, a position


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
    kind: str = ""


def listed(port: int, timeout_s: float) -> list[str]:
    """The groups that this broker coordinates (ListGroups v0), whatever their members speak."""
    answer = ask(port, request(_LIST_GROUPS, 0, b""), timeout_s)
    if answer.number("h"):  # it is still loading them
        return []
    found = []
    for _ in range(answer.number("i")):
        found.append(answer.text())
        answer.text()  # type of protocol
    return found


def described(port: int, group: str, timeout_s: float) -> Described | None:
    """A group with its members, asking its coordinator; None if this broker does not know it."""
    found = _classic(port, group, timeout_s)
    if found is None or found.state != _UNKNOWN:
        return found
    for describe in (_of_kip_848, _share, _streams):
        try:
            if (other := describe(port, group, timeout_s)) is not None:
                return other
        except ConnectionResetError:
            break  # a broker that has no such groups knows no such call, and hangs up
    return found


def _classic(port: int, group: str, timeout_s: float) -> Described | None:
    body = struct.pack(">i", 1) + text_of(group)
    answer = ask(port, request(_DESCRIBE_GROUPS, 0, body), timeout_s)
    answer.number("i")  # one group
    error_code = answer.number("h")
    answer.text()  # its id
    state, kind = answer.text(), answer.text()
    answer.text()  # protocol
    members = []
    for _ in range(answer.number("i")):
        member_id, client_id, host = answer.text(), answer.text(), answer.text()
        answer.octets()  # what it subscribed to
        given = answer.octets()
        partitions = assigned(given) if kind == _CONSUMERS else ()
        members.append(MemberSeen(client_id, _host(host), partitions, member_id))
    return None if error_code else Described(state, tuple(members))


def assigned(data: bytes) -> tuple[tuple[str, int], ...]:
    """The partitions in an assignment of the classic protocol; none where it cannot be read."""
    answer = Reader(data)
    found: list[tuple[str, int]] = []
    try:
        if data:
            answer.number("h")  # version
            for _ in range(answer.number("i")):
                topic = answer.text()
                found += [(topic, number) for number in answer.numbers()]
    except (struct.error, UnicodeDecodeError):  # an assignor of somebody's own may write anything
        return ()
    return tuple(sorted(found))


def _of_kip_848(port: int, group: str, timeout_s: float) -> Described | None:
    error_code, state, answer = consumer_group(port, group, timeout_s)
    members = tuple(_member(answer) for _ in range(answer.varint() - 1))
    return None if error_code else Described(state, members)


def _share(port: int, group: str, timeout_s: float) -> Described | None:
    error_code, state, answer = wire.one_group(port, group, timeout_s, _SHARE_GROUP_DESCRIBE, 1)
    answer.compact_text()  # assignor
    members = tuple(_share_member(answer) for _ in range(answer.varint() - 1))
    return None if error_code else Described(state, members, "share")


def _share_member(answer: Reader) -> MemberSeen:
    member_id = answer.compact_text()
    answer.compact_text()  # rack
    answer.number("i")  # epoch
    client_id, host = answer.compact_text(), answer.compact_text()
    _texts(answer)  # topics that it subscribed to
    has = _assignment(answer)
    answer.tagged_fields()
    return MemberSeen(client_id, _host(host), has, member_id)


def _streams(port: int, group: str, timeout_s: float) -> Described | None:
    error_code, state, answer = wire.one_group(port, group, timeout_s, _STREAMS_GROUP_DESCRIBE, 0)
    if answer.number("b") >= 0:
        _topology(answer)
    members = tuple(_streams_member(answer) for _ in range(answer.varint() - 1))
    return None if error_code else Described(state, members, "streams")


def _topology(answer: Reader) -> None:
    """Passed over: its topics are the program's own affair."""
    answer.number("i")  # epoch
    for _ in range(answer.varint() - 1):
        answer.compact_text()  # a subtopology
        _texts(answer)  # topics that it reads
        _texts(answer)  # and those of its own that it writes
        for _ in range(2):  # topics that it makes: of its state, and to read on from
            for _ in range(answer.varint() - 1):
                answer.compact_text()
                answer.number("i")  # partitions
                answer.number("h")  # replication factor
                _pairs(answer)
                answer.tagged_fields()
        answer.tagged_fields()
    answer.tagged_fields()


def _streams_member(answer: Reader) -> MemberSeen:
    member_id = answer.compact_text()
    answer.number("i")  # epoch
    answer.compact_text()  # instance id
    answer.compact_text()  # rack
    client_id, host = answer.compact_text(), answer.compact_text()
    answer.number("i")  # epoch of the topology
    answer.compact_text()  # process
    if answer.number("b") >= 0:  # where it may be asked for its state
        answer.compact_text()
        answer.number("H")
        answer.tagged_fields()
    _pairs(answer)  # tags
    for _ in range(2):  # how far its tasks are, and are to come
        for _ in range(answer.varint() - 1):
            answer.compact_text()
            answer.number("i")
            answer.number("q")
            answer.tagged_fields()
    has = _tasks(answer)
    _tasks(answer)  # what it is to have
    answer.number("b")  # whether it speaks the classic protocol
    answer.tagged_fields()
    return MemberSeen(client_id, _host(host), (), member_id, has)


def _tasks(answer: Reader) -> tuple[str, ...]:
    """Tasks as Streams names them: 0_3, and "standby 0_4"."""
    found: list[str] = []
    for role in ("", "standby ", "warm-up "):
        for _ in range(answer.varint() - 1):
            subtopology = answer.compact_text()
            numbers = sorted(answer.number("i") for _ in range(answer.varint() - 1))
            found += [f"{role}{subtopology}_{number}" for number in numbers]
            answer.tagged_fields()
    answer.tagged_fields()
    return tuple(found)


def _texts(answer: Reader) -> None:
    for _ in range(answer.varint() - 1):
        answer.compact_text()


def _pairs(answer: Reader) -> None:
    for _ in range(answer.varint() - 1):
        answer.compact_text()
        answer.compact_text()
        answer.tagged_fields()


def _member(answer: Reader) -> MemberSeen:
    member_id = answer.compact_text()
    answer.compact_text()  # instance id
    answer.compact_text()  # rack
    answer.number("i")  # epoch
    client_id, host = answer.compact_text(), answer.compact_text()
    for _ in range(answer.varint() - 1):
        answer.compact_text()  # a topic that it subscribed to
    answer.compact_text()  # or a pattern of them
    has = _assignment(answer)
    _assignment(answer)  # what it is to have
    answer.tagged_fields()
    return MemberSeen(client_id, _host(host), has, member_id)


def _assignment(answer: Reader) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for _ in range(answer.varint() - 1):
        answer.number("q")  # the topic's id has 16 bytes
        answer.number("q")
        topic = answer.compact_text()
        found += [(topic, answer.number("i")) for _ in range(answer.varint() - 1)]
        answer.tagged_fields()
    answer.tagged_fields()
    return tuple(sorted(found))


def _host(told: str) -> str:
    return told.removeprefix("/")


def positions(port: int, group: str, timeout_s: float) -> Places:
    """All that a group has committed, asking its coordinator (OffsetFetch v2)."""
    all_topics = struct.pack(">i", -1)
    answer = ask(port, request(_OFFSET_FETCH, 2, text_of(group) + all_topics), timeout_s)
    found: Places = {}
    for _ in range(answer.number("i")):
        topic = answer.text()
        for _ in range(answer.number("i")):
            number, position = answer.number("i"), answer.number("q")
            answer.text()  # metadata
            if answer.number("h") == 0 and position >= 0:
                found[topic, number] = position
    return {} if answer.number("h") else found


def ends(port: int, partitions: Mapping[str, Iterable[int]], timeout_s: float) -> Places:
    """End offsets of partitions that this broker leads, by topic (ListOffsets v2)."""
    latest = -1
    body = struct.pack(">ibi", -1, False, len(partitions))
    for topic, numbers in partitions.items():
        asked = [struct.pack(">iq", number, latest) for number in numbers]
        body += text_of(topic) + struct.pack(">i", len(asked)) + b"".join(asked)
    answer = ask(port, request(_LIST_OFFSETS, 2, body), timeout_s)
    answer.number("i")  # throttle time
    found: Places = {}
    for _ in range(answer.number("i")):
        topic = answer.text()
        for _ in range(answer.number("i")):
            number, error_code = answer.number("i"), answer.number("h")
            answer.number("q")  # timestamp
            end = answer.number("q")
            if error_code == 0:
                found[topic, number] = end
    return found
