"""From a message of a client to what it says of its group: Java's, librdkafka's and KafkaJS's.

`with_marks` puts a mark in front of the messages that say something, so that the reader of lines
finds them as it finds a coordinator's. Texts of Java's client are those of AbstractCoordinator,
ConsumerCoordinator and AbstractMembershipManager from 2.0 to 4.4; those of librdkafka are of
rdkafka_cgrp.c from 1.0 on; KafkaJS's are of consumerGroup.js and runner.js. Connect's workers and
Kafka Streams write as Java's client does; Spring writes of its own who was assigned partitions.
"""

from __future__ import annotations

import re
from typing import Final

from harness.history.broker_log import MARK, Row

MARKED: Final = f"{MARK}client]: "
_MARKED: Final = MARKED.encode()

_GENERATION: Final = r"(?:Generation\{generationId=)?(?P<generation>-?\d+)"
_OF_MEMBER: Final = r"(?:, memberId='(?P<member_id>[^']*)')?"
# Each with the event, and the reason where the text has none in its own words.
_JAVA: Final = (
    ("joined", rf"Successfully joined group with generation {_GENERATION}{_OF_MEMBER}", ""),
    (
        "given",  # KIP-848
        (
            r"Member (?P<member_id>\S+) with epoch (?P<generation>\d+) transitioned from "
            r"(?:JOINING|STABLE) to (?:RECONCILING|STABLE)"
        ),
        "",
    ),
    ("rejoins", r"Request joining group due to: (?P<reason>.*)", ""),
    ("rejoins", "Attempt to heartbeat failed since group is rebalancing", "already rebalancing"),
    ("rejoins", "Need to revoke partitions .* and re-join the group", "need to revoke partitions"),
    ("rejoins", r"Requesting to re-join the group .* since (?P<reason>.*?)(?: from .*)?$", ""),
    ("rejoins", "We received an assignment .* current subscription", "subscription has changed"),
    ("rejoins", "Rebalance started", "already rebalancing"),  # of a worker
    ("asks", r"\(Re-\)joining group", ""),
    (
        "max_poll",
        r"(?:This member will leave the group because )?consumer poll timeout has exp",
        "",
    ),
    (
        "left",
        r"Member (?P<member_id>.+?) sending LeaveGroup request to .+? due to (?P<reason>.*)",
        "",
    ),
    ("left", r"(?:Member (?P<member_id>.+?) s|S)ending LeaveGroup request to ", ""),
    (
        "left",
        (
            r"Member (?P<member_id>\S+) with epoch (?P<generation>-?\d+) generated the heartbeat "
            r"to leave the group"
        ),
        "",
    ),
    ("session", "Group coordinator .*session timed out without receiving a heartbeat response", ""),
    (
        "coordinator_lost",
        (
            r"Group coordinator .+? is unavailable or invalid(?: due to cause: (?P<reason>.*?)"
            r"\.? ?(?:isDisconnected|Rediscovery)|, will)"
        ),
        "",
    ),
    ("put_out", r"Attempt to heartbeat failed for since member id (?P<member_id>\S+) is not v", ""),
    ("put_out", r"Attempt to join group failed due to unknown member id", ""),
    (
        "fenced",
        (
            r"(?:Attempt to heartbeat with .* failed due to FENCED_INSTANCE_ID|Caught fenced group"
            r"|Received fatal exception: group\.instance\.id gets fenced|.* failed due to fenced "
            r"instance id|(?:Join|Sync)Group failed: The group instance id .* has been fenced)"
        ),
        "",
    ),
    (
        "put_out",
        (
            rf"Attempt to heartbeat with (?:stale )?{_GENERATION}{_OF_MEMBER}.* failed due to "
            r"(?P<reason>UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION)"
        ),
        "",
    ),
    (
        "put_out",
        r"\w*Heartbeat\w* failed for member (?P<member_id>\S+) because epoch \S+ is fenced",
        "FENCED_MEMBER_EPOCH",
    ),
    (
        "put_out",
        r"\w*Heartbeat\w* failed because member (?P<member_id>\S+) is unknown",
        "UNKNOWN_MEMBER_ID",
    ),
)
_CONTEXT: Final = re.compile(
    r"\[[A-Z][\w ]*? (?:instanceId=(?P<instance_id>[^\]]*?), )?clientId=(?P<client_id>[^\]]*?), "
    r"groupId=(?P<group>[^\]]*)\] "
)

