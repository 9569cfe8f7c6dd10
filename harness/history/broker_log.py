"""The coordinator's view: rows of `requests` and `coordinator_events` from the brokers' logs.

Texts are those of Kafka's GroupMetadataManager, the coordinator of 4.x, and in OLD_PATTERNS those
of the one that 3.x has (GroupCoordinator.scala); each marks its lines in its own way. Times are
UTC, integers of microseconds since the epoch.
"""

import base64
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from harness.base.stamps import parse_stamp

Row = dict[str, Any]
_NO_TOPICS: Final[Mapping[str, str]] = MappingProxyType({})

_COMPLETED: Final = "Completed request:"


def read_requests(log: Path, broker: int, topics: Mapping[str, str] = _NO_TOPICS) -> Iterator[Row]:
    """Rows of `requests` from a broker's request log; a line cut off by SIGKILL is passed over.

    `topics` are names by topic id, as which newer calls tell of topics (see `read_topic_ids`).
    """
    for number, line in _lines(log):
        stamp, found, body = line.partition(_COMPLETED)
        if not found:
            continue
        try:
            logged_at = parse_stamp(stamp)
            call = json.loads(body)
        except ValueError:
            continue
        yield from request_rows(call, logged_at, broker, f"{log.name}:{number}", topics)


_TOPIC_ID: Final = re.compile(r"Replayed TopicRecord for topic (\S+) with topic ID (\S+)\.$")


def read_topic_ids(log: Path) -> dict[str, str]:
    """Names of topics by their ids, from a controller's server log."""
    found = (_TOPIC_ID.search(line) for _, line in _lines(log))
    return {match[2]: match[1] for match in found if match}


def request_rows(
    call: Row, logged_at: int, broker: int, evidence: str, topics: Mapping[str, str] = _NO_TOPICS
) -> Iterator[Row]:
    """The row of one completed request; none for a request of no group.

    The line is written when the answer is on the wire, and counts back from there: total time is
    from the wire to the wire, and the answer was ready before it queued for sending.
    """
    request, answer = _named(call["request"], topics), _named(call["response"], topics)
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


def _named(body: Row, topics: Mapping[str, str]) -> Row:
    """The body, with the names of topics that it has by id only."""
    known = [
        {**topic, "name": topics.get(topic["topicId"], topic["topicId"])}
        if "topicId" in topic and not topic.get("name")
        else topic
        for topic in body.get("topics") or ()
        if isinstance(topic, dict)
    ]
    partitions: Row = {
        place: _partitions(body[place], topics)
        for place in ("topicPartitions", "assignment")
        if place in body and not isinstance(body[place], str)
    }
    named: Row = {**partitions, **({"topics": known} if known else {})}
    if body.get("groups"):  # several groups in one call
        named["groups"] = [_named(group, topics) for group in body["groups"]]
    return {**body, **named}


def _partitions(found: Any, topics: Mapping[str, str]) -> list[Row] | None:
    """Partitions that a heartbeat of KIP-848 or its answer names by topic id; null stays null."""
    if found is None:
        return None
    listed = found["topicPartitions"] if isinstance(found, dict) else found
    return [
        {"topic": topics.get(topic["topicId"], topic["topicId"]), "partition": partition}
        for topic in listed
        for partition in topic["partitions"]
    ]


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


def _transactional_commit(request: Row, answer: Row) -> Row:
    told = {"transactional_id": request.get("transactionalId")}
    return {
        **_commit(request, answer),
        "generation": request.get("generationId"),
        "detail": json.dumps(told),
    }


def _answered(answer: Row, position: str | None) -> Row:
    """Positions as an answer tells them, `position` naming its field; without one they are -1."""
    positions = [
        {
            "topic": topic.get("name"),
            "partition": partition["partitionIndex"],
            "committed": partition[position] if position else -1,
            "error_code": partition["errorCode"],
        }
        for topic in answer.get("topics", [])
        for partition in topic["partitions"]
    ]
    # An unknown error is -1, and no less of one than the others.
    worst = max((each["error_code"] for each in positions if each["error_code"]), default=0)
    return {"positions": positions, "error_code": answer.get("errorCode") or worst}


def _delete_offsets(_request: Row, answer: Row) -> Row:
    return _answered(answer, None)


def _delete_records(_request: Row, answer: Row) -> Row:
    return _answered(answer, "lowWatermark")


def _list(request: Row, answer: Row) -> Row:
    asked = {
        partition.get("timestamp")
        for topic in request.get("topics", [])
        for partition in topic["partitions"]
    }
    return {
        **_answered(answer, "offset"),
        "detail": json.dumps({"timestamp": next(iter(asked)) if len(asked) == 1 else None}),
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
        "positions": _answered(answered[0] if answer.get("groups") else answer, "committedOffset")[
            "positions"
        ],
    }


