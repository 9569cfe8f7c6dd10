"""The lines of a broker's log, and what of them cannot be read."""

import binascii
import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from harness.base.stamps import parse_stamp

Row = dict[str, Any]
Found = TypeVar("Found")
# What damage makes of a line's JSON: another shape, another type, or no assignment any more.
UNREADABLE: Final = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    binascii.Error,
)
# In each line that a coordinator writes.
MARK: Final = "[GroupCoordinator "
CALL: Final = "Completed request:"  # before each request, in a log of requests
_PLACE: Final = re.compile(r"\{([a-z_]*)\}")
_ROTATED: Final = re.compile(r"\.(\d+)")
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} ")


@dataclass
class Reading:
    """What reading one log has come to: how many lines, from when to when, how many unread.

    `example` says where the first unread line is, and why it cannot be read.
    """

    lines: int | None = None
    unread: int = 0
    first_at: int | None = None
    last_at: int | None = None
    example: str | None = None
    said: list[str] = field(default_factory=list, repr=False)  # texts of clients that have MARK

    def at(self, line: str) -> int | None:
        """The stamp of a line, which is counted; None where it has none, as a line that goes on."""
        self.lines = (self.lines or 0) + 1
        try:
            at = parse_stamp(line)
        except ValueError:
            return None
        self.first_at, self.last_at = self.first_at or at, at
        return at

    def missed(self, where: str, why: Exception | str) -> None:
        self.unread += 1
        message = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
        self.example = self.example or f"{where} ({message[:120]})"

    def tried(self, where: str, read: Callable[[], Iterable[Found]]) -> list[Found]:
        """What is read of a line; nothing, and that is counted, where it cannot be read."""
        try:
            return list(read())
        except UNREADABLE as error:
            self.missed(where, error)
            return []


def texts_in(call: Any) -> Iterator[str]:
    """The texts in a request that look like a coordinator's line: what a client calls itself or its
    group, or why it leaves. The coordinator repeats them, with their line feeds.
    """
    return (text for text in every_text(call) if MARK in text)


def every_text(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from every_text(each)


def repeats(line: str, said: Iterable[str]) -> bool:
    """Whether a line begins, up to the mark, within what a client has said."""
    head, mark, _ = line.partition(MARK)
    return any(head + mark in text for text in said)


def files_of(log: Path) -> list[Path]:
    """The files of one log that are there, the oldest first: it is rotated once it is large."""
    beside = log.parent.glob(f"{glob.escape(log.name)}.*")
    found = (_ROTATED.fullmatch(path.name.removeprefix(log.name)) for path in beside)
    numbers = sorted(int(match[1]) for match in found if match)
    rotated = [log.with_name(f"{log.name}.{number}") for number in numbers]
    return [*rotated, log] if log.exists() else rotated


def lines_of(log: Path) -> Iterator[tuple[int, str]]:
    """Each line and its number, from 1; none of a log that is not there."""
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        yield from enumerate(lines, start=1)


def parts_of(line: str) -> list[str]:
    """What stands in one line, cut before each stamp; one piece, but where a log was cut off.

    A broker that is killed in the middle of a line and started again goes on behind its half.
    """
    begins = sorted({0, *(match.start() for match in _STAMP.finditer(line))})
    return [line[begin:end] for begin, end in zip(begins, [*begins[1:], None], strict=True)]


def wordings(
    text: str, columns: Mapping[str, str], parts: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """Events and patterns from lines `event: pattern`; one that is indented goes on with the last.

    {name} is a group of that name, for what `columns` has of it or else for as little as fits; {}
    is anything. Names of `parts` stand for these. Lines that begin with # say something of others.
    """

    def expanded(place: re.Match[str]) -> str:
        name = place[1]
        if parts and name in parts:
            return _PLACE.sub(expanded, parts[name])
        return f"(?P<{name}>{columns.get(name, '.*?')})" if name else ".*?"

    for line in re.sub(r"\n +", " ", text).strip().splitlines():
        if not line.startswith("#"):
            event, _, pattern = line.partition(": ")
            yield event, _PLACE.sub(expanded, pattern)
