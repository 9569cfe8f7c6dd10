"""How brokers describe any group: its type, its state, its members and what each was given.

Each question asks one broker and raises OSError, as those of `wire` do.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from harness.base.codec import ASSIGNMENT, Body, decoded
from harness.cluster import wire

CONSUMER: Final = ""
_CALLS: Final = {
    CONSUMER: wire.CONSUMER_GROUP_DESCRIBE,
    "share": wire.SHARE_GROUP_DESCRIBE,
    "streams": wire.STREAMS_GROUP_DESCRIBE,
}
_CLASSIC: Final = "consumer"  # the type of protocol in which assignments can be read
_UNKNOWN: Final = "Dead"  # what DescribeGroups v0 says of a group that is no classic one
_ROLES: Final = {"activeTasks": "", "standbyTasks": "standby ", "warmupTasks": "warm-up "}


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
    answer = wire.ask(port, wire.LIST_GROUPS, {}, timeout_s)
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
    [classic] = wire.ask(port, wire.DESCRIBE_GROUPS, {"groups": [group]}, timeout_s)["groups"]
    if classic["errorCode"]:
        return None
    asked = {"groupIds": [group], "includeAuthorizedOperations": False}
    for kind in kinds if classic["groupState"] == _UNKNOWN else ():
        try:
            answer = wire.ask(port, _CALLS[kind], asked, timeout_s)
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
