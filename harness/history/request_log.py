"""Rows of `requests` from the brokers' request logs.

Times are UTC, integers of microseconds since the epoch.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
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

_FETCH: Final = "FETCH"
_CONSUMER: Final = "consumer"  # the type of protocol; older calls do not tell it
METADATA: Final = "METADATA"  # which topics a program asks for: for messages, and no history
_PRODUCE: Final = "PRODUCE"
# For messages too: that a program is in a group of a kind that is not judged.
OTHER_HEARTBEATS: Final = ("SHARE_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT")


def read_log(
    log: Path,
    broker: int,
    topics: Mapping[str, str],
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
        counted = Reading() if _of_others(call, group) else reading
        yield from counted.tried(where, partial(_rows, call, logged_at, broker, where, topics))


def _rows(
    call: Row, logged_at: int, broker: int, where: str, topics: Mapping[str, str]
) -> Iterator[tuple[str, Row]]:
    api = _api(call)
    if api == _FETCH:
        yield from (("fetches", row) for row in fetch_rows(call, logged_at, broker, where, topics))
    elif api == _PRODUCE:
        yield from (("writes", row) for row in _written(call, logged_at, topics))
    elif api not in (METADATA, *OTHER_HEARTBEATS):
        found = request_rows(call, logged_at, broker, where, topics)
        yield from (("requests", row) for row in found)


def _written(call: Row, logged_at: int, topics: Mapping[str, str]) -> Iterator[Row]:
    for topic, answer in _each(call["response"].get("responses"), "partitionResponses", topics):
        if not answer["errorCode"] and answer["baseOffset"] >= 0:
            yield {
                "listener": call.get("listener"),
                "client_id": call["requestHeader"]["clientId"],
                "topic": topic,
                "partition": answer["index"],
                "base_offset": answer["baseOffset"],
                "arrived_at": logged_at - round(call["totalTimeMs"] * 1_000),
            }


def _each(found: Any, name: str, topics: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Each of what a list of topics has by this name, with its topic's name, or id if unknown."""
    for topic in found or ():
        known = topic.get("topic") or topic.get("name")
        known = known or topics.get(topic["topicId"], topic["topicId"])
        yield from ((known, each) for each in topic[name])


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
    call: Row, logged_at: int, broker: int, evidence: str, topics: Mapping[str, str]
) -> Iterator[Row]:
    """The row of one completed request.

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
    yield {**row, **details(request, answer, topics)} if details else row


def fetch_rows(
    call: Row, logged_at: int, broker: int, evidence: str, topics: Mapping[str, str]
) -> Iterator[Row]:
    """The rows of one completed fetch: one per partition that it or its answer names.

    One that goes on with a fetch session (KIP-227) in which nothing is new names none: it is a row
    without a partition, since it shows that its client fetches. It is answered when the answer is
    ready: the client may have it, and commit what is in it, long before the line is written
    (measured: 153 ms on a busy machine).
    """
    asked: dict[tuple[Any, Any], Any] = {
        (topic, partition["partition"]): partition["fetchOffset"]
        for topic, partition in _each(call["request"].get("topics"), "partitions", topics)
    }
    answered: dict[tuple[Any, Any], Row] = {
        (topic, partition["partitionIndex"]): partition
        for topic, partition in _each(call["response"].get("responses"), "partitions", topics)
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


def _join(request: Row, answer: Row, _topics: Mapping[str, str]) -> Row:
    return {
        "member_id": request.get("memberId") or answer.get("memberId") or None,
        "generation": answer.get("generationId"),
        "session_timeout_ms": request.get("sessionTimeoutMs"),
        "rebalance_timeout_ms": request.get("rebalanceTimeoutMs"),
        "assignors": [protocol["name"] for protocol in request.get("protocols", [])],
        "leader": answer.get("leader") or None,
        "protocol_name": answer.get("protocolName") or None,
    }


def _sync(request: Row, answer: Row, _topics: Mapping[str, str]) -> Row:
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


def _leave(request: Row, answer: Row, _topics: Mapping[str, str]) -> Row:
    members = request.get("members") or [{"memberId": None}]
    answers = answer.get("members") or [{"errorCode": 0}]
    return {
        "member_id": request.get("memberId") or members[0]["memberId"],
        "error_code": answer.get("errorCode") or answers[0]["errorCode"],
    }


def _commit(request: Row, answer: Row, topics: Mapping[str, str]) -> Row:
    codes = {
        (topic, partition["partitionIndex"]): partition["errorCode"]
        for topic, partition in _each(answer.get("topics"), "partitions", topics)
    }
    positions = [
        {
            "topic": topic,
            "partition": partition["partitionIndex"],
            "committed": partition["committedOffset"],
            "error_code": codes.get((topic, partition["partitionIndex"])),
        }
        for topic, partition in _each(request.get("topics"), "partitions", topics)
    ]
    detail = {"transactional_id": request.get("transactionalId")}
    return {
        # In transactions, Kafka 4.4 gave the field the name that it has in OffsetCommit.
        "generation": request.get("generationIdOrMemberEpoch", request.get("generationId")),
        "positions": positions,
        "error_code": max((code for code in codes.values() if code), default=0),
        **({"detail": json.dumps(detail)} if "transactionalId" in request else {}),
    }


def _answered(answer: Row, position: str | None, topics: Mapping[str, str]) -> Row:
    """Positions in an answer, `position` naming its field; without one they are -1."""
    positions = [
        {
            "topic": topic,
            "partition": partition["partitionIndex"],
            "committed": partition[position] if position else -1,
            "error_code": partition["errorCode"],
        }
        for topic, partition in _each(answer.get("topics"), "partitions", topics)
    ]
    # An unknown error is -1, and no less of one than the others.
    worst = max((each["error_code"] for each in positions if each["error_code"]), default=0)
    return {"positions": positions, "error_code": answer.get("errorCode") or worst}


def _list(request: Row, answer: Row, topics: Mapping[str, str]) -> Row:
    partitions = _each(request.get("topics"), "partitions", topics)
    asked = {partition.get("timestamp") for _, partition in partitions}
    return {
        **_answered(answer, "offset", topics),
        "detail": json.dumps({"timestamp": next(iter(asked)) if len(asked) == 1 else None}),
    }


def _find(request: Row, answer: Row, _topics: Mapping[str, str]) -> Row:
    keys = request.get("coordinatorKeys") or [None]
    named = (answer.get("coordinators") or [answer])[0]  # since version 4 a list
    return {
        "group": request.get("key") or keys[0],
        "error_code": named.get("errorCode"),
        "detail": json.dumps({"coordinator": named.get("nodeId")}),
    }


def _fetch(request: Row, answer: Row, topics: Mapping[str, str]) -> Row:
    """Of several groups in one call, the first."""
    asked = (request.get("groups") or [{}])[0]
    answered = (answer.get("groups") or [answer])[0]
    return {
        "group": request.get("groupId") or asked.get("groupId"),
        "member_id": asked.get("memberId") or None,
        "error_code": answered.get("errorCode", answer.get("errorCode")),
        "positions": _answered(answered, "committedOffset", topics)["positions"],
    }


def _consumer_heartbeat(request: Row, answer: Row, topics: Mapping[str, str]) -> Row:
    """Of what did not change since its last heartbeat, a member says nothing (null, -1)."""

    def partitions(found: Any) -> list[Row] | None:
        if found is None:
            return None
        each = _each(found, "partitions", topics)
        return [{"topic": topic, "partition": number} for topic, number in each]

    said = {
        "heartbeat_interval_ms": answer.get("heartbeatIntervalMs"),
        "topics": request.get("subscribedTopicNames"),
        "regex": request.get("subscribedTopicRegex") or None,
        "error": answer.get("errorMessage"),
    }
    timeout_ms = request.get("rebalanceTimeoutMs", -1)
    assigned = answer.get("assignment")
    return {
        "member_id": request.get("memberId") or answer.get("memberId") or None,
        "generation": request.get("memberEpoch"),
        "member_epoch": answer.get("memberEpoch"),
        "rebalance_timeout_ms": timeout_ms if timeout_ms >= 0 else None,
        "assignors": [request["serverAssignor"]] if request.get("serverAssignor") else None,
        "owned": partitions(request.get("topicPartitions")),
        "assigned": partitions(assigned and assigned["topicPartitions"]),
        "detail": json.dumps({name: value for name, value in said.items() if value is not None}),
    }


_DETAILS: Final = {
    "JOIN_GROUP": _join,
    "SYNC_GROUP": _sync,
    "LEAVE_GROUP": _leave,
    "OFFSET_COMMIT": _commit,
    "OFFSET_FETCH": _fetch,
    "OFFSET_DELETE": lambda _, answer, topics: _answered(answer, None, topics),
    "TXN_OFFSET_COMMIT": _commit,
    "DELETE_RECORDS": lambda _, answer, topics: _answered(answer, "lowWatermark", topics),
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
