"""Rows of `requests` from the brokers' request logs.

Times are UTC, integers of microseconds since the epoch.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from harness.base.codec import ASSIGNMENT, decoded
from harness.base.stamps import parse_stamp
from harness.history.broker_log import (
    CALL,
    MARK,
    UNREADABLE,
    Reading,
    Row,
    lines_of,
    parts_of,
    texts_in,
)

_Tabled = tuple[str, Row]
_NO_TOPICS: Final[Mapping[str, str]] = MappingProxyType({})
_FETCH: Final = "FETCH"
_CONSUMER: Final = "consumer"  # the type of protocol; older calls do not tell it
METADATA: Final = "METADATA"  # which topics a program asks for: for messages, and no history
_PRODUCE: Final = "PRODUCE"
# For messages too: that a program is in a group of a kind that is not judged.
OTHER_HEARTBEATS: Final = ("SHARE_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT")


def read_log(
    log: Path,
    broker: int,
    topics: Mapping[str, str] = _NO_TOPICS,
    *,
    group: str | None = None,
    reading: Reading | None = None,
) -> Iterator[tuple[str, Row]]:
    """Rows of `requests` and `fetches`, and `writes`, from a broker's request log, each with which.

    `topics` are names by topic id, as which newer calls tell of topics (see `read_topic_ids`). A
    line that cannot be read is passed over and counted in `reading`; what others than the `group`
    agree on among themselves is theirs, and is not. `writes` are where what members of an app wrote
    begins in each partition, if the log keeps that.
    """
    reading = reading or Reading()
    for call, logged_at, where in _calls(log, reading):

        def read(call: Row = call, at: int = logged_at, where: str = where) -> Iterable[_Tabled]:
            return _rows(call, at, broker, where, topics)

        if _of_others(call, group):
            with suppress(*UNREADABLE):
                yield from list(read())
        else:
            yield from reading.tried(where, read)


def _rows(
    call: Row, logged_at: int, broker: int, where: str, topics: Mapping[str, str]
) -> Iterator[_Tabled]:
    api = _api(call)
    if api == _FETCH:
        yield from (("fetches", row) for row in fetch_rows(call, logged_at, broker, where, topics))
    elif api == _PRODUCE:
        yield from (("writes", row) for row in _written(call, logged_at, topics))
    elif api not in (METADATA, *OTHER_HEARTBEATS):
        yield from (
            ("requests", row) for row in request_rows(call, logged_at, broker, where, topics)
        )


def _written(call: Row, logged_at: int, topics: Mapping[str, str]) -> Iterator[Row]:
    for topic in call["response"].get("responses") or ():
        for answer in topic.get("partitionResponses") or ():
            if not answer["errorCode"] and answer["baseOffset"] >= 0:
                yield {
                    "listener": call.get("listener"),
                    "client_id": call["requestHeader"]["clientId"],
                    "topic": topic.get("name") or _topic(topic, topics),
                    "partition": answer["index"],
                    "base_offset": answer["baseOffset"],
                    "arrived_at": logged_at - round(call["totalTimeMs"] * 1_000),
                }


def _of_others(call: Row, group: str | None) -> bool:
    """Whether it is a SyncGroup of a group that is neither the run's nor one of its probes'."""
    with suppress(*UNREADABLE):
        named = str(call["request"]["groupId"])
        others = group is not None and named != group and not named.startswith(f"{group}-")
        return others and _api(call) == "SYNC_GROUP"
    return False


def _calls(log: Path, reading: Reading) -> Iterator[tuple[Row, int, str]]:
    """Each completed request, when its line was written, and where that is."""
    for number, line in lines_of(log):
        where = f"{log.name}:{number}"
        logged_at = reading.at(line)
        call = _call_of(line)
        if MARK in line:
            reading.said.extend(texts_in(call))
        if call is not None and logged_at is not None:
            yield call, logged_at, where
            continue
        reading.missed(where, "is no whole line of a request log")
        for part in parts_of(line)[1:]:
            call = _call_of(part)
            if call is not None:
                yield call, parse_stamp(part), where


def _call_of(line: str) -> Row | None:
    """The request in a line; None where it is not whole."""
    _, found, body = line.partition(CALL)
    try:
        call = json.loads(body) if found else None
    except ValueError:
        return None
    return call if isinstance(call, dict) else None


def _api(call: Row) -> str:
    return str(call["requestHeader"]["requestApiKeyName"])


_TOPIC_ID: Final = re.compile(r"Replayed TopicRecord for topic (\S+) with topic ID (\S+)\.$")


def read_topic_ids(log: Path) -> dict[str, str]:
    """Names of topics by their ids, from a controller's server log."""
    found = (_TOPIC_ID.search(line) for _, line in lines_of(log))
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


