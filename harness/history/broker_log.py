"""The coordinator's view: rows of `requests` and `coordinator_events` from the brokers' logs.

Texts are those of Kafka 4.x (GroupMetadataManager); another version's texts belong in a table of
their own beside PATTERNS. Times are UTC, integers of microseconds since the epoch.
"""

import base64
import json
import re
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]

_STAMP_LENGTH: Final = len("2026-11-21T09:36:07.834320")
_COMPLETED: Final = "Completed request:"


def parse_stamp(text: str) -> int:
    """Microseconds since the epoch of a log line's stamp (UTC).

    Raises ValueError where there is none, or one that is not in microseconds.
    """
    if not text[_STAMP_LENGTH : _STAMP_LENGTH + 1].isspace():
        raise ValueError(f"no stamp in microseconds: {text[: _STAMP_LENGTH + 4]!r}")
    moment = datetime.strptime(text[:_STAMP_LENGTH], "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def read_requests(log: Path, broker: int) -> Iterator[Row]:
    """Rows of `requests` from a broker's request log; a line cut off by SIGKILL is passed over."""
    for number, line in _lines(log):
        stamp, found, body = line.partition(_COMPLETED)
        if not found:
            continue
        try:
            logged_at = parse_stamp(stamp)
            call = json.loads(body)
        except ValueError:
            continue
        yield from request_rows(call, logged_at, broker, f"{log.name}:{number}")


def request_rows(call: Row, logged_at: int, broker: int, evidence: str) -> Iterator[Row]:
    """The row of one completed request; none for a request of no group.

    The line is written when the answer is on the wire, and counts back from there: total time is
    from the wire to the wire, and the answer was ready before it queued for sending.
    """
    request, answer = call["request"], call["response"]
    total_us = round(call["totalTimeMs"] * 1_000)
    after_ready_ms = call["responseQueueTimeMs"] + call["sendTimeMs"] + call["throttleTimeMs"]
    row: Row = {
        "broker": broker,
        "api": call["requestHeader"]["requestApiKeyName"],
        "client_id": call["requestHeader"]["clientId"],
        "group": request.get("groupId"),
        "member_id": request.get("memberId") or None,
        "generation": request.get("generationId"),
        "error_code": answer.get("errorCode"),
        "arrived_at": logged_at - total_us,
        "processed_at": logged_at - round(after_ready_ms * 1_000),
        "answered_at": logged_at,
        "listener": call.get("listener"),
        "instance_id": request.get("groupInstanceId") or request.get("instanceId"),
        "client_software": call.get("clientInformation", {}).get("softwareName"),
        "client_software_version": call.get("clientInformation", {}).get("softwareVersion"),
        "evidence": evidence,
    }
    details = _DETAILS.get(row["api"])
    yield {**row, **details(request, answer)} if details else row


def _join(request: Row, answer: Row) -> Row:
    return {
        "member_id": request.get("memberId") or answer.get("memberId") or None,
        "generation": answer.get("generationId"),
        "session_timeout_ms": request.get("sessionTimeoutMs"),
        "rebalance_timeout_ms": request.get("rebalanceTimeoutMs"),
        "assignors": [protocol["name"] for protocol in request.get("protocols", [])],
        "leader": answer.get("leader") or None,
        "protocol_name": answer.get("protocolName") or None,
    }


def _sync(request: Row, answer: Row) -> Row:
    return {
        "assignments": [
            {"member_id": given["memberId"], **partition}
            for given in request.get("assignments", [])
            for partition in decode_assignment(given["assignment"])
        ],
        "assigned": decode_assignment(answer.get("assignment", "")),
    }


def _leave(request: Row, answer: Row) -> Row:
    members = request.get("members") or []
    answers = answer.get("members") or []
    return {
        "member_id": request.get("memberId") or (members[0]["memberId"] if members else None),
        "error_code": answer.get("errorCode") or (answers[0]["errorCode"] if answers else 0),
    }


def _commit(request: Row, answer: Row) -> Row:
    codes = {
        (topic.get("name"), partition["partitionIndex"]): partition["errorCode"]
        for topic in answer.get("topics", [])
        for partition in topic["partitions"]
    }
    positions = [
        {
            "topic": topic.get("name"),
            "partition": partition["partitionIndex"],
            "committed": partition["committedOffset"],
            "error_code": codes.get((topic.get("name"), partition["partitionIndex"])),
        }
        for topic in request.get("topics", [])
        for partition in topic["partitions"]
    ]
    return {
        "generation": request.get("generationIdOrMemberEpoch"),
        "positions": positions,
        "error_code": max((code for code in codes.values() if code), default=0),
    }


def _find(request: Row, answer: Row) -> Row:
    keys = request.get("coordinatorKeys") or []
    named = (answer.get("coordinators") or [answer])[0]  # since version 4 a list
    return {
        "group": request.get("key") or (keys[0] if keys else None),
        "error_code": named.get("errorCode"),
        "detail": json.dumps({"coordinator": named.get("nodeId")}),
    }


def _fetch(request: Row, answer: Row) -> Row:
    groups = request.get("groups") or [{}]
    answered = answer.get("groups") or [{}]
    return {
        "group": request.get("groupId") or groups[0].get("groupId"),
        "member_id": groups[0].get("memberId") or None,
        "error_code": answered[0].get("errorCode", answer.get("errorCode")),
    }


def _consumer_heartbeat(request: Row, _answer: Row) -> Row:
    return {"generation": request.get("memberEpoch")}


_DETAILS: Final = {
    "JOIN_GROUP": _join,
    "SYNC_GROUP": _sync,
    "LEAVE_GROUP": _leave,
    "OFFSET_COMMIT": _commit,
    "OFFSET_FETCH": _fetch,
    "FIND_COORDINATOR": _find,
    "CONSUMER_GROUP_HEARTBEAT": _consumer_heartbeat,
}


def decode_assignment(encoded: str) -> list[Row]:
    """Partitions in a consumer protocol assignment (base64): version, topics, user data."""
    data = base64.b64decode(encoded)
    if len(data) < 6:
        return []
    _version, topics = struct.unpack_from(">hi", data, 0)
    at, partitions = 6, []
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", data, at)
        topic = data[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (count,) = struct.unpack_from(">i", data, at)
        numbers = struct.unpack_from(f">{count}i", data, at + 4)
        at += 4 + 4 * count
        partitions += [{"topic": topic, "partition": number} for number in numbers]
    return partitions


# One entry per line that tells of a group, in the order they are tried. Named groups become
# columns of `coordinator_events`.
_GROUP: Final = r"group (?P<group>\S+?)"
PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (event, re.compile(pattern))
    for event, pattern in (
        (
            "member_id_given",
            (
                rf"^Dynamic member with unknown member id joins {_GROUP} in \w+ state\. "
                r"Created a new member id (?P<member_id>\S+) and"
            ),
        ),
        (
            "member_added",
            r"^Pending dynamic member with id (?P<member_id>\S+) joins "
            + _GROUP
            + r" in \w+ state",
        ),
        (
            "rebalance_started",
            (
                rf"^Preparing to rebalance {_GROUP} in state \w+ with old generation "
                r"(?P<generation>-?\d+) \(reason: (?P<reason>.*)\)\.$"
            ),
        ),
        (
            "stabilized",
            rf"^Stabilized {_GROUP} generation (?P<generation>\d+) with (?P<members>\d+) members",
        ),
        (
            "assignment_received",
            (
                rf"^Assignment received from leader (?P<member_id>\S+) for {_GROUP} for generation "
                r"(?P<generation>\d+)\. The group has (?P<members>\d+) members"
            ),
        ),
        (
            "evicted",
            rf"^Member (?P<member_id>\S+) in {_GROUP} has failed, removing it from the group",
        ),
        (
            "pending_evicted",
            r"^Pending member (?P<member_id>\S+) in "
            + _GROUP
            + r" has been removed after session timeout",
        ),
        (
            "left",
            (
                r"^\[Group (?P<group>\S+)\] Member (?P<member_id>\S+) has left group through "
                r"explicit `LeaveGroup` request; client reason: (?P<reason>.*)$"
            ),
        ),
        (
            "stragglers_removed",
            r"^Group (?P<group>\S+) removed dynamic members who haven't joined: (?P<reason>.*)$",
        ),
        ("emptied", r"^Group (?P<group>\S+) with generation (?P<generation>\d+) is now empty"),
        ("loaded", r"^Loaded classic group (?P<group>\S+) with (?P<members>\d+) members"),
        (
            "unloaded",
            (
                r"^\[GroupId=(?P<group>[^\]]+)\] Unloading group metadata for generation "
                r"(?P<generation>-?\d+)"
            ),
        ),
    )
)
_COORDINATOR: Final = re.compile(r"\[GroupCoordinator id=\d+[^\]]*\] ")


def read_coordinator_events(log: Path, broker: int) -> Iterator[Row]:
    """Rows of `coordinator_events` from one broker's server log."""
    for number, line in _lines(log):
        mark = _COORDINATOR.search(line)
        if mark is None:
            continue
        text = line[mark.end() :].rstrip("\n")
        row = coordinator_row(text)
        if row is None:
            continue
        try:
            at = parse_stamp(line)
        except ValueError:
            continue
        yield {**row, "broker": broker, "at": at, "evidence": f"{log.name}:{number}"}


def coordinator_row(text: str) -> Row | None:
    """What one message of the group coordinator says, or None if it tells of no group."""
    for event, pattern in PATTERNS:
        match = pattern.match(text)
        if match:
            found = match.groupdict()
            numbers = {
                name: int(found[name]) for name in ("generation", "members") if found.get(name)
            }
            return {**found, **numbers, "event": event, "text": text}
    return None


def _lines(log: Path) -> Iterable[tuple[int, str]]:
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace") as lines:
        yield from enumerate(lines, start=1)
