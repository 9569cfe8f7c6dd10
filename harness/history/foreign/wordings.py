"""From a message of a group coordinator to what it says, in the words of Kafka 3.6 to 4.4.

`coordinator_log` has the lines that a history is made of, as the versions that runs are played with
write them. Here are those that other versions write otherwise, and those that only explain: who was
fenced, what a member says why it leaves, from which host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from harness.history.broker_log import Row
from harness.history.coordinator_log import (
    MARK,
    NEW_MARK,
    OLD_MARK,
    OLD_PATTERNS,
    PATTERNS,
    Patterns,
    coordinator_row,
)

_ID: Final = r"(?P<member_id>\S+|.+?-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_GROUP_ID: Final = r"^\[Group(?:Id)? (?P<group>[^\]]+)\] "
_INSTANCE: Final = r"with instance id (?P<instance_id>\S+) "
_LEAVE: Final = r"has left group through explicit `LeaveGroup` request"

# Of both coordinators: `other_id` is the member that has the instance id now.
_BOTH: Final = (
    (
        "instance_fenced",
        (
            r"^Request memberId=(?P<member_id>.+?) for static member with groupInstanceId="
            r"(?:Some\()?(?P<instance_id>.+?)\)? is fenced by (?:existing|current) memberId="
            r"(?P<other_id>.+?) during operation (?P<reason>\S+)$"
        ),
    ),
    ("broker_started", r"^Startup complete\.$"),
    ("broker_stopping", r"^Shutting down\.$"),
)

# Of the coordinator of 4.x, which 3.7 to 3.9 have for groups of KIP-848.
_NEW: Final = (
    *_BOTH,
    (
        "left",
        (
            rf"{_GROUP_ID}(?P<reason>Dynamic [Mm]ember {_ID} {_LEAVE}); "
            r"client reason: (?P<client_reason>.*)$"
        ),
    ),
    (
        "left",
        (
            rf"{_GROUP_ID}(?P<reason>Static [Mm]ember {_ID} {_INSTANCE}{_LEAVE}); "
            r"client reason: (?P<client_reason>.*)$"
        ),
    ),
    (
        "instance_fenced",
        (
            rf"{_GROUP_ID}(?P<reason>Static member {_ID} {_INSTANCE}is fenced by existing member "
            r"(?P<other_id>\S+))\.$"
        ),
    ),
    (
        "replacing_failed",
        (
            rf"{_GROUP_ID}(?P<reason>Static member {_ID} {_INSTANCE}cannot join the group because "
            r"the instance id is (?:is )?owned by member (?P<other_id>\S+))\.$"
        ),
    ),
    # 3.7 and 3.8 say no protocol, and 3.7 to 3.9 write some words otherwise.
    ("member_added", rf"{_GROUP_ID}(?P<reason>Member {_ID} joins the consumer group)\.$"),
    (
        "member_added",
        rf"{_GROUP_ID}(?P<reason>Static member {_ID} {_INSTANCE}joins the consumer group)\.$",
    ),
    (
        "member_added",
        (
            rf"{_GROUP_ID}(?P<reason>Static member with unknown member id and instance id "
            r"(?P<instance_id>\S+) re-joins the consumer group)\. "
            rf"Created a new member {_ID} to replace"
        ),
    ),
    ("left", rf"{_GROUP_ID}(?P<reason>Static Member {_ID} {_INSTANCE}left the consumer group)\.$"),
    (
        "left_for_now",
        (
            rf"{_GROUP_ID}(?P<reason>Static Member {_ID} {_INSTANCE}temporarily left the consumer "
            r"group)\.$"
        ),
    ),
    (
        "evicted",
        rf"{_GROUP_ID}Member {_ID} (?P<reason>fenced from the group because its session expired)",
    ),
    (
        "fenced",
        (
            rf"{_GROUP_ID}Member {_ID} (?P<reason>fenced from the group because it failed to "
            r"revoke partitions within \d+ms)"
        ),
    ),
    # Classic members of a group of KIP-848.
    (
        "dropped",
        (
            rf"{_GROUP_ID}Member {_ID} (?P<reason>fenced from the group because (?:the classic "
            r"member failed to join within the rebalance timeout|the member failed to sync within "
            r"timeout))"
        ),
    ),
    # What changed before an epoch was bumped. Up to 4.0 the epoch's own line does not say it.
    ("metadata_computed", rf"{_GROUP_ID}Computed new (?:subscription metadata|metadata hash): "),
    (
        "subscribed",
        rf"{_GROUP_ID}(?P<reason>Member {_ID} updated its subscribed (?:topics|regex) to: .*)$",
    ),
    # Share groups, and groups of Kafka Streams (KIP-1071), have epochs as well.
    ("member_added", rf"{_GROUP_ID}(?P<reason>Member {_ID} joins the share group) "),
    ("left", rf"{_GROUP_ID}(?P<reason>(?:Streams m|M)ember {_ID} left the share group)\.$"),
    (
        "member_added",
        (
            r"^\[GroupId (?P<group>[^\]]+)\]\[MemberId (?P<member_id>[^\]]+)\] "
            r"(?P<reason>(?:Member|Static member .*) joins the streams group)"
        ),
    ),
    (
        "left",
        (
            r"^\[GroupId (?P<group>[^\]]+)\]\[MemberId (?P<member_id>[^\]]+)\] "
            r"(?P<reason>(?:Member|Static member) \S+ (?:with instance id \S+ )?left the streams "
            r"group)\.$"
        ),
    ),
    (
        "epoch_bumped",
        (
            r"^\[GroupId (?P<group>[^\]]+)\]\[MemberId [^\]]+\] Bumped streams group epoch to "
            r"(?P<generation>\d+)(?: with (?P<reason>metadata hash -?\d+))?"
        ),
    ),
    ("loaded", r"^Loaded (?:share|streams) group (?P<group>\S+) with (?P<members>\d+) members"),
)

# Of the coordinator of 3.x for classic groups. Only where a member leaves its host is told.
_OLD: Final = (
    *_BOTH,
    (
        "left",
        (
            r"^Member MemberMetadata\(memberId=(?P<member_id>[^,]+), groupInstanceId=(?:None|"
            r"Some\((?P<instance_id>[^)]*)\)), clientId=(?P<client_id>.*?), clientHost="
            r"/?(?P<host>[^,]*), .*\) has left group (?P<group>\S+) through explicit `LeaveGroup`; "
            r"client reason: (?P<reason>.*)$"
        ),
    ),
)
_BEGINNING: Final = re.compile(r"\[?\w+")


class _Wordings:
    """Patterns by the word that a message begins with: of forty, only a few are tried."""

    def __init__(self, patterns: Iterable[tuple[str, re.Pattern[str]]]) -> None:
        self._by_word: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for event, pattern in patterns:
            word = _word_of(pattern.pattern.removeprefix("^").replace("\\", "", 1))
            self._by_word.setdefault(word, []).append((event, pattern))

    def of(self, text: str) -> Patterns:
        return self._by_word.get(_word_of(text), ())


def _word_of(text: str) -> str:
    """The first word; "[Group g]" and "[GroupId g]" begin alike."""
    found = _BEGINNING.match(text)
    return found[0].removesuffix("Id") if found else ""


def _compiled(patterns: Iterable[tuple[str, str]]) -> list[tuple[str, re.Pattern[str]]]:
    return [(event, re.compile(pattern)) for event, pattern in patterns]


_COORDINATORS: Final = (
    (NEW_MARK, _Wordings([*_compiled(_NEW), *PATTERNS])),
    (OLD_MARK, _Wordings([*_compiled(_OLD), *OLD_PATTERNS])),
)


def row_of(message: str) -> Row | None:
    """What a message that begins with the coordinator's mark says; None where it says nothing.

    The columns are those of `coordinator_events` and, where the line has them, `client_reason`,
    `client_id`, `host` and `other_id`. Lines about a broker have no group.
    """
    for mark, wordings in _COORDINATORS:
        if found := mark.match(message):
            text = message[found.end() :]
            row = coordinator_row(text, wordings.of(text))
            return row and {**row, "broker": int(found[1])}
    return None


__all__ = ["MARK", "row_of"]
