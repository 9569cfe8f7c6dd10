"""The reasons that coordinators and clients log, what each means, and what to look at next."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Cause:
    """One reason why a group rebalances, or a member is put out; `causes.txt` says what each is."""

    name: str
    sort: str
    experiment: str
    title: str
    sentence: str
    next: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """What is known by its members' client.ids, and has its own things to look at."""

    name: str
    client_ids: str  # a pattern
    next: tuple[str, ...]
    again: str = ""  # the cause if a member joins again without a reason


def _read(text: str) -> dict[str, Cause]:
    found: dict[str, Cause] = {}
    for part in re.sub(r"\n {4}", " ", text).strip().split("\n\n")[1:]:
        head, sentence, *next_ = (line.strip().removeprefix("- ") for line in part.splitlines())
        name, sort, experiment, title = (field.strip() for field in head.split("|"))
        if next_[-1].startswith("as "):
            next_ += found[next_.pop().removeprefix("as ")].next
        found[name] = Cause(name, sort, experiment, title, sentence, tuple(next_))
    return found


_READ: Final = _read(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
CAUSES: Final = {name: each for name, each in _READ.items() if each.sort != "program"}
PROGRAMS: Final = [
    Program(each.title, each.sentence, each.next, each.experiment)
    for each in _READ.values()
    if each.sort == "program"
]