def _consumer_heartbeat(request: Row, answer: Row) -> Row:
    """Of what did not change since its last heartbeat, a member says nothing (null, -1)."""
    said = {
        "heartbeat_interval_ms": answer.get("heartbeatIntervalMs"),
        "topics": request.get("subscribedTopicNames"),
        "regex": request.get("subscribedTopicRegex") or None,
        "error": answer.get("errorMessage"),
    }
    timeout_ms = request.get("rebalanceTimeoutMs", -1)
    return {
        "member_id": request.get("memberId") or answer.get("memberId") or None,
        "generation": request.get("memberEpoch"),
        "member_epoch": answer.get("memberEpoch"),
        "rebalance_timeout_ms": timeout_ms if timeout_ms >= 0 else None,
        "assignors": [request["serverAssignor"]] if request.get("serverAssignor") else None,
        "owned": request.get("topicPartitions"),
        "assigned": answer.get("assignment"),
        "detail": json.dumps({name: value for name, value in said.items() if value is not None}),
    }


_DETAILS: Final = {
    "JOIN_GROUP": _join,
    "SYNC_GROUP": _sync,
    "LEAVE_GROUP": _leave,
    "OFFSET_COMMIT": _commit,
    "OFFSET_FETCH": _fetch,
    "OFFSET_DELETE": _delete_offsets,
    "TXN_OFFSET_COMMIT": _transactional_commit,
    "DELETE_RECORDS": _delete_records,
    "LIST_OFFSETS": _list,
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
            "member_added",
            (
                r"^Static member with groupInstanceId=(?P<instance_id>\S+) and unknown member id "
                rf"joins {_GROUP} in \w+ state\. Created a new member id (?P<member_id>\S+) for"
            ),
        ),
        (
            "replaced",
            (
                r"^Static member with groupInstanceId=(?P<instance_id>\S+) and unknown member id "
                rf"joins {_GROUP} in \w+ state\. Replacing previously mapped member "
                r"(?P<member_id>\S+) with"
            ),
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
        (
            "loaded",
            r"^Loaded (?:classic|consumer) group (?P<group>\S+) with (?P<members>\d+) members",
        ),
        # Groups of KIP-848, and of classic members in one.
        *(
            (event, rf"^\[GroupId (?P<group>[^\]]+)\] {text}")
            for event, text in (
                (
                    "member_added",
                    (
                        r"(?P<reason>Member (?P<member_id>\S+) joins the consumer group using the "
                        r"\w+ protocol)\.$"
                    ),
                ),
                (
                    "member_added",
                    (
                        r"(?P<reason>Static member with instance id (?P<instance_id>\S+) "
                        r"re-joins the consumer group using the \w+ protocol)\. "
                        r"Created a new member (?P<member_id>\S+) to replace"
                    ),
                ),
                (
                    "member_id_given",
                    (
                        r"Dynamic member with unknown member id joins the consumer group\. "
                        r"Created a new member id (?P<member_id>\S+) and"
                    ),
                ),
                (
                    "left",
                    (
                        r"(?P<reason>(?:Dynamic|Static) member (?P<member_id>\S+) "
                        r"(?:with instance id (?P<instance_id>\S+) )?has left group through "
                        r"explicit `LeaveGroup` request)"
                    ),
                ),
                (
                    "member_added",
                    (
                        r"(?P<reason>Static member (?P<member_id>\S+) with instance id "
                        r"(?P<instance_id>\S+) joins the consumer group using the \w+ protocol)\.$"
                    ),
                ),
                (
                    "replacing_failed",
                    (
                        r"(?P<reason>Static member (?P<member_id>\S+) with instance id "
                        r"(?P<instance_id>\S+) cannot join the group because .*)\.$"
                    ),
                ),
                (
                    "epoch_bumped",
                    (
                        r"Bumped group epoch to (?P<generation>\d+)"
                        r"(?: with (?P<reason>metadata hash -?\d+))?"
                    ),
                ),
                (
                    "target_computed",
                    (
                        r"Computed a new target assignment for epoch (?P<generation>\d+) with "
                        r"'(?P<reason>[^']*)' assignor"
                    ),
                ),
                (
                    "evicted",
                    (
                        r"Member (?P<member_id>\S+) (?P<reason>fenced from the group because the "
                        r"member session expired)"
                    ),
                ),
                (
                    "fenced",
                    (
                        r"Member (?P<member_id>\S+) (?P<reason>fenced from the group because it "
                        r"failed to transition from epoch (?P<generation>-?\d+) within \d+ms)"
                    ),
                ),
                (
                    "left",
                    (
                        r"(?P<reason>(?:Static member|Member) (?P<member_id>\S+) "
                        r"(?:with instance id (?P<instance_id>\S+) )?left the consumer group)\.$"
                    ),
                ),
                (
                    "left_for_now",
                    (
                        r"(?P<reason>(?:Static member|Member) (?P<member_id>\S+) with instance id "
                        r"(?P<instance_id>\S+) temporarily left the consumer group)\.$"
                    ),
                ),
                (
                    "upgraded",
                    r"(?P<reason>Converted the (?:empty )?classic group to a consumer group)\.$",
                ),
                (
                    "downgraded",
                    r"(?P<reason>Converted the (?:empty )?consumer group to a classic group)\.$",
                ),
            )
        ),
        (
            "unloaded",
            (
                r"^\[GroupId=(?P<group>[^\]]+)\] Unload(?:ing|ed) group metadata for "
                r"(?:generation|group epoch) (?P<generation>-?\d+)"
            ),
        ),
    )
)
# The old coordinator names the offsets partition after a generation, ends few lines with a full
# stop, and tells of a departure after the rebalance that it caused.
_OFFSETS_PARTITION: Final = r"\(__consumer_offsets-\d+\)"
OLD_PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (event, re.compile(pattern))
    for event, pattern in (
        (
            "rebalance_started",
            (
                rf"^Preparing to rebalance {_GROUP} in state \w+ with old generation "
                rf"(?P<generation>-?\d+) {_OFFSETS_PARTITION} \(reason: (?P<reason>.*)\)$"
            ),
        ),
        (
            "stabilized",
            (
                rf"^Stabilized {_GROUP} generation (?P<generation>\d+) {_OFFSETS_PARTITION} "
                r"with (?P<members>\d+) members"
            ),
        ),
        (
            "left",
            (
                r"^Member MemberMetadata\(memberId=(?P<member_id>[^,]+), .*\) has left "
                rf"{_GROUP} through explicit `LeaveGroup`; client reason: (?P<reason>.*)$"
            ),
        ),
        (
            "loaded",
            r"^Loading group metadata for (?P<group>\S+) with generation (?P<generation>-?\d+)",
        ),
        (
            "unloaded",
            r"^Unloading group metadata for (?P<group>\S+) with generation (?P<generation>-?\d+)",
        ),
        # The rest reads as in 4.x.
        *(
            (event, pattern.pattern)
            for event, pattern in PATTERNS
            if event not in ("rebalance_started", "stabilized", "left", "loaded", "unloaded")
        ),
    )
)
# The old coordinator tells of sets as Scala does, the new one as Java does.
_SET: Final = re.compile(r"\b(?:Hash)?Set\(([^()]*)\)")
# What marks a line of a coordinator, and how to read it.
_COORDINATORS: Final = (
    (re.compile(r"\[GroupCoordinator id=\d+[^\]]*\] "), PATTERNS),
    (re.compile(r"\[GroupCoordinator \d+\]: "), OLD_PATTERNS),
)


