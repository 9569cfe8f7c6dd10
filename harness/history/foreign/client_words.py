"""From a message of a client to what it says of its group: Java's, librdkafka's and KafkaJS's.

`with_marks` puts a mark in front of the messages that say something, so that the reader of lines
finds them as it finds a coordinator's. Texts of Java's client are those of AbstractCoordinator,
ConsumerCoordinator and AbstractMembershipManager from 2.0 to 4.4; those of librdkafka are of
rdkafka_cgrp.c from 0.11 on; KafkaJS's are of consumerGroup.js and runner.js. Connect's workers and
Kafka Streams write as Java's client does; Spring writes of its own who was assigned partitions.
"""

import re
from typing import Final

from harness.history.broker_log import MARK, Row, wordings
from harness.history.foreign.log_stamps import Stamp, stamps_in

MARKED: Final = f"{MARK}client]: "
_MARKED: Final = MARKED.encode()

# Each event with its text and, where that has none in its own words, the reason.
_COLUMNS: Final = {
    "generation": r"\d+",
    "group": r"\S+",
    "instance_id": r"\S+",
    "member_id": r"\S+",
    "reason": ".*",
}
_PARTS: Final = {
    "in_group": r'Group "(?P<group>[^"]*)":? ',
    "of_member": (
        r"(?:Generation\{generationId=)?(?P<generation>-?\d+)"
        r"(?:, memberId='(?P<member_id>[^']*)')?"
    ),
}
_JAVA: Final = r"""
joined: Successfully joined group with generation {of_member}
given: Member {member_id} with epoch {generation} transitioned from (?:JOINING|STABLE) to
    (?:RECONCILING|STABLE)
rejoins: Request joining group due to: {reason}
rejoins: Attempt to heartbeat failed since group is rebalancing | already rebalancing
rejoins: Need to revoke partitions .* and re-join the group | need to revoke partitions
rejoins: Requesting to re-join the group .* since (?P<reason>.*?)(?: from .*)?$
rejoins: We received an assignment .* current subscription | subscription has changed
# Of a worker: its own wish, and that it joins, for whatever reason.
rejoins: Current config state offset .+ does not match group assignment .+ Forcing rebalance | its
    configuration did not match the group's
asks: Rebalance started
asks: \(Re-\)joining group
max_poll: (?:This member will leave the group because )?consumer poll timeout has exp
left: Member (?P<member_id>.+?) sending LeaveGroup request to .+? due to {reason}
left: (?:Member (?P<member_id>.+?) s|S)ending LeaveGroup request to
left: Member {member_id} with epoch (?P<generation>-?\d+) generated the heartbeat to leave the
    group
session: Group coordinator .*session timed out without receiving a heartbeat response
coordinator_lost: Group coordinator .+? is unavailable or invalid(?: due to cause:
    (?P<reason>.*?)\.? ?(?:isDisconnected|Rediscovery)|, will)
put_out: Attempt to heartbeat failed for since member id {member_id} is not v
put_out: Attempt to join group failed due to unknown member id
taken: \w*Heartbeat\w* failed due to unreleased instance id {instance_id}:
commit_refused: Offset ?[cC]ommit failed (?:with unknown member ID|.*The coordinator is not aware of
    this member) | its commit was refused
fenced: (?:Attempt to heartbeat with .* failed due to FENCED_INSTANCE_ID|Caught fenced
    group|Received fatal exception: group\.instance\.id gets fenced|.* failed due to fenced instance
    id|(?:Join|Sync)Group failed: The group instance id .* has been fenced)
put_out: Attempt to heartbeat with (?:stale )?{of_member}.* failed due to
    (?P<reason>UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION)
put_out: \w*Heartbeat\w* failed for member {member_id} because epoch \S+ is fenced |
    FENCED_MEMBER_EPOCH
put_out: \w*Heartbeat\w* failed because member {member_id} is unknown | UNKNOWN_MEMBER_ID
"""
_CONTEXT: Final = re.compile(
    r"\[[A-Z][\w ]*? (?:instanceId=(?P<instance_id>[^\]]*?), )?clientId=(?P<client_id>[^\]]*?), "
    r"groupId=(?P<group>[^\]]*)\] "
)

