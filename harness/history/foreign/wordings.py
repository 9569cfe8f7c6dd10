"""From a message of a group coordinator to what it says, in the words of Kafka 2.0 to 4.4.

`coordinator_log` has the lines that a history is made of, as the versions that runs are played with
write them. Here are those that other versions write otherwise, and those that only explain: who was
fenced, what a member says why it leaves, from which host. tests/data/coordinator_words.txt has
what each version can log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from harness.history.broker_log import Row
from harness.history.coordinator_log import (
    MARK,
    MEMBER,
    NEW_MARK,
    OLD_MARK,
    OLD_PATTERNS,
    PATTERNS,
    Patterns,
    coordinator_row,
)
from harness.history.other_lines import OF_ANY

# In what follows {name} stands for a value, as short as what is behind it lets it be, which may
# have blanks and brackets; {} for one of no interest.
_GROUP: Final = r"\[Group(?:Id)? {group}\](?:\[MemberId {whose}\])? "
_MEMBER: Final = (
    r"(?:(?:Streams |Dynamic |Static )?[Mm]ember)(?: {member_id})?"
    r"(?: with instance id {instance_id})?"
)
_SOME: Final = r"(?:Some\()?{instance_id}\)?"
_SAID: Final = r"through explicit `LeaveGroup`(?: request)?"

# Of both coordinators: `other_id` is the member that has the instance id now.
_BOTH: Final = (
    (
        "instance_fenced",
        (
            rf"Request memberId={{member_id}} for static member with groupInstanceId={_SOME} is "
            r"fenced by (?:existing|current) memberId={other_id} during operation {reason}$"
        ),
    ),
    (  # at DEBUG
        "never_synced",
        r"Group {group} removed members who haven't sent their sync requests?: {reason}$",
    ),
    ("broker_started", r"Startup complete\.$"),
    ("broker_stopping", r"Shutting down\.$"),
)

# Of the coordinator of 4.x, which 3.7 to 3.9 have for groups of KIP-848; groups that share, and
# those of Kafka Streams (KIP-1071), have epochs as well.
_OF_GROUPS: Final = (
    ("left", rf"(?P<reason>{_MEMBER} has left group {_SAID}); client reason: {{client_reason}}$"),
    ("instance_fenced", rf"(?P<reason>{_MEMBER} is fenced by existing member {{other_id}})\.$"),
    (
        "replacing_failed",
        (
            rf"(?P<reason>{_MEMBER} cannot join the group because the instance id is (?:is )?owned"
            r" by member {other_id})\.$"
        ),
    ),
    # 3.8 and 4.4
    (
        "member_added",
        (
            r"(?P<reason>Static member with (?:unknown member id and )?instance id {instance_id} "
            r"re-joins the \w+ group(?: using the \w+ protocol)?)\. Created a new member "
            r"{member_id} to replace"
        ),
    ),
    (
        "member_added",
        rf"(?P<reason>{_MEMBER} (?:re-)?joins the \w+ group(?: using the \w+ protocol)?)",
    ),
    ("left_for_now", rf"(?P<reason>{_MEMBER} temporarily left the \w+ group)\.$"),
    ("left", rf"(?P<reason>{_MEMBER} left the \w+ group)\.$"),
    (
        "evicted",
        rf"{_MEMBER} (?P<reason>fenced from the group because (?:its|the member) session expired)",
    ),
    # Classic members of a group of KIP-848.
    (
        "dropped",
        (
            rf"{_MEMBER} (?P<reason>fenced from the group because (?:the classic member failed to "
            r"join within the rebalance timeout|the member failed to sync within timeout))"
        ),
    ),
    ("fenced", rf"{_MEMBER} (?P<reason>fenced from the group because {{}})\.$"),
    # What changed before an epoch was bumped. Up to 4.0 the epoch's own line does not say it.
    ("metadata_computed", r"Computed new (?:subscription metadata|metadata hash): "),
    (
        "subscribed",
        (
            rf"(?P<reason>{_MEMBER} updated its (?:subscribed (?:topics|regex)|member meta?data) "
            r"to.*)$"
        ),
    ),
    (
        "epoch_bumped",
        r"Bumped streams group epoch to {generation}(?: with (?P<reason>metadata hash -?\d+))?",
    ),
    ("target_computed", r"Computed a new target assignment for epoch {generation} with '{reason}'"),
    ("shutdown_asked", r"Shutdown requested for the streams application\.$"),
    ("upgraded", r"(?P<reason>Converted the (?:empty )?classic group to a \w+ group)\.$"),
    ("downgraded", r"(?P<reason>Converted the (?:empty )?\w+ group to a classic group)\.$"),
)
_NEW: Final = (
    *_BOTH,
    *((event, _GROUP + text) for event, text in _OF_GROUPS),
    ("loaded", r"Loaded (?:share|streams) group {group} with {members} members"),
)

# Of the coordinator of 2.x and 3.x. Only where a member leaves its host is told.
_OLD: Final = (
    *_BOTH,
    (
        "rebalance_started",
        (
            r"Preparing to rebalance group {group} with old generation {generation} "
            r"\(__consumer_offsets-\d+\)$"
        ),
    ),
    ("stabilized", r"Stabilized group {group} generation {generation} \(__consumer_offsets-\d+\)$"),
    (
        "assignment_received",
        r"Assignment received from leader for group {group} for generation {generation}(?:$|\.)",
    ),
    (
        "left",
        (
            rf"Member MemberMetadata\(memberId={{member_id}}, groupInstanceId=(?:None|{_SOME}), "
            r"clientId={client_id}, clientHost=/?{host}, sessionTimeoutMs={}\) has left group "
            rf"{{group}} {_SAID}(?:; client reason: {{reason}})?$"
        ),
    ),
    ("left", rf"Member {{member_id}} has left group {{group}} {_SAID}(?:; client reason: .*)?$"),
    (
        "left",
        (
            rf"Member\[group\.instance\.id (?:None|{_SOME}), member\.id {{member_id}}\] in group "
            r"{group} has left, removing it from the group"
        ),
    ),
    ("left", r"Member {member_id} in group {group} has left, removing it from the group"),
    (
        "member_added",
        rf"Adding new static member {_SOME} to group {{group}} with member id {{member_id}}\.$",
    ),
    (
        "replaced",
        (
            rf"Static member {_SOME}(?: of group {{group}})? with unknown member id rejoins, "
            r"assigning new member id {other_id}, while old member (?:id )?{member_id} will be "
            r"removed"
        ),
    ),
    (
        "instance_fenced",
        (
            rf"given member\.id {{member_id}} is identified as a known static member {_SOME}, ?but"
            r" not matching the expected member\.id {other_id}"
            r"(?: during (?P<reason>.*?), will .*)?$"
        ),
    ),
    ("stragglers_removed", r"Group {group} remove dynamic members who haven't joined: {reason}$"),
    ("dead", r"Group {group} transitioned to Dead in generation {generation}"),
    ("offsets_expired", r"Removed {members} expired offsets in "),
)
# What the coordinator of 2.x and 3.x writes beside: of offsets, and of who is fenced.
_KEEPER: Final = b"[GroupMetadataManager brokerId="
_FENCES: Final = b"given member.id "
_BESIDE: Final = re.compile(rb"\[GroupMetadataManager brokerId=(\d+)\] |(?<!: )given member\.id ")
# A managed service's log of rebalances: the messages without a mark, and the broker in a field.
_MANAGED: Final = b"_REBALANCE"
_BARE: Final = re.compile(
    rb'"(Preparing to rebalance group |Assignment received from leader for group '
    rb"|Stabilized group )"
    rb'(?=(?:[^\n]*?"coordinatorId": ?"?(\d+))?)'
)
# Filebeat's module for Kafka takes the mark out of the message, and keeps it beside.
_COMPONENT: Final = re.compile(rb'"component" ?: ?"(GroupCoordinator [^"]+)"')
_UNMARKED: Final = re.compile(rb'(?<="message":)( ?")(?!\[GroupCoordinator )')
# journalctl writes a text with colours as numbers.
_NUMBERED: Final = re.compile(rb'("MESSAGE" ?: ?)\[([\d, ]+)\]')
_BLANK_OF_A_PAGE: Final = "\u00a0".encode()
# What a page escapes, that a mark or a time has.
_ESCAPED: Final = ((b"&nbsp;", b" "), (b"&#160;", b" "), (b"&lbrack;", b"["), (b"&#91;", b"["))
_OLD_BROKER: Final = re.compile(rb"\[GroupCoordinator (\d+)\]: ")
_OF_MEMBERS: Final = ("member_added", "left", "left_for_now", "subscribed", "shutdown_asked")
_VALUE: Final = re.compile(r"\{([a-z_]*)\}")
_NUMBERS: Final = ("generation", "members")
_NOT_LITERAL: Final = re.compile(r"\\.|\[[^\]]*\]|\.[*+]\??|.\?|\^|\$")
_PART: Final = re.compile(r"\(\?(?::|P<\w+>)([^()]*)\)(\?)?")
# An id in a pattern of `coordinator_log`.
_ANY_ID: Final = re.compile(
    r"\(\?P<(group|member_id|instance_id)>(?:\\S\+\??|\[\^(?:\\\]|,)\]\+|\.\+\?)\)"
)
_LITERAL: Final = re.compile(r"[^\0()|{}+*?]+")
_BEGINNING: Final = re.compile(r"\[?\w+")


class _Wordings:
    """Patterns by the word that a message begins with, each with words that it has to have too.

    Of ninety, only a few are tried.
    """

    def __init__(self, *patterns: tuple[str, str]) -> None:
        self._by_word: dict[str, list[tuple[str, tuple[str, re.Pattern[str]]]]] = {}
        for event, text in patterns:
            word = _word_of(text.removeprefix("^").replace("\\", ""))
            entry = (_words_in(text), (event, re.compile(text)))
            self._by_word.setdefault(word, []).append(entry)

    def of(self, text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
        for words, pattern in self._by_word.get(_word_of(text), ()):
            if words in text:
                yield pattern


def _word_of(text: str) -> str:
    """The first word; "[Group g]" and "[GroupId g]" begin alike."""
    found = _BEGINNING.match(text)
    return found[0].removesuffix("Id") if found else ""


def _words_in(pattern: str) -> str:
    """The longest words that every text has that it reads."""
    text, count = _NOT_LITERAL.sub(_optional, pattern), 1
    while count:
        text, count = _PART.subn(lambda part: "\0" if part[2] or "|" in part[1] else part[1], text)
    words: list[str] = _LITERAL.findall(text)
    return max(words, key=len)


def _optional(found: re.Match[str]) -> str:
    """What stands for something that is not literal; a group's own marks stay."""
    return found[0] if found[0] in ("(?", ")?") else "\0"