_IN_GROUP: Final = r'Group "(?P<group>[^"]*)":? '
_LIBRDKAFKA: Final = (
    ("max_poll", r"Application maximum poll interval \(", ""),
    ("session", r"Consumer group session timed out", ""),
    ("fenced", r"consumer fenced by newer instance", ""),
    (
        "joined",
        (
            r"JoinGroup response: GenerationId (?P<generation>\d+), .*?, my MemberId "
            r"(?P<member_id>.+?), (?:member metadata|\d+ members|member)"
        ),
        "",
    ),
    ("put_out", rf"{_IN_GROUP}heartbeat error response .*: (?P<reason>Broker: Unknown member)", ""),
    ("put_out", rf"{_IN_GROUP}heartbeat error response .*: (?P<reason>.* generation id .*)", ""),
    ("fenced", rf"{_IN_GROUP}heartbeat error response .*: .*fenced by other consumer", ""),
    ("rejoins", rf"{_IN_GROUP}heartbeat error .* rebalance in progress", "already rebalancing"),
    ("put_out", r"ConsumerGroupHeartbeat failed due to: (?P<reason>.*?): will rejoin", ""),
    ("coordinator_lost", rf"{_IN_GROUP}marking the coordinator \(-?\d+\) dead: (?P<reason>.*)", ""),
    ("left", rf"{_IN_GROUP}leave \(in state [\w-]+\)$", ""),
    (
        "rejoins",
        rf"{_IN_GROUP}initiating rebalance \(\w+\) in state .* assigned part.*?: (?P<reason>.*)",
        "",
    ),
    ("asks", rf"{_IN_GROUP}\(?re\)?-?joining in join-state", ""),
)
# How librdkafka and the logging of its bindings begin: "%4|at|FAC|name| " and "FAC [name] ".
_NAMED: Final = re.compile(r"(?:[A-Z_]+(?:\|(?P<a>[^|]*)\| ?| \[(?P<b>[^\]]*)\] ))?")
_THREAD: Final = re.compile(r"\[thrd:[^\]]*\]: ")

_KAFKAJS: Final = (
    ("joined", r"\[ConsumerGroup\] Consumer has joined the group", ""),
    ("rejoins", r"\[Runner\] The group is rebalancing, re-joining", "already rebalancing"),
    ("put_out", r"\[Runner\] The coordinator is not aware of this member", "UNKNOWN_MEMBER_ID"),
    ("crashed", r"\[Consumer\] Crash: (?P<reason>[^\"{]*)", ""),
    ("left", r"\[Consumer\] Stopped", ""),
)
_FIELDS: Final = {
    "group": re.compile(r"""\bgroupId\\?["']?\s*[:=]\s*\\?["']?([^"'\\,}\s]+)"""),
    "member_id": re.compile(r"""\bmemberId\\?["']?\s*[:=]\s*\\?["']?([^"'\\,}\s]+)"""),
}
_SPRING: Final = (
    ("joined", r"(?P<group>\S+): partitions assigned: ", ""),
    ("put_out", r"(?P<group>\S+): partitions lost: ", "partitions lost"),
)

_Patterns = tuple[tuple[str, re.Pattern[str], str], ...]


def _compiled(patterns: tuple[tuple[str, str, str], ...]) -> _Patterns:
    return tuple((event, re.compile(text, re.I), reason) for event, text, reason in patterns)