_LIBRDKAFKA: Final = r"""
max_poll: Application maximum poll interval \(
session: Consumer group session timed out
fenced: Fatal error: Broker: Static consumer fenced
taken: ConsumerGroupHeartbeat fatal error: Broker: The instance ID is still used
# In each answer to a heartbeat.
given: .*ConsumerGroupHeartbeat response received for member id "(?P<member_id>[^"]*)" with epoch
    {generation}
# Nothing but its group.
named: (?:.*ConsumerGroupHeartbeat of member id .*?, group id|.*Heartbeat for group)
    "(?P<group>[^"]*)"
named: {in_group}new assignment of
joined: JoinGroup response: GenerationId {generation}, .*?, my MemberId (?P<member_id>.+?),
    (?:member metadata|\d+ members|member)
put_out: {in_group}heartbeat error response .*: (?P<reason>Broker: Unknown member)
put_out: {in_group}heartbeat error response .*: (?P<reason>.* generation id .*)
fenced: {in_group}heartbeat error response .*: .*fenced by other consumer
rejoins: {in_group}heartbeat error .* rebalance in progress | already rebalancing
put_out: ConsumerGroupHeartbeat failed due to: (?P<reason>.*?): will rejoin
coordinator_lost: {in_group}marking the coordinator \(-?\d+\) dead: {reason}
left: {in_group}leave \(in state [\w-]+\)$
fenced: {in_group}initiating rebalance .*: consumer fenced by newer instance
rejoins: {in_group}initiating rebalance \(\w+\) in state .* assigned part.*?: {reason}
asks: {in_group}\(?re\)?-?joining in join-state
"""
# What bindings of librdkafka write in front of its thread has the client's name in some place:
# "%4|at|FAC|name| ", "FAC [name] ", "name FAC ", "RDKAFKA-4-FAC: name: ", "Handle: name".
_HANDLE: Final = re.compile(
    rb"(?:\|([^|\n]*#[a-z]+-\d+)\| ?|\[([^\]\[\n]*#[a-z]+-\d+)\] "
    rb"|([^\s|\[\]\"\x27\\]+#[a-z]+-\d+)[^#\n]*)$"
)
_HANDLE_WITHIN: Final = 200  # characters before the thread
_THREAD: Final = re.compile(r"\[thrd:[^\]]*\]: ")

_KAFKAJS: Final = r"""
joined: \[(?:ConsumerGroup|Runner)\] Consumer has joined the group
rejoins: \[Runner\] The group is rebalancing, re-joining | already rebalancing
put_out: \[Runner\] The coordinator is not aware of this member | UNKNOWN_MEMBER_ID
crashed: \[Consumer\] Crash: (?P<reason>[^"{]*)
left: \[Consumer\] Stopped
"""
_FIELDS: Final = {
    "group": re.compile(r"""\bgroupId\\?["']?\s*[:=]\s*\\?["']?([^"'\\,}\s]+)"""),
    "member_id": re.compile(r"""\bmemberId\\?["']?\s*[:=]\s*\\?["']?([^"'\\,}\s]+)"""),
}
_BESIDE: Final = re.compile(r' \{"name": "([^"]*#[^"]*)"\}$')  # as `lines` puts it there
_CAUSELESS: Final = re.compile(r"^(?:null)?$|^error response (?=\S)")
_STAMP: Final = re.compile(r"""\btimestamp\\?["']?\s*[:=]\s*""")
_STAMP_WITHIN: Final = 40  # characters
_SPRING: Final = r"""
assigned: {group}: partitions assigned:
lost: {group}: partitions lost: | partitions lost
"""

_Patterns = tuple[tuple[str, re.Pattern[str], str], ...]


def _compiled(text: str) -> _Patterns:
    found = []
    for event, words in wordings(text, _COLUMNS, _PARTS):
        pattern, _, reason = words.partition(" | ")
        found.append((event, re.compile(pattern, re.IGNORECASE), reason))
    return tuple(found)


_OF_JAVA: Final = _compiled(_JAVA)
_OF_LIBRDKAFKA: Final = _compiled(_LIBRDKAFKA)
_OF_KAFKAJS: Final = _compiled(_KAFKAJS)
_OF_SPRING: Final = _compiled(_SPRING)

# Where a message begins that may say something. KafkaJS writes the group beside its message.
_IN_A_GROUP: Final = re.compile(
    rb"\[(?:Consumer|Worker|Schema registry) [^\]\n]*?clientId=[^\]\n]*, groupId="
    rb"[^\]\n]*\] (?=[Cc]onsumer poll|This member|Request|\(Re-|Success|Attempt|Need|"
    rb"We received|Rebalance st|Current config|Offset ?[cC]ommit f|Member |"
    rb"Sending L|Group coord|Caught|Received fatal|\w+Heartbeat|(?:Join|Sync)Group f)"
    rb"|\[Runner\] (?=The group is rebal|The coordinator is|Consumer has j)"
    rb"|\[ConsumerGroup\] (?=Consumer has joined)|\[Consumer\] (?=Crash: |Stopped)"
)
_OF_A_CONTAINER: Final = re.compile(rb"(?<=[: ])[^\s\"]+: partitions (?=assigned: |lost: )")
_OF_THREAD: Final = re.compile(
    rb"\[thrd:[^\]\n]*\]: (?=Application max|Consumer group sess|Fatal error: Broker: Static|"
    rb"JoinGroup response: G|ConsumerGroupHeartbeat f|[^\n]{0,80}?ConsumerGroupHeartbeat (?:of|"
    rb"response rec)|[^\n]{0,80}?Heartbeat for group |Group \\*\"[^\"\n]*\":? (?:heartbeat error|"
    rb"marking|new assign|leave \(|initiating|\(?re\)?-?join))"
)