def read_coordinator_events(log: Path, broker: int) -> Iterator[Row]:
    """Rows of `coordinator_events` from one broker's server log.

    The old coordinator writes that a member left after what this caused, all under one lock: that
    row gets the time of the line before it, where that one tells of the consequence.
    """
    before: dict[str, Row] = {}  # by group, its last line
    for number, line in _lines(log):
        row = _row_of_line(line)
        if row is None:
            continue
        try:
            at = parse_stamp(line)
        except ValueError:
            continue
        last = before.get(row["group"])
        if last is not None and _caused(row, last):
            at = last["at"]
        before[row["group"]] = {**row, "at": at}
        yield {**row, "broker": broker, "at": at, "evidence": f"{log.name}:{number}"}


def _caused(row: Row, last: Row) -> bool:
    """Whether `row` is the old coordinator's line of a departure, and `last` what came of it."""
    if row["event"] != "left" or row["text"].startswith("[Group"):
        return False
    if last["event"] == "rebalance_started":
        return row["member_id"] in last["reason"]
    return last["event"] in ("stabilized", "emptied")


def _row_of_line(line: str) -> Row | None:
    for mark, patterns in _COORDINATORS:
        if found := mark.search(line):
            return coordinator_row(line[found.end() :].rstrip("\n"), patterns)
    return None


def coordinator_row(
    text: str, patterns: tuple[tuple[str, re.Pattern[str]], ...] = PATTERNS
) -> Row | None:
    """What one message of the group coordinator says, or None if it tells of no group."""
    for event, pattern in patterns:
        match = pattern.match(text)
        if match:
            found = match.groupdict()
            numbers = {
                name: int(found[name]) for name in ("generation", "members") if found.get(name)
            }
            if found.get("reason"):
                found["reason"] = _SET.sub(r"[\1]", found["reason"])
            return {**found, **numbers, "event": event, "text": text}
    return None


def _lines(log: Path) -> Iterable[tuple[int, str]]:
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace") as lines:
        yield from enumerate(lines, start=1)