def _patterns(wordings: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for event, text in wordings:
        yield event, "^" + _VALUE.sub(_value, text)


def _value(found: re.Match[str]) -> str:
    name = found[1]
    if not name:
        return ".*?"
    return rf"(?P<{name}>-?\d+)" if name in _NUMBERS else f"(?P<{name}>.*?)"


def _with_blanks(patterns: Patterns) -> Iterator[tuple[str, str]]:
    """The same patterns for ids and groups in which there are blanks and brackets."""
    for event, pattern in patterns:
        yield (
            event,
            _ANY_ID.sub(r"(?P<\1>.+?)", pattern.pattern.replace(MEMBER, "(?P<member_id>.+?)")),
        )


_COORDINATORS: Final = tuple(
    (
        mark,
        _Wordings(
            *_patterns(wordings),
            *((event, pattern.pattern) for event, pattern in known),
            *_with_blanks(known),
        ),
    )
    for mark, wordings, known in ((NEW_MARK, _NEW, PATTERNS), (OLD_MARK, _OLD, OLD_PATTERNS))
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
            if row is None:
                return None
            whose = row.pop("whose", None)  # which member of a Streams group asked then
            if row["event"] in _OF_MEMBERS:
                row["member_id"] = row.get("member_id") or whose
            row["broker"] = int(found[1])
            return row
    return None


def is_known(message: str) -> bool:
    """Whether it is a message of which it is known that it says nothing of a group's members."""
    found = NEW_MARK.match(message) or OLD_MARK.match(message)
    return found is not None and OF_ANY.match(message, found.end()) is not None


def with_marks(block: bytes) -> bytes:
    """The same lines, where the old coordinator's have another mark, or none, with its own.

    Those of a fenced member (before 3.0) name no broker: it is taken from a line near by.
    """
    if b"\xc2" in block and _BLANK_OF_A_PAGE in block:
        block = block.replace(_BLANK_OF_A_PAGE, b" ")
    for escaped, plain in _ESCAPED if b"&" in block else ():
        block = block.replace(escaped, plain)
    if b'"' in block:  # found much faster than longer texts
        block = _with_marks_in_json(block)
    if _KEEPER not in block and _FENCES not in block:
        return block
    named = _OLD_BROKER.search(block)
    broker = named[1] if named else b"0"
    return _BESIDE.sub(
        lambda found: (
            b"[GroupCoordinator %b]: %b" % (found[1] or broker, b"" if found[1] else found[0])
        ),
        block,
    )


def _with_marks_in_json(block: bytes) -> bytes:
    if b'"MESSAGE"' in block:
        block = _NUMBERED.sub(_as_text, block)
    if b'"GroupCoordinator ' in block:
        block = b"\n".join(map(_with_component, block.split(b"\n")))
    if _MANAGED in block:
        block = _BARE.sub(
            lambda found: b'"[GroupCoordinator %b]: %b' % (found[2] or b"0", found[1]), block
        )
    return block


def _as_text(found: re.Match[bytes]) -> bytes:
    numbers = [int(each) for each in found[2].split(b",") if each.strip()]
    if not all(number < 256 for number in numbers):
        return found[0]
    return found[1] + json.dumps(bytes(numbers).decode("utf-8", "replace")).encode()


def _with_component(line: bytes) -> bytes:
    found = _COMPONENT.search(line)
    if found is None:
        return line
    mark = b"[%b]%b " % (found[1], b"" if b" id=" in found[1] else b":")
    return _UNMARKED.sub(lambda begins: begins[1] + mark, line, count=1)


__all__ = ["MARK", "is_known", "row_of", "with_marks"]