def fetch_rows(
    call: Row, logged_at: int, broker: int, evidence: str, topics: Mapping[str, str] = _NO_TOPICS
) -> Iterator[Row]:
    """The rows of one completed fetch: one per partition that it or its answer names.

    One that goes on with a fetch session (KIP-227) in which nothing is new names none: it is a row
    without a partition, since it shows that its client fetches. It is answered when the answer is
    ready: the client may have it, and commit what is in it, long before the line is written
    (measured: 153 ms on a busy machine).
    """
    asked: dict[tuple[Any, Any], Any] = {
        (_topic(topic, topics), partition["partition"]): partition["fetchOffset"]
        for topic in call["request"].get("topics") or ()
        for partition in topic["partitions"]
    }
    answered: dict[tuple[Any, Any], Row] = {
        (_topic(topic, topics), partition["partitionIndex"]): partition
        for topic in call["response"].get("responses") or ()
        for partition in topic["partitions"]
    }
    waited_ms = call.get("responseQueueTimeMs", 0) + call.get("sendTimeMs", 0)
    goes_on = call["request"].get("sessionEpoch", 0) > 0
    nothing_new = [(None, None)] if goes_on else []
    for topic, number in sorted({*asked, *answered}) or nothing_new:
        answer = answered.get((topic, number), {})
        yield {
            "broker": broker,
            "client_id": call["requestHeader"]["clientId"],
            "listener": call.get("listener"),
            "topic": topic,
            "partition": number,
            "fetch_offset": asked.get((topic, number)),
            "bytes": answer.get("recordsSizeInBytes"),
            "end_offset": answer.get("highWatermark"),
            "error_code": answer.get("errorCode"),
            "arrived_at": logged_at - round(call["totalTimeMs"] * 1_000),
            "answered_at": logged_at - round(waited_ms * 1_000),
            "evidence": evidence,
        }


def _topic(named: Row, topics: Mapping[str, str]) -> str:
    return str(named.get("topic") or topics.get(named["topicId"], named["topicId"]))


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
    """What others than consumers agree on, such as Connect's workers, is no list of partitions."""
    if (request.get("protocolType") or answer.get("protocolType") or _CONSUMER) != _CONSUMER:
        return {}
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


def _each_partition(body: Row) -> Iterator[tuple[Any, Row]]:
    for topic in body.get("topics", []):
        yield from ((topic.get("name"), partition) for partition in topic["partitions"])


def _commit(request: Row, answer: Row) -> Row:
    codes = {
        (topic, partition["partitionIndex"]): partition["errorCode"]
        for topic, partition in _each_partition(answer)
    }
    positions = [
        {
            "topic": topic,
            "partition": partition["partitionIndex"],
            "committed": partition["committedOffset"],
            "error_code": codes.get((topic, partition["partitionIndex"])),
        }
        for topic, partition in _each_partition(request)
    ]
    return {
        "generation": request.get("generationIdOrMemberEpoch"),
        "positions": positions,
        "error_code": max((code for code in codes.values() if code), default=0),
    }


def _transactional_commit(request: Row, answer: Row) -> Row:
    detail = {"transactional_id": request.get("transactionalId")}
    return {
        **_commit(request, answer),
        # Kafka 4.4 gave the field the name that it has in OffsetCommit.
        "generation": request.get("generationIdOrMemberEpoch", request.get("generationId")),
        "detail": json.dumps(detail),
    }


def _answered(answer: Row, position: str | None) -> Row:
    """Positions in an answer, `position` naming its field; without one they are -1."""
    positions = [
        {
            "topic": topic,
            "partition": partition["partitionIndex"],
            "committed": partition[position] if position else -1,
            "error_code": partition["errorCode"],
        }
        for topic, partition in _each_partition(answer)
    ]
    # An unknown error is -1, and no less of one than the others.
    worst = max((each["error_code"] for each in positions if each["error_code"]), default=0)
    return {"positions": positions, "error_code": answer.get("errorCode") or worst}


def _list(request: Row, answer: Row) -> Row:
    asked = {partition.get("timestamp") for _, partition in _each_partition(request)}
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
    "OFFSET_DELETE": lambda _request, answer: _answered(answer, None),
    "TXN_OFFSET_COMMIT": _transactional_commit,
    "DELETE_RECORDS": lambda _request, answer: _answered(answer, "lowWatermark"),
    "LIST_OFFSETS": _list,
    "FIND_COORDINATOR": _find,
    "CONSUMER_GROUP_HEARTBEAT": _consumer_heartbeat,
}


def decode_assignment(encoded: str) -> list[Row]:
    """Partitions in a consumer protocol assignment (base64): version, topics, user data."""
    data = base64.b64decode(encoded)
    if len(data) < 6:
        return []
    return [
        {"topic": topic["topicName"], "partition": number}
        for topic in decoded(ASSIGNMENT, data)["topicPartitions"]
        for number in topic["partitions"]
    ]
