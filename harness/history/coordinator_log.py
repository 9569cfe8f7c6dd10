"""Rows of `coordinator_events` from the brokers' server logs.

Texts are those of Kafka's GroupMetadataManager, the coordinator of 4.x, and in OLD_PATTERNS those
of the one that 3.x has (GroupCoordinator.scala); each marks its lines in its own way. Times are
UTC, integers of microseconds since the epoch.
"""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from harness.base.stamps import parse_stamp
from harness.history.broker_log import MARK as MARK
from harness.history.broker_log import Reading, Row, lines_of, parts_of, repeats
from harness.history.other_lines import OF_NEW, OF_OLD, UNKNOWN, kind_of

Patterns = Iterable[tuple[str, re.Pattern[str]]]

# One entry per line that tells of a group, in the order they are tried. Named groups become
# columns of `coordinator_events`.
_GROUP: Final = r"group (?P<group>\S+?)"
# A member id that the coordinator makes is the client.id, in which there may be blanks, and a UUID.
_ANY_MEMBER: Final = r"(?P<member_id>\S+)"
UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MEMBER: Final = rf"(?P<member_id>\S+|.+?-{UUID})"

PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (event, re.compile(pattern.replace(_ANY_MEMBER, MEMBER)))
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
        # Of a client whose JoinGroup is older than version 4, which is given no id to join with.
        (
            "member_added",
            (
                rf"^Dynamic [Mm]ember with unknown member id joins {_GROUP} in "
                r"(?:state \w+|\w+ state)\. Created a new member id (?P<member_id>\S+) "
                r"(?:and added|for this)"
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
    (event, re.compile(pattern.replace(_ANY_MEMBER, MEMBER)))
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

# What marks a line of a coordinator, and how to read it. The mark stands behind the stamp, the
# level and the logger, and nowhere else: what a client says of itself is logged as well.
NEW_MARK: Final = re.compile(r"\[GroupCoordinator id=(\d+)[^\]]*\] ")
OLD_MARK: Final = re.compile(r"\[GroupCoordinator (\d+)\]: ")
_HEAD: Final = re.compile(r"^\S+ [A-Z]+ (\S+) ")  # as harness/cluster/log4j2.xml writes it
_COORDINATORS: Final = ((NEW_MARK, PATTERNS, OF_NEW), (OLD_MARK, OLD_PATTERNS, OF_OLD))


def read_coordinator_events(
    log: Path, broker: int, reading: Reading | None = None, said: Collection[str] = ()
) -> Iterator[Row]:
    """Rows of `coordinator_events` from one broker's server log.

    A line that begins within what a client has `said` in its requests is none of the coordinator's.

    The old coordinator writes that a member left after what this caused, all under one lock: that
    row gets the time of the first line before it that tells of the consequence. A line that is
    not whole is passed over and counted in `reading`; a whole one whose text nobody knows is a row
    of its own, without a group.
    """
    before: defaultdict[str, deque[Row]] = defaultdict(last_lines)
    for number, line, at in _lines(log, reading or Reading(), said):
        row = _row_of_line(line)
        if row is None:
            if (unknown := _unknown(line)) is not None:
                yield {**unknown, "broker": broker, "at": at, "evidence": f"{log.name}:{number}"}
            continue
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
        parts = parts_of(line) if _row_of_line(line) is None and MARK in line else [line]
        if said and any(repeats(part, said) for part in parts[1:]):
            parts = [line]
        for part in parts[1:]:
            reading.missed(where, "begins within another line")
            yield number, part, parse_stamp(part)
        if at is not None:
            yield number, parts[0], at  # which has no line feed where another begins within it


def last_lines() -> deque[Row]:
    """What is kept of the lines of a group, for `departed_at`."""
    return deque(maxlen=2)


def departed_at(row: Row, before: Collection[Row]) -> int | None:
    """When a member left, if `row` is the old coordinator's line of it and `before` tells of that.

    `before` are the last two lines of the group. What came of the departure is written first: the
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
    if head := _HEAD.match(line):
        for mark, patterns, _ in _COORDINATORS:
            if found := mark.match(line, head.end()):
                return coordinator_row(line[found.end() :].rstrip("\n"), patterns)
    return None


def _unknown(line: str) -> Row | None:
    """A whole line of a coordinator whose text nobody knows; None for every other."""
    if (head := _HEAD.match(line)) and line.endswith("\n"):
        for mark, _, of_no_interest in _COORDINATORS:
            if found := mark.match(line, head.end()):
                text = line[found.end() :].rstrip("\n")
                if of_no_interest.match(text) is None:
                    return {"event": UNKNOWN, "reason": kind_of(head[1], text), "text": text}
    return None


def coordinator_row(text: str, patterns: Patterns = PATTERNS) -> Row | None:
    """What one message of the group coordinator says, or None if it tells of no group."""
    for event, pattern in patterns:
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
