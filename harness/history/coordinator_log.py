"""Rows of `coordinator_events` from the brokers' server logs.

Texts are those of Kafka's GroupMetadataManager, the coordinator of 4.x, and in OLD those of the one
that 3.x has (GroupCoordinator.scala); each marks its lines in its own way. Times are
UTC, integers of microseconds since the epoch.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from harness.base.stamps import parse_stamp
from harness.history.broker_log import MARK as MARK
from harness.history.broker_log import Reading, Row, lines_of, parts_of, repeats, wordings
from harness.history.other_lines import OF_NO_MEMBER, UNKNOWN, kind_of

Patterns = Iterable[tuple[str, re.Pattern[str]]]

UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# What columns of `coordinator_events` are in the texts below. A member id that the coordinator
# makes is the client.id, in which there may be blanks, and a UUID.
COLUMNS: Final = {
    "group": r"\S+?",
    "member_id": rf"\S+|.+?-{UUID}",
    "instance_id": r"\S+",
    "generation": r"-?\d+",
    "members": r"\d+",
    "reason": ".*",
}

# The lines that tell of a group, in the order in which they are tried.
NEW: Final = r"""
member_id_given: Dynamic member with unknown member id joins group {group} in \w+ state\. Created a
    new member id {member_id} and
member_added: Pending dynamic member with id {member_id} joins group {group} in \w+ state
member_added: Static member with groupInstanceId={instance_id} and unknown member id joins group
    {group} in \w+ state\. Created a new member id {member_id} for
# Of a client whose JoinGroup is older than version 4, which is given no id to join with.
member_added: Dynamic [Mm]ember with unknown member id joins group {group} in (?:state \w+|\w+
    state)\. Created a new member id {member_id} (?:and added|for this)
replaced: Static member with groupInstanceId={instance_id} and unknown member id joins group {group}
    in \w+ state\. Replacing previously mapped member {member_id} with
rebalance_started: Preparing to rebalance group {group} in state \w+ with old generation
    {generation} \(reason: {reason}\)\.$
stabilized: Stabilized group {group} generation {generation} with {members} members
assignment_received: Assignment received from leader {member_id} for group {group} for generation
    {generation}\. The group has {members} members
evicted: Member {member_id} in group {group} has failed, removing it from the group
pending_evicted: Pending member {member_id} in group {group} has been removed after session timeout
left: \[Group {group}\] Member {member_id} has left group through explicit `LeaveGroup` request;
    client reason: {reason}$
stragglers_removed: Group {group} removed dynamic members who haven't joined: {reason}$
emptied: Group {group} with generation {generation} is now empty
loaded: Loaded (?:classic|consumer) group {group} with {members} members
# Groups of KIP-848, and of classic members in one.
member_id_given: {in_group}Dynamic member with unknown member id joins the {kind} group\. Created a
    new member id {member_id} and
left: {in_group}(?P<reason>{a_member} has left group through explicit `LeaveGroup` request)(?:;
    client reason: {client_reason}$)?
replacing_failed: {in_group}(?P<reason>{a_member} cannot join the group because the instance id is
    (?:is )?owned by member {other_id})\.$
member_added: {in_group}(?P<reason>Static member with (?:unknown member id and )?instance id
    {instance_id} re-joins the {kind} group(?: using the \w+ protocol)?)\. Created a new member
    {member_id} to replace
member_added: {in_group}(?P<reason>{a_member} (?:re-)?joins the {kind} group(?: using the \w+
    protocol)?)
left_for_now: {in_group}(?P<reason>{a_member} temporarily left the {kind} group)\.$
left: {in_group}(?P<reason>{a_member} left the {kind} group)\.$
evicted: {in_group}{a_member} (?P<reason>fenced from the group because (?:its|the member) session
    expired)
fenced: {in_group}{a_member} (?P<reason>fenced from the group because it failed to transition from
    epoch {generation} within \d+ms)
epoch_bumped: {in_group}Bumped group epoch to {generation}(?: with (?P<reason>metadata hash -?\d+))?
target_computed: {in_group}Computed a new target assignment for epoch {generation} with '{reason}'
    assignor
upgraded: {in_group}(?P<reason>Converted the (?:empty )?classic group to a {kind} group)\.$
downgraded: {in_group}(?P<reason>Converted the (?:empty )?{kind} group to a classic group)\.$
unloaded: \[GroupId={group}\] Unload(?:ing|ed) group metadata for (?:generation|group epoch)
    {generation}
"""

# The old coordinator names the offsets partition after a generation, ends few lines with a full
# stop, and writes of a departure after the rebalance that it caused. The rest reads as in 4.x.
OLD: Final = r"""
rebalance_started: Preparing to rebalance group {group} in state \w+ with old generation
    {generation} {of_offsets} \(reason: {reason}\)$
stabilized: Stabilized group {group} generation {generation} {of_offsets} with
    {members} members
left: Member MemberMetadata\(memberId={member_id}, .*\) has left group {group} through
    explicit `LeaveGroup`; client reason: {reason}$
