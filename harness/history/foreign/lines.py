"""From a line of a user's log to its time and the coordinator's message in it.

Kafka's message begins at the coordinator's mark and ends with its logger. Without a logger it ends
with the field around it: a quoted value of JSON, CSV or key=value, or the text before a tag. What
else stands around it need not be known. Kafka's own stamp counts before a shipper's.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from harness.history.broker_log import CALL, every_text
from harness.history.coordinator_log import MARK
from harness.history.foreign.client_words import MARKED
from harness.history.foreign.log_stamps import Stamp, placed_in, stamp_at, stamps_in, time_in

_MARK: Final = MARK.encode()
# The head of most lines, read at once: Kafka's default, Strimzi's and our own.
_PLAIN: Final = re.compile(
    r"\[?(?P<y>\d{4})-(?P<mo>\d\d)-(?P<d>\d\d)[T ](?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
    r"[.,](?P<f>\d{1,9})(?P<zone>Z)?\]? +(?:TRACE|DEBUG|INFO|WARN|ERROR) +(?:[\w.$]+ )?"
    r"(?=\[GroupCoordinator )"
)
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_LOGGER: Final = (
    r" \((?:(?:kafka|org\.apache\.kafka|(?:o\.a\.)?k\.c)\.[\w.$]+|Group(?:Coordinator|Metadata)\w*)"
    r"(?::\d+)?\)"
)
# Behind the message: the logger, in Strimzi's pattern the thread as well, or a location.
_TAIL: Final = re.compile(_LOGGER + r"(?: \[[^\]]*\])?$")
_ANY_TAIL: Final = re.compile(_LOGGER)
# Where records stand in one line; in HTML, and where line ends were lost.
_BREAK: Final = re.compile(r"<br\s*/?>")
_RUNS_ON: Final = re.compile(rf"({_LOGGER}) +(?=\[?\d{{4}}-\d\d-\d\d)")
# Between a stamp and the message: level, logger, thread, labels and brackets, and no sentence.
_BETWEEN: Final = re.compile(r"[\]\s]*(?:[^\s]+\s+){0,10}?(?:[-:|>]\s*)?(?:\S*[=,;>\[])?$")
_LABELS: Final = re.compile(r'"[^"]*"|\{[^{}]*\}|<[^<>]*>')
_JSON: Final = re.compile(r'\{\s*"')
_OPENS: Final = re.compile(r"""(?:^|[:,;=>|(\[{\t ])\s*(\\*"+|')(?![\s,;:}])""")
_CSV_FIELD: Final = re.compile(r"(?<!:\d\d)([,;])(?:[\d:TZ.+-]+ )*(?:[A-Z]+ +)?$")
# The only stamp of a line is a container's: its line goes on without another.
_SHIPS: Final = re.compile(r"Z (?:stdout|stderr) [FP] ?$")
_QUOTES: Final = re.compile(r'(\\*)("+)')
_APOSTROPHE_ENDS: Final = re.compile(r"'(?=\s*(?:[,;})\]]|$))")
_MARKUP: Final = re.compile(r"</\w+>|<br\s*/?>|\]\]>|\t")
_ENTITY: Final = re.compile(r"&(?:\w{2,6}|#\d+|#x[0-9a-fA-F]+);")
_MARKDOWN: Final = re.compile(r"\\([\[\]_*`#().-])")
_CITED: Final = re.compile(r"^(?:> ?)+")
_HYPHEN: Final = re.compile(r"\S-$")
_DECODER: Final = json.JSONDecoder(strict=False)
_ODD: Final = ("&", "\x1b", "\t", "<", "\\]", "]]>")  # what Kafka seldom writes
_MEMBER: Final = re.compile(r'\s*"[^"]*"\s*:\s*"')
_FIELD: Final = re.compile(r"\s+|\w+=|<")
_DATE: Final = re.compile(rb"\[?\d{4}-\d\d-\d\d[T ]\d\d:")
# What begins no part of a line, though it has no time.
_NO_PART: Final = re.compile(
    r'\s*(?:$|--|```|</|\{\s*"|\}[,\]]*\s*$|\]\s*$|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)'
)
_HEAD: Final = 64  # characters in which a line that begins has its time
_SAMPLE: Final = 1_000  # lines that show whether all were cut
_FEW: Final = 3
_WITHIN: Final = 1_000  # characters before a message in which its stamp is looked for
_FARTHEST: Final = 200  # lines before and behind one that may belong to it
_DEEPEST: Final = 4  # layers of JSON in JSON
_CANDIDATES: Final = 16  # objects that may be around a text
_PIECES: Final = 12  # of a line that was wrapped
_MOST: Final = 0.6  # of the lines that go on are as long as the longest: they were cut there


class Message(NamedTuple):
    """A message of the coordinator, its own stamp, and the one of who shipped it."""

    message: str
    stamp: Stamp | None
    shipped: Stamp | None
    whole: bool  # something stands behind the message
    open: bool = False  # within quotes that do not end


def plain(line: str) -> Message | None:
    """The message of a line as Kafka's own configuration writes it; None for another."""
    found = _PLAIN.match(line)
    if found is None:
        return None
    for odd in _ODD:  # faster than any()
        if odd in line:
            return None
    stamp = stamp_at(found.groups()[:6], found["f"], found["zone"])
    return _line(line[found.end() :], stamp, None) if stamp is not None else None


def messages_in(
    text: str, shipped: Stamp | None = None, deepest: int = _DEEPEST
) -> Iterator[Message]:
    """The messages in a text; several where it has JSON documents or lines of its own."""
    if text.count("\n", 0, -1) and text.count(MARK) > 1:
        if pieces := _records_in(text):
            for each in pieces:
                yield from messages_in(each, shipped, deepest)
            return
        text = " ".join(text.splitlines())
    if (plainly := plain(text)) is not None and plainly.whole:
        yield plainly._replace(shipped=shipped)
        return
    text = _COLOURS.sub("", text) if "\x1b" in text else text
    begin, at = 0, text.find(MARK)
    while at >= 0:
        found = _object_around(text, begin, at) if deepest else None
        if found is None:
            if (line := _of_text(text[begin:], at - begin, shipped)) is not None:
                yield line
            return
        value, first, last = found
        before = next(stamps_in(text[begin:first][:_WITHIN]), None)
        begin = last
        for inner, time in _each_once([*_marked(value, shipped or before, _DEEPEST)]):
            for line in messages_in(inner, time, deepest - 1):
                yield line._replace(whole=True, open=False)
        at = text.find(MARK, begin)


def _records_in(text: str) -> list[str]:
    """Lines of a text that are records; none where only some have a time before the mark.

    What a client gives as a reason may have line feeds, and look like a record.
    """
    pieces = [each for each in text.splitlines() if MARK in each]
    return pieces if all(any(stamps_in(each.partition(MARK)[0])) for each in pieces) else []


def _object_around(text: str, begin: int, at: int) -> tuple[Any, int, int] | None:
    """The smallest JSON object with a time around a place in a text, where it begins and ends.

    The smallest where none has a time; None where there is none, or none whole.
    """
    smallest = None
    braces = [match.start() for match in _JSON.finditer(text, begin, at)]
    for brace in reversed(braces[-_CANDIDATES:]):
        try:
            value, end = _DECODER.raw_decode(text, brace)
        except (ValueError, RecursionError):
            continue
        if end > at:
            if time_in(value) is not None:
                return value, brace, end
            smallest = smallest or (value, brace, end)
    return smallest


def _marked(found: Any, time: Stamp | None, deepest: int) -> Iterator[tuple[str, Stamp | None]]:
    """The texts in a JSON value that have the coordinator's mark, with the time nearest to each."""
    if isinstance(found, str):
        if MARK in found:
            yield found, time
    elif isinstance(found, dict | list) and deepest:
        time = time_in(found) or time
        about = _about(found) if isinstance(found, dict) else ""
        for each in found.values() if isinstance(found, dict) else found:
            for text, at in _marked(each, time, deepest - (not isinstance(each, str))):
                yield text + about * (text is each and MARKED in text), at


def _each_once(texts: list[tuple[str, Stamp | None]]) -> Iterator[tuple[str, Stamp | None]]:
    """Without requests, and without what an object says again, or shortened and without a time."""
    messages = [text[text.find(MARK) :].strip().rstrip(".…") for text, _ in texts]
    for place, (text, time) in enumerate(texts):
        head = text[: text.find(MARK)]
        again = (text, time) in texts[:place]
        shortened = not any(stamps_in(head)) and any(
            each.startswith(messages[place]) and text != other and time == at
            for each, (other, at) in zip(messages, texts, strict=True)
        )
        if not (CALL in head or again or shortened):
            yield text, time


def calls_in(line: bytes) -> list[bytes]:
    """The requests in a line that is JSON; none in another."""
    text = line.decode("utf-8", "replace").strip()
    found: list[bytes] = []
    begin = 0
    while text[begin : begin + 1] in ("{", "["):
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return []
        found += [each.encode() for each in every_text(value) if CALL in each]
        begin = end + len(text[end:]) - len(text[end:].lstrip(" ,"))
    return found


def _about(found: dict[str, Any]) -> str:
    """Whom a message is about that has that beside it, as KafkaJS's and librdkafka's may have."""
    named = {name: found[name] for name in ("groupId", "memberId") if found.get(name)}
    if "#" in str(found.get("name")):
        named = {"name": found["name"]}
    return f" {json.dumps(named)}" if named else ""


def _of_text(text: str, at: int, shipped: Stamp | None) -> Message | None:
    """The message that begins at a place of a text, in which are no documents."""
    odd = any(odd in text for odd in _ODD)
    if odd and (markup := _MARKUP.search(text, at)):
        text = text[: markup.start()]
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
        at = text.find(MARK)
    if "\\]" in text:  # escaped for Markdown
        text = _MARKDOWN.sub(r"\1", text)
        at = text.find(MARK)
    head = text[max(0, at - _WITHIN) : at]
    opening = next(reversed([*_OPENS.finditer(head)]), None)
    if opening is None or _end_of_field(head, opening.end(), opening[1]) is not None:
        return _in_the_open(head, text[at:], shipped)
    end = _end_of_field(text, at, opening[1])
    within = head[opening.end() :]
    own, behind = next(reversed([*placed_in(within)]), (None, 0))
    if not _BETWEEN.match(_LABELS.sub("", within[behind:])):
        return None
    shipped = shipped or next(stamps_in(head[: opening.start()]), None)
    if own is None and shipped is None and end is not None:
        shipped = next(stamps_in(text[end : end + _WITHIN]), None)
    line = _line(_unescaped(text[at:end], opening[1]), own, shipped)
    return line._replace(whole=line.whole or end is not None, open=end is None and not line.whole)


def _end_of_field(text: str, at: int, quote: str) -> int | None:
    """Where a field ends that such a quote opened: with escapes before it, doubled, or both."""
    if quote == "'":
        apostrophe = _APOSTROPHE_ENDS.search(text, at)
        return apostrophe.start() if apostrophe else None
    escapes = quote.count("\\")
    width = len(quote) - escapes
    for run in _QUOTES.finditer(text, at):
        before, many = len(run[1]), len(run[2])
        if escaped := before > escapes if escapes else before % 2 == 1:
            before, many = 0, many - 1
        if many >= width and many % (2 * width):  # an even number of them is text
            last = 1 if width == 1 else many
            return run.end() - last - (0 if escaped or last < many else min(before, escapes))
    return None


def _unescaped(text: str, quote: str) -> str:
    if '"' in quote and "\\" not in quote:
        text = text.replace('""', '"')
    for _ in range((quote.count("\\").bit_length() + 1) if "\\" in text else 0):
        try:
            text = json.loads(f'"{text}"', strict=False)
        except ValueError:
            break
    return text


def _in_the_open(head: str, message: str, shipped: Stamp | None) -> Message | None:
    stamps = [*placed_in(head)]
    own, behind = stamps[-1] if stamps else (None, 0)
    if len(stamps) > 1:
        shipped = shipped or stamps[0][0]
    if len(stamps) == 1 and _SHIPS.search(head):
        own, shipped = None, own
    if not _BETWEEN.match(_LABELS.sub("", head[behind:])):
        return None
    line = _line(message, own, shipped)
    if (field := _CSV_FIELD.search(head)) and not line.whole:  # without quotes, so without commas
        return line._replace(message=message.partition(field[1])[0], whole=True)
    return line


def _line(message: str, own: Stamp | None, shipped: Stamp | None) -> Message:
    """Without what stands behind the message: the last logger, and all that follows it."""
    message = message.rstrip()
    tail = _TAIL.search(message, max(0, message.rfind(" (")))
    if tail is None:
        tail = next(reversed([*_ANY_TAIL.finditer(message)]), None)
    if tail:
        message = message[: tail.start()]
    return Message(message, own, shipped, tail is not None)


class Page:
    """Lines one below the other, of which some may belong to the one before."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines

    def messages(self, index: int) -> list[list[Message]]:
        """The messages in a line; of each the ways to read it, the likeliest first."""
        text = self._text(index)
        if text.count(MARK) > 1:
            text = self._parted(text)
        line = None if "\n" in text else plain(text)
        if line is not None and (line.whole or self._begins(index + 1)):
            return [[line]]
        found = list(messages_in(text))
        if len(found) != 1:
            return [[line] for line in found]
        if _MEMBER.match(text) and (around := self._around(index)) is not None:
            return [[around]]
        ways = self._ways(index, found[0])
        for place, way in enumerate(ways):
            if not (way.stamp or way.shipped):
                ways[place] = way._replace(shipped=self._above(index))
        return [ways]

    def _parted(self, text: str) -> str:
        """Records that stand in one line, a line each.

        What a client gives as a reason may look like another record, so that only a page, or a log
        of one line, is taken apart.
        """
        if text.lstrip().startswith("<"):
            return _BREAK.sub("\n", text)
        if sum(bool(line.strip()) for line in self._lines[:_FEW]) == 1:
            return _RUNS_ON.sub(r"\1\n", text)
        return text

    def _text(self, index: int) -> str:
        return self._lines[index].decode("utf-8", "replace").rstrip("\r").lstrip("\ufeff")

    def _begins(self, index: int) -> bool:
        """Whether a line belongs to no line before it."""
        if index >= len(self._lines) or _DATE.match(self._lines[index]):
            return True
        text = self._text(index)
        return bool(_NO_PART.match(text) or MARK in text or any(stamps_in(text[:_HEAD])))

    def _around(self, index: int) -> Message | None:
        """The message of a line that is one of a JSON document of many lines."""
        before, after = (
            b"\n".join([*lines, b""]).decode("utf-8", "replace")
            for lines in (
                self._lines[max(0, index - _FARTHEST) : index],
                self._lines[index : index + _FARTHEST],
            )
        )
        found = _object_around(before + after, 0, len(before) + after.find(MARK))
        if found is None:
            return None
        value, begin, _ = found
        inside = list(_marked(value, None, _DEEPEST))
        earlier = sum(MARK in line for line in before[begin:].splitlines())
        return next(messages_in(*inside[earlier]), None) if earlier < len(inside) else None

    def _ways(self, index: int, line: Message) -> list[Message]:
        """A message as it stands, and with the lines behind it where it was wrapped."""
        if line.whole or self._begins(index + 1):
            return [line]
        cut_at = self._cut_at
        joined = [self._joined(index, hard=hard) for hard in (cut_at > 0, cut_at == 0)]
        joined.sort(key=lambda each: not each.whole)
        if joined[0].whole or len(self._text(index)) == cut_at:
            return [*joined, line]
        return [line, *joined]

    def _joined(self, index: int, *, hard: bool) -> Message:
        """A message with as many lines behind it as it needs; `hard` if cut anywhere in a word."""
        text = last = self._text(index)
        at = text.find(MARK)
        for number in range(index + 1, index + _PIECES):
            if self._begins(number) or _ANY_TAIL.search(text, at):
                break
            piece = self._text(number)
            if hard:
                gap = "" if len(last) >= self._cut_at else " "
            else:
                gap = "" if _HYPHEN.search(text) else " "
                text, piece = text.rstrip(), piece.lstrip()
            last = self._text(number)
            text += gap + _CITED.sub("", piece)
        return next(messages_in(text))

    @cached_property
    def _cut_at(self) -> int:
        """At how many characters the lines were cut, wherever that was; 0 if they were not."""
        texts = [self._text(index) for index in range(min(_SAMPLE, len(self._lines)))]
        lengths = [
            len(text) for index, text in enumerate(texts) if text and not self._begins(index + 1)
        ]
        longest = max(lengths, default=0)
        same = sum(longest - 1 <= length for length in lengths)  # a blank at the end may be gone
        return longest if len(lengths) >= _FEW and same >= _MOST * len(lengths) else 0

    def _above(self, index: int) -> Stamp | None:
        """The time in the lines above one that is a field of a record of many lines."""
        text = self._text(index)
        if not _FIELD.match(text):
            return None
        depth = _indented(text)
        for number in range(index - 1, max(-1, index - _FARTHEST), -1):
            text = self._text(number)
            if not text or MARK in text:
                return None
            stamp = next(stamps_in(text[:_WITHIN]), None)
            if stamp is not None and stamp.dated:
                return stamp
            if _indented(text) < depth:
                return None
        return None


def _indented(text: str) -> int:
    return len(text) - len(text.lstrip())