_OF_JAVA: Final = _compiled(_JAVA)
_OF_LIBRDKAFKA: Final = _compiled(_LIBRDKAFKA)
_OF_KAFKAJS: Final = _compiled(_KAFKAJS)
_OF_SPRING: Final = _compiled(_SPRING)

# Where a message begins that may say something: what is looked for first, since it is found fast,
# and a pattern. KafkaJS writes the group beside its message.
_MESSAGES: Final = tuple(
    (needle.encode(), re.compile(pattern.encode()))
    for needle, pattern in (
        (
            "groupId",
            (
                r"\[(?:Consumer|Worker|Schema registry) [^\]\n]*?clientId=[^\]\n]*, groupId="
                r"[^\]\n]*\] (?=[Cc]onsumer poll|This member|Request|\(Re-|Success|Attempt|Need|"
                r"We received|Rebalance st|Member |Sending Leave|Group coord|Caught|Received fatal"
                r"|\w+Heartbeat|JoinGroup f|SyncGroup f)"
                r"|\[Runner\] (?=The group is rebalancing|The coordinator is not aware)"
                r"|\[ConsumerGroup\] (?=Consumer has joined)|\[Consumer\] (?=Crash: |Stopped)"
            ),
        ),
        (
            "[thrd:",
            (
                r"(?:\b[A-Z]+(?:\|[^|\n]*\| ?| \[[^\]\n]*\] ))?\[thrd:[^\]\n]*\]: (?=Application "
                r"max|Consumer group sess|consumer fenced|JoinGroup response: G|ConsumerGroupHeart"
                r'beat f|Group \\*"[^"\n]*":? (?:heartbeat error|marking|leave \(|initiating'
                r"|\(?re\)?-?join))"
            ),
        ),
        (
            "MessageListenerContainer",
            r"(?<=[: ])[^\s\"]+: partitions (?=assigned: |lost: )",
        ),
    )
)


def with_marks(block: bytes) -> bytes:
    """The same lines, with a mark before each message of a client that may say something."""
    for needle, begins in _MESSAGES:
        if needle in block:
            block = begins.sub(lambda found: _MARKED + found[0], block)
    return block


def row_of(message: str) -> Row | None:
    """What a marked message says; None where it says nothing of a group.

    Columns: event (client_*), group, client_id, instance_id, member_id, generation, reason, text;
    those that it does not have are missing. No broker is named: its number is None.
    """
    if not message.startswith(MARKED):
        return None
    text = message[len(MARKED) :]
    row: Row = {"text": text, "broker": None}
    if text.startswith(("[Consumer] ", "[ConsumerGroup] ", "[Runner] ")):
        for name, pattern in _FIELDS.items():
            if field := pattern.search(text):
                row[name] = field[1]
        return _read(row, _OF_KAFKAJS, text)
    if context := _CONTEXT.match(text):
        if context["group"] == "null":  # it assigns partitions to itself
            return None
        row |= {name: value for name, value in context.groupdict().items() if value}
        return _read(row, _OF_JAVA, text[context.end() :])
    if thread := _THREAD.search(text):
        named = _NAMED.match(text)
        if named and (name := named["a"] or named["b"]):
            row["client_id"] = name.partition("#")[0] if not name.startswith("rdkafka#") else name
        return _read(row, _OF_LIBRDKAFKA, text[thread.end() :].replace('\\"', '"'))
    return _read(row, _OF_SPRING, text)


def _read(row: Row, patterns: _Patterns, text: str) -> Row | None:
    for event, pattern, reason in patterns:
        if found := pattern.match(text):
            said = {name: value for name, value in found.groupdict().items() if value}
            if "generation" in said:
                row["generation"] = int(said.pop("generation"))
            row |= {"event": f"client_{event}"} | ({"reason": reason} if reason else {}) | said
            if isinstance(row.get("reason"), str):
                row["reason"] = row["reason"].strip().rstrip(".")
            return row
    return None