loaded: Loading group metadata for {group} with generation {generation}
unloaded: Unloading group metadata for {group} with generation {generation}
"""
PARTS: Final = {
    "of_offsets": r"\(__consumer_offsets-\d+\)",
    "in_group": r"\[GroupId {group}\] ",
    "kind": "consumer",
    "a_member": (
        r"(?:Dynamic |Static )?[Mm]ember(?: {member_id})?(?: with instance id {instance_id})?"
    ),
}


def patterns(
    columns: Mapping[str, str] = COLUMNS, parts: Mapping[str, str] = PARTS, *, old: bool = False
) -> Patterns:
    """The lines of the coordinator of 4.x, or of 3.x, as patterns; of columns as these are."""
    found = list(wordings(NEW, columns, parts))
    if old:
        theirs = list(wordings(OLD, columns, parts))
        other = {event for event, _ in theirs}
        found = [*theirs, *(each for each in found if each[0] not in other)]
    return tuple((event, re.compile(pattern)) for event, pattern in found)


# The old coordinator writes sets as Scala does, the new one as Java does.
_SET: Final = re.compile(r"\b(?:Hash)?Set\(([^()]*)\)")

# What marks a line of a coordinator, and how to read it. The mark stands behind the stamp, the
# level and the logger, and nowhere else: what a client says of itself is logged as well.
NEW_MARK: Final = re.compile(r"\[GroupCoordinator id=(\d+)[^\]]*\] ")
OLD_MARK: Final = re.compile(r"\[GroupCoordinator (\d+)\]: ")
LAST_LINES: Final[Callable[[], deque[Row]]] = partial(deque, maxlen=2)  # of a group
_HEAD: Final = re.compile(r"^\S+ [A-Z]+ (\S+) ")  # as harness/cluster/log4j2.xml writes it
_COORDINATORS: Final = ((NEW_MARK, patterns()), (OLD_MARK, patterns(old=True)))


def read_coordinator_events(
    log: Path, broker: int, reading: Reading | None = None, said: Collection[str] = ()
) -> Iterator[Row]:
    """Rows of `coordinator_events` from one broker's server log.

    A line that begins within what a client has `said` in its requests is none of the coordinator's.

    The old coordinator writes that a member left after what this caused, all under one lock: that
    row gets the time of the first line before it that has the consequence. A line that is
    not whole is passed over and counted in `reading`; a whole one whose text is unknown is a row
    of its own, without a group.
    """
    before: defaultdict[str, deque[Row]] = defaultdict(LAST_LINES)
    for number, line, at in _lines(log, reading or Reading(), said):
        row = _row_of_line(line)
        if row is None:
            continue
        if row["event"] != UNKNOWN:
            at = departed_at(row, before[row["group"]]) or at
            before[row["group"]].append({**row, "at": at})
        yield {**row, "broker": broker, "at": at, "evidence": f"{log.name}:{number}"}


def _lines(log: Path, reading: Reading, said: Collection[str]) -> Iterator[tuple[int, str, int]]:
    """Each line with a stamp, with its number and that stamp."""
    for number, line in lines_of(log):
        if said and repeats(line, said):
            reading.lines = (reading.lines or 0) + 1
            continue
        at, where = reading.at(line), f"{log.name}:{number}"
        if not line.endswith("\n"):
            reading.missed(where, "is cut off")
        if at is None and MARK in line:
            reading.missed(where, "has no stamp")
        parts = parts_of(line) if MARK in line else [line]
        if len(parts) > 1:
            row = _row_of_line(line) or {"event": UNKNOWN}
            if row["event"] != UNKNOWN or any(repeats(part, said) for part in parts[1:]):
                parts = [line]
        for part in parts[1:]:
            reading.missed(where, "begins within another line")
            yield number, part, parse_stamp(part)
        if at is not None:
            yield number, parts[0], at  # which has no line feed where another begins within it


def departed_at(row: Row, before: Collection[Row]) -> int | None:
    """When a member left, if `row` is the old coordinator's line of it and `before` has that.

    `before` are the LAST_LINES of the group. What came of the departure is written first: the
    rebalance that it started, the end of a join phase, or both.
    """
    if row["event"] != "left" or row["text"].startswith("[Group") or not before:
        return None
    *earlier, last = before
    ended = last["event"] in ("stabilized", "emptied")
    first = earlier[-1] if ended and earlier else last
    if first["event"] == "rebalance_started" and row["member_id"] in first.get("reason", ""):
        return int(first["at"])
    return int(last["at"]) if ended else None


def _row_of_line(line: str) -> Row | None:
    """What a coordinator's line says, or that it is whole and of an unknown kind; else None."""
    if head := _HEAD.match(line):
        for mark, known in _COORDINATORS:
            if found := mark.match(line, head.end()):
                text = line[found.end() :].rstrip("\n")
                row = coordinator_row(text, known)
                if row is None and line.endswith("\n") and not OF_NO_MEMBER.match(text):
                    return {"event": UNKNOWN, "reason": kind_of(head[1], text), "text": text}
                return row
    return None


def coordinator_row(text: str, known: Patterns) -> Row | None:
    """What one message of the group coordinator says, or None if it is about no group."""
    for event, pattern in known:
        match = pattern.match(text)
        if match:
            found = match.groupdict()
            numbers = {
                name: int(found[name]) for name in ("generation", "members") if found.get(name)
            }
            if "Set(" in text and found.get("reason"):
                found["reason"] = _SET.sub(r"[\1]", found["reason"])
            return {**found, **numbers, "event": event, "text": text}
    return None