# Messages whose fields have a line each, as pino-pretty and Node's console print them. The line
# with the message gets what it needs of the others; those stay, so that lines keep their numbers. A
# record that two blocks share is not put together.
#
# Below its line: "ERROR: The coordinator is not aware …" and "    groupId: "orders"".
_BELOW: Final = re.compile(
    rb"(?m)^(?P<head>[^\n]*?)(?P<text>The coordinator is not aware of this member, re-join[^\n]*|"
    rb"The group is rebalancing, re-join[^\n]*|Consumer has joined the group|Crash: [^\n]*|Stopped)"
    rb"\r?\n(?P<fields>(?:[ \t]+\w+: [^\n]*\n?)+)"
)
_NAMESPACE: Final = re.compile(rb"\bnamespace: [\"']?(Runner|ConsumerGroup|Consumer)\b")
_NAMED: Final = re.compile(rb"\b((?:groupId|memberId): [^\s,]+)")
# An object of Node's: "{", fields such as "fac: 'MAXPOLL',", "}".
_OBJECT: Final = re.compile(rb"(?m)^[^\n]*\{\r?\n((?:[ \t]+\w+: [^\n]*\n)+)[ \t]*\}")
_MESSAGE: Final = re.compile(rb"(?m)^[ \t]+message: ['\"`](?P<text>\[thrd:[^\n]*?)['\"`],?\r?$")
_TIME: Final = re.compile(rb"\b(?:timestamp|time): ['\"]?([^'\",\n]+)")
_NAME_WITH_HANDLE: Final = re.compile(rb"\bname: ['\"]([^'\"\n]*#[^'\"\n]*)")


def with_marks(block: bytes) -> bytes:
    """The same lines, with a mark before each message of a client that may say something."""
    of_thread = b"[thrd:main]" in block
    fields = b'"' in block or b"'" in block  # found much faster than longer texts
    if fields and b"namespace: " in block:
        block = _BELOW.sub(_with_fields, block)
    if of_thread and (b"message: '[thrd:" in block or b'message: "[thrd:' in block):
        block = _OBJECT.sub(_with_time, block)
    if b", groupId=" in block or (fields and b"groupId" in block):
        block = _IN_A_GROUP.sub(_with_mark, block)
    if b"MessageListenerContainer" in block:
        block = _OF_A_CONTAINER.sub(_with_mark, block)
    return _OF_THREAD.sub(_with_handle, block) if of_thread else block


def _with_mark(found: re.Match[bytes]) -> bytes:
    has_one = found.string.endswith(_MARKED, 0, found.start())
    return found[0] if has_one else _MARKED + found[0]


def _with_handle(found: re.Match[bytes]) -> bytes:
    """A message of librdkafka with a mark and the client's name, if that stands before it."""
    before = found.string[max(0, found.start() - _HANDLE_WITHIN) : found.start()]
    before = before.rpartition(b"\n")[2]
    if _MARKED in before:
        return found[0]
    named = _HANDLE.search(before)
    handle = next(filter(None, named.groups())) + b" " if named else b""
    gap = b" " if before.endswith(b":") else b""
    return gap + _MARKED + handle + found[0]


def _with_fields(found: re.Match[bytes]) -> bytes:
    namespace = _NAMESPACE.search(found["fields"])
    if namespace is None or b"[" + namespace[1] + b"]" in found["head"]:
        return found[0]
    about = b", ".join(_NAMED.findall(found["fields"]))
    said = b"[%b] %b {%b}\n" % (namespace[1], found["text"], about)
    return found["head"] + _MARKED + said + found["fields"]


def _with_time(found: re.Match[bytes]) -> bytes:
    time, handle = _TIME.search(found[1]), _NAME_WITH_HANDLE.search(found[1])
    if time is None:
        return found[0]
    name = handle[1] + b" " if handle else b""
    return _MESSAGE.sub(lambda said: time[1] + b" " + _MARKED + name + said["text"], found[0])


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
        said = text[thread.end() :].replace('\\"', '"')
        beside = _BESIDE.search(said)
        if handle := text[: thread.start()].strip() or (beside[1] if beside else ""):
            row["handle"] = handle
            name = handle.partition("#")[0]
            row["client_id"] = name if name != "rdkafka" else handle
        return _read(row, _OF_LIBRDKAFKA, said[: beside.start()] if beside else said)
    return _read(row, _OF_SPRING, text)


def stamp_in(message: str) -> Stamp | None:
    """The time that a client's message says itself, as KafkaJS's fields behind it do."""
    found = _STAMP.search(message) if message.startswith(MARKED) else None
    return next(stamps_in(message[found.end() :][:_STAMP_WITHIN]), None) if found else None


def _read(row: Row, patterns: _Patterns, text: str) -> Row | None:
    for event, pattern, reason in patterns:
        if found := pattern.match(text):
            said = {name: value for name, value in found.groupdict().items() if value}
            if "generation" in said:
                row["generation"] = int(said.pop("generation"))
            row |= {"event": f"client_{event}"} | ({"reason": reason} if reason else {}) | said
            if isinstance(row.get("reason"), str):
                row["reason"] = row["reason"].strip().rstrip(".")
            if event == "coordinator_lost" and "reason" in row:
                row["reason"] = _CAUSELESS.sub("", row["reason"]) or "was disconnected"
            return row
    return None
