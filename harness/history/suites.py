"""The record of a suite: runs played one after the other, and what became of each.

`suite.json` in the suite's folder is written after every run, so that whatever ends a suite leaves
what there is. The runs themselves are in folders of their own, as always.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from harness.base.errors import Exit, NoData
from harness.base.whole import whole

FILE_NAME: Final = "suite.json"
SCHEMA_VERSION: Final = 1
AGAIN: Final = " (again)"  # ends the label of a run that is played in the place of a spoilt one
UNJUDGED: Final = "it could not be judged"  # begins the reason of a run that was whole, but failed


class State(StrEnum):
    PLANNED = "not played"
    AS_EXPECTED = "as expected"
    DIFFERS = "differs"
    BUSY = "not judged in full"  # nothing differs but what was withheld because of this machine
    VOID = "void"  # spoilt from outside, or it could not start
    FAILED = "failed"  # the harness failed, in the run or in judging it
    INTERRUPTED = "interrupted"
    SPOILT = "spoilt"  # this machine delayed a judged timing, and the run was played again


_CODES: Final = {
    State.AS_EXPECTED: Exit.AS_EXPECTED,
    State.DIFFERS: Exit.DIFFERS,
    State.BUSY: Exit.BUSY,
    State.VOID: Exit.FAILED,
    State.FAILED: Exit.FAILED,
    State.INTERRUPTED: Exit.INTERRUPTED,
}


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs; a busy machine is less than a verdict that differs."""
    return max(codes, key=lambda code: 0.5 if code == Exit.BUSY else code, default=Exit.NO_DATA)


@dataclass
class Entry:
    """One run of a suite. `folder` is its run folder, from the suite's; null if it has none."""

    label: str
    experiment: str
    claim: str
    client: str
    protocol: str
    kafka: str
    estimate_s: float
    rules: list[dict[str, str]] = field(default_factory=list)  # id and verdict expected
    adds: list[str] = field(default_factory=list)  # rules that no run before it shows so
    state: State = State.PLANNED
    reason: str = ""  # why it is void, failed or interrupted
    folder: str | None = None
    seed: int | None = None
    took_s: float = 0.0
    settings: dict[str, str] = field(default_factory=dict)  # of a sweep: what was swept, by name

    @property
    def judged(self) -> bool:
        return self.state in (State.AS_EXPECTED, State.DIFFERS, State.BUSY)


@dataclass
class Suite:
    """A suite, as its record has it. `kind` is nightly, repeat, matrix or sweep."""

    path: Path
    kind: str
    started_at: str
    entries: list[Entry]
    ended_at: str | None = None
    interrupted: bool = False
    uncovered: list[str] = field(default_factory=list)  # "R03 java/eager", by no experiment
    elsewhere: list[str] = field(default_factory=list)  # likewise, only by what it leaves out
    asked: dict[str, Any] = field(default_factory=dict)  # for which set: options of the command
    notes: list[str] = field(default_factory=list)  # what else a reader must know

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def took_s(self) -> float:
        """How long it took; as long as it goes on, its runs."""
        if self.ended_at is None:
            return sum(entry.took_s for entry in self.entries)
        began, ended = map(datetime.fromisoformat, (self.started_at, self.ended_at))
        return (ended - began).total_seconds()

    @property
    def exit_code(self) -> Exit:
        """The worst of its runs; of one that was interrupted, that it was.

        One that was killed could not say so: without all its runs it is not as expected.
        """
        if self.interrupted or any(entry.state is State.INTERRUPTED for entry in self.entries):
            return Exit.INTERRUPTED
        code = Exit(worst(_CODES[each.state] for each in self.entries if each.state in _CODES))
        unplayed = code is Exit.AS_EXPECTED and self.count(State.PLANNED)
        return Exit.INTERRUPTED if unplayed else code

    @property
    def played(self) -> list[Entry]:
        """The runs that were begun."""
        return [entry for entry in self.entries if entry.state is not State.PLANNED]

    def count(self, *states: State) -> int:
        return sum(entry.state in states for entry in self.entries)

    def run_dir(self, entry: Entry) -> Path | None:
        """The folder of a run; null if it has none."""
        return None if entry.folder is None else (self.path / entry.folder).resolve()

    def save(self) -> None:
        """Write the record, whole or not at all."""
        content = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        del content["path"]
        with whole(self.path / FILE_NAME) as half:
            half.write_text(json.dumps(content, indent=2) + "\n")


def is_suite(folder: Path) -> bool:
    return (folder / FILE_NAME).is_file()


def load_suite(folder: Path) -> Suite:
    """The suite in this folder.

    Raises NoData where there is none, or none that this version reads.
    """
    folder = folder.resolve()  # `latest` is a name of many
    path = folder / FILE_NAME
    try:
        content = json.loads(path.read_text())
        if content.pop("schema_version") != SCHEMA_VERSION:
            raise NoData(f"{path} is of another schema than {SCHEMA_VERSION}: play the suite again")
        entries = [
            Entry(**{**entry, "state": State(entry["state"])}) for entry in content.pop("entries")
        ]
        return Suite(path=folder, entries=entries, **content)
    except FileNotFoundError:
        raise NoData(f"{folder} is not the folder of a suite: it has no {FILE_NAME}") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NoData(f"{path} cannot be read ({error}): play the suite again") from error
