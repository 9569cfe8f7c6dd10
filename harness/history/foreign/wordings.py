"""From a message of a group coordinator to what it says, in the words of Kafka 2.0 to 4.4.

`coordinator_log` has the lines that a history is made of, as the versions that runs are played with
write them. Here are those that other versions write otherwise, and those that only explain: who was
fenced, what a member says why it leaves, from which host. tests/data/coordinator_words.txt has
what each version can log.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from harness.history.broker_log import Row, wordings
from harness.history.coordinator_log import (
    COLUMNS,
    NEW_MARK,
    OLD_MARK,
    PARTS,
    coordinator_row,
    patterns,
)
from harness.history.other_lines import OF_ANY

_NUMBERS: Final = {"generation": r"-?\d+", "members": r"-?\d+"}
# The same, and ids and groups in which there are blanks and brackets.
_WITH_BLANKS: Final = COLUMNS | dict.fromkeys(("group", "member_id", "instance_id"), ".+?")
# Groups that share, and those of Kafka Streams (KIP-1071), have epochs as well.
_PARTS: Final = PARTS | {
    "in_group": r"\[Group(?:Id)? {group}\](?:\[MemberId (?P<whose>.*?)\])? ",
    "kind": r"\w+",
    "a_member": r"(?:Streams )?" + PARTS["a_member"],
    "explicit": r"through explicit `LeaveGroup`(?: request)?",
    "some": r"(?:Some\()?{instance_id}\)?",
}

# Of both coordinators: `other_id` is the member that has the instance id now.
_BOTH: Final = r"""
instance_fenced: Request memberId={member_id} for static member with groupInstanceId={some} is
    fenced by (?:existing|current) memberId={other_id} during operation {reason}$
# at DEBUG
never_synced: Group {group} removed members who haven't sent their sync requests?: {reason}$
broker_started: Startup complete\.$
broker_stopping: Shutting down\.$
loaded: Loaded (?:share|streams) group {group} with {members} members
"""

# Of the coordinator of 4.x, which 3.7 to 3.9 have for groups of KIP-848.
_NEW: Final = r"""
instance_fenced: {in_group}(?P<reason>{a_member} is fenced by existing member {other_id})\.$
# Classic members of a group of KIP-848.
dropped: {in_group}{a_member} (?P<reason>fenced from the group because (?:the classic member failed
    to join within the rebalance timeout|the member failed to sync within timeout))
fenced: {in_group}{a_member} (?P<reason>fenced from the group because {})\.$
# What changed before an epoch was bumped. Up to 4.0 the epoch's own line does not say it.
metadata_computed: {in_group}Computed new (?:subscription metadata|metadata hash):
subscribed: {in_group}(?P<reason>{a_member} updated its (?:subscribed (?:topics|regex)|member
    meta?data) to.*)$
epoch_bumped: {in_group}Bumped streams group epoch to {generation}(?: with (?P<reason>metadata hash
    -?\d+))?
target_computed: {in_group}Computed a new target assignment for epoch {generation} with '{reason}'
shutdown_asked: {in_group}Shutdown requested for the streams application\.$
"""

# Of the coordinator of 2.x and 3.x. Only lines of a member that leaves have its host.
_OLD: Final = r"""
rebalance_started: Preparing to rebalance group {group} with old generation {generation}
    \(__consumer_offsets-\d+\)$
stabilized: Stabilized group {group} generation {generation} \(__consumer_offsets-\d+\)$
assignment_received: Assignment received from leader for group {group} for generation
    {generation}(?:$|\.)
left: Member MemberMetadata\(memberId={member_id}, groupInstanceId=(?:None|{some}),
    clientId={client_id}, clientHost=/?{host}, sessionTimeoutMs={}\) has left group {group}
    {explicit}(?:; client reason: {reason})?$
left: Member {member_id} has left group {group} {explicit}(?:; client reason: .*)?$
left: Member\[group\.instance\.id (?:None|{some}), member\.id {member_id}\] in group {group} has
    left, removing it from the group
left: Member {member_id} in group {group} has left, removing it from the group
member_added: Adding new static member {some} to group {group} with member id {member_id}\.$
replaced: Static member {some}(?: of group {group})? with unknown member id rejoins, assigning new
    member id {other_id}, while old member (?:id )?{member_id} will be removed
instance_fenced: given member\.id {member_id} is identified as a known static member {some}, ?but
    not matching the expected member\.id {other_id}(?: during (?P<reason>.*?), will .*)?$
stragglers_removed: Group {group} remove dynamic members who haven't joined: {reason}$
dead: Group {group} transitioned to Dead in generation {generation}
offsets_expired: Removed {members} expired offsets in
"""
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
_NOT_LITERAL: Final = re.compile(r"\\.|\[[^\]]*\]|\.[*+]\??|.\?|\^|\$")
_PART: Final = re.compile(r"\(\?(?::|P<\w+>)([^()]*)\)(\?)?")
_LITERAL: Final = re.compile(r"[^\0()|{}+*?]+")
_BEGINNING: Final = re.compile(r"\[?\w+")


class _Wordings:
    """Patterns by the word that a message begins with, each with words that it has to have too.

    Of ninety, only a few are tried.
    """

    def __init__(self, *worded: tuple[str, str]) -> None:
        self._by_word: dict[str, list[tuple[str, tuple[str, re.Pattern[str]]]]] = {}
        for event, text in worded:
            word = _word_of(text.replace("\\", ""))
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
    groups = ("(?", ")?")  # these marks stay, for `_PART`
    text = _NOT_LITERAL.sub(lambda found: found[0] if found[0] in groups else "\0", pattern)
    count = 1
    while count:
        text, count = _PART.subn(lambda part: "\0" if part[2] or "|" in part[1] else part[1], text)
    words: list[str] = _LITERAL.findall(text)
    return max(words, key=len)


def _read(text: str) -> Iterator[tuple[str, str]]:
    return wordings(text, _NUMBERS, _PARTS)


def _known(*, old: bool) -> Iterator[tuple[str, str]]:
    for columns in (COLUMNS, _WITH_BLANKS):
        yield from ((event, each.pattern) for event, each in patterns(columns, _PARTS, old=old))


_COORDINATORS: Final = (
    (NEW_MARK, _Wordings(*_known(old=False), *_read(_BOTH), *_read(_NEW))),
    (OLD_MARK, _Wordings(*_read(_OLD), *_read(_BOTH), *_known(old=True))),
)


def row_of(message: str) -> Row | None:
    """What a message that begins with the coordinator's mark says; None where it says nothing.

    The columns are those of `coordinator_events` and, where the line has them, `client_reason`,
    `client_id`, `host` and `other_id`. Lines about a broker have no group.
    """
    for mark, known in _COORDINATORS:
        if found := mark.match(message):
            text = message[found.end() :]
            row = coordinator_row(text, known.of(text))
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
