"""Rebalances of every group, as the coordinators log them while they happen."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from harness.base.stamps import parse_stamp
from harness.base.words import plural
from harness.history.foreign.wordings import MARK, row_of

_MARK: Final = MARK.encode()
_LONGEST: Final = 160  # characters of a reason that are shown
_STAMP: Final = 26  # bytes of a line's time
_CAUSE_US: Final = 2_000_000  # so long before an epoch of KIP-848 is what it was begun for
# What the coordinator makes member ids of is shown; what it adds to them tells nobody anything.
_UUID: Final = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
# What is said of nearly every member, and says nothing.
_NOTHING: Final = re.compile(
    r" with group instance id (?:null|None)|"
    r"; client reason: (?:not provided|need to re-join with the given member-id.*)"
)


@dataclass(frozen=True)
class Rebalance:
    """The last rebalance of a group: when it began, in microseconds since the epoch, and why.

    `generation` is the one it led to, null while it goes on; `took_ms` is how long members had to
    wait for it. A group of KIP-848 has an epoch, and nobody waits.
    """

    group: str
    began_us: int
    why: str
    generation: int | None = None
    members: int | None = None
    took_ms: float | None = None
    epoch: bool = False

    def __str__(self) -> str:
        if self.epoch:
            return f"{self.group}: epoch {self.generation}, {self.why}"
        if self.generation is None:
            return f"{self.group}: rebalance, {self.why}"
        members = "" if self.members is None else f" of {plural(self.members, 'member')}"
        took = f" after {self.took_ms / 1_000:.1f} s" if self.took_ms is not None else ""
        return f"{self.group}: generation {self.generation}{members}{took}"


@dataclass
class Rebalances:
    logs: list[Path]
    last: dict[str, Rebalance] = field(default_factory=dict)
    _read: dict[Path, int] = field(default_factory=dict)
    _causes: dict[str, tuple[int, str]] = field(default_factory=dict)

    def follow(self) -> list[Rebalance]:
        """Read every log on; what has begun or ended meanwhile, in the order of time."""
        lines = [line for log in self.logs for line in self._lines(log)]
        lines.sort(key=lambda line: line[:_STAMP])  # those of one broker stay in their order
        return [told for line in lines for told in self._take(line)]

    def _lines(self, log: Path) -> list[bytes]:
        try:
            with log.open("rb") as file:
                file.seek(self._read.get(log, 0))
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data.rfind(b"\n") + 1
        self._read[log] = self._read.get(log, 0) + whole
        return [line for line in data[:whole].split(b"\n") if _MARK in line]

    def _take(self, line: bytes) -> Iterator[Rebalance]:
        text = line.decode("utf-8", "replace")
        try:
            at, row = parse_stamp(text), row_of(text[text.index(MARK) :])
        except ValueError:  # cut off by the end of its broker
            return
        if row is None or not row.get("group"):
            return
        if (told := self._of(row["group"], at, row)) is not None:
            self.last[told.group] = told
            yield told

    def _of(self, group: str, at: int, row: dict[str, Any]) -> Rebalance | None:
        last = self.last.get(group)
        match row["event"]:
            case "rebalance_started":
                return Rebalance(group, at, _short(row["reason"]))
            case "assignment_received" if last is not None and last.generation is None:
                took_ms = (at - last.began_us) / 1_000
                return replace(
                    last, generation=row["generation"], members=row["members"], took_ms=took_ms
                )
            case "epoch_bumped":
                since, cause = self._causes.pop(group, (0, ""))
                fresh = at - since <= _CAUSE_US
                why = cause if fresh and cause else row.get("reason") or "what it reads changed"
                return Rebalance(group, at, _short(why), row["generation"], epoch=True)
            case _ if row.get("reason"):
                who, reason = row.get("member_id") or "", row["reason"]
                told = reason if who in reason else f"Member {who} {reason.removeprefix('Member ')}"
                self._causes[group] = (at, told)
        return None


def _short(reason: str) -> str:
    text = _NOTHING.sub("", _UUID.sub("", reason)).removesuffix(".")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
