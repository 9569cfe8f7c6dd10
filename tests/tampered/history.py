"""The history of a kept run as rows that can be changed, and its verdicts."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.check.judge import Outcome, examine
from harness.history import store
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.tables.engines.contract import Engine
from harness.tables.many_runs import Many, One
from harness.tables.source import Run, run_of
from tests.recorded.keep import RUNS

Row = dict[str, Any]
# All columns that hold a moment, by history file.
MOMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(column.name for column in schema if pa.types.is_timestamp(column.type))
    for name, schema in HISTORY.items()
}


class Seen(dict[str, Any]):
    """A row, or a part of one, whose columns can be named as attributes too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class NotThere(Exception):
    """The run has nothing that this change could be done to; the message says what it lacks."""


def json_of(text: str) -> Any:
    """What a text says in JSON."""
    return json.loads(text, object_hook=Seen)


def as_json(value: Mapping[str, Any] | None = None, **changes: object) -> str:
    """A value with these changes as JSON."""
    return json.dumps({**(value or {}), **changes})


def ms(number: float) -> timedelta:
    """So many milliseconds."""
    return timedelta(milliseconds=number)


@dataclass
class Kept:
    """A kept run in memory: rows of its history files, and its manifest."""

    name: str
    manifest: dict[str, Any]
    files: dict[str, list[Row]]
    chance: Random = field(default_factory=partial(Random, 0))  # what is drawn

    @cached_property
    def run(self) -> Run:
        return run_of(self.manifest)

    @property
    def client(self) -> str:
        return self.run.client

    def table(self, file: str) -> pa.Table:
        """The rows of a file."""
        rows = self[file]
        if rows == _read(self.name)[file]:
            return _tables(self.name)[file]
        return pa.Table.from_pylist(rows, schema=HISTORY[file])

    def __getitem__(self, file: str) -> list[Row]:
        return self.files[file]

    def file_of(self, row: Row) -> list[Row]:
        """The rows of the file whose columns this row has."""
        return next(self[name] for name in HISTORY if HISTORY[name].names == list(row))

    # What it was about.
    def own(self, *apis: str, error: int | None = 0) -> list[Row]:
        """Requests of the group's members by these calls, in order; those with this answer."""
        group = self.run.settings["group"]
        found = [
            row
            for row in self["requests"]
            if row["group"] == group
            and row["api"] in apis
            and row["client_id"] in self.members()
            and (error is None or row["error_code"] == error)
        ]
        return sorted(found, key=lambda row: row["arrived_at"])

    def lines(self, *events: str) -> list[Row]:
        """Lines of the coordinator's log about the group, in order."""
        group = self.run.settings["group"]
        found = [
            row
            for row in self["coordinator_events"]
            if row["group"] == group and row["event"] in events
        ]
        return sorted(found, key=lambda row: row["at"])

    def notes(self, *events: str) -> list[Row]:
        """What members recorded, in order."""
        found = [row for row in self["client_events"] if row["event"] in events]
        return sorted(found, key=lambda row: row["event_at"])

    def members(self) -> list[str]:
        return [row["member"] for row in self["members"] if row["role"] == "consumer"]

    def quiet(self, at_least_ms: float = 900) -> datetime:
        """The middle of the longest stretch of steady time in which nothing went on in the group.

        Raises NotThere where none is that long.
        """
        events = [row["at"] for row in self["coordinator_events"]]
        events += [row["event_at"] for row in self["client_events"] if row["event"] not in BEATS]
        events += [row["arrived_at"] for row in self.own(*CALLS, error=None)]
        for fault in self["faults"]:
            events.append(fault["at"])
        first, last = self.settled(), self.run.settings["stopped_at"]
        assert isinstance(last, datetime)
        marks = sorted(each for each in (*events, first, last) if first <= each <= last)
        gaps = [(b - a, a) for a, b in pairwise(marks)]
        longest: timedelta
        start: datetime
        longest, start = max(gaps)
        if longest < ms(at_least_ms):
            raise NotThere("no quiet time")
        return start + longest / 2

    def settled(self) -> datetime:
        """When members first held partitions."""
        given = [row["event_at"] for row in self.notes("assigned") if row["partitions"]]
        if not given:
            raise NotThere("no member that was given a partition")
        first: datetime = given[0]
        return first + ms(1_500)

    def faulty(self, moment: datetime, around_ms: float = 15_000) -> bool:
        """Whether a fault was done near a moment."""
        return any(abs(row["at"] - moment) < ms(around_ms) for row in self["faults"])


# Calls by which a member keeps its place, and what clients note of their own heartbeats.
CALLS: Final = ("JOIN_GROUP", "SYNC_GROUP", "LEAVE_GROUP", "CONSUMER_GROUP_HEARTBEAT")
BEATS: Final = ("heartbeat_sent", "fetched", "coordinator_asked", "coordinator_found")


def kept(name: str) -> Kept:
    """A copy of a kept run that may be changed."""
    copied: Kept = pickle.loads(_pickled(name))
    return copied


@cache
def _pickled(name: str) -> bytes:
    """A kept run, pickled: to read one takes ten times as long as to unpickle it."""
    return pickle.dumps(_read(name))


@cache
def _read(name: str) -> Kept:
    files = {file: _seen(rows.to_pylist()) for file, rows in _tables(name).items()}
    manifest = json.loads((RUNS / name / "manifest.json").read_text())
    return Kept(name, manifest, files)


@cache
def _tables(name: str) -> dict[str, pa.Table]:
    """The history of a kept run; a file that it lacks has no rows."""
    folder = RUNS / name / "history"
    return {
        file: store.as_current(pq.read_table(folder / f"{file}.parquet"), schema)
        if (folder / f"{file}.parquet").exists()
        else schema.empty_table()
        for file, schema in HISTORY.items()
    }


def _seen(value: Any) -> Any:
    if isinstance(value, dict):
        return Seen({name: _seen(each) for name, each in value.items()})
    return [_seen(each) for each in value] if isinstance(value, list) else value


def rules_of(run: Run) -> set[str]:
    """Every rule that speaks of a run's client and protocol."""
    return {rule.id for rule in RULES.values() if rule.speaks_of(run.client, run.protocol)}


def judged(runs: Sequence[tuple[Kept, Iterable[str]]], engine: Engine) -> list[Outcome]:
    """The rows that each of these rules gives for its run, declared or not."""
    many = Many(engine, [run.run for run, _ in runs], lambda file, n: runs[n][0].table(file))
    with closing(many):
        return [
            examine(One(many, number), sorted(rules_of(run.run).intersection(rules)))
            for number, (run, rules) in enumerate(runs)
        ]


def accusations(outcome: Outcome) -> dict[str, set[str]]:
    """What violates each rule: subject and reason."""
    return {
        rule: {f"{row['subject']}: {row['why']}" for row in rows if row["ok"] is False}
        for rule, rows in outcome.rows.items()
        if any(row["ok"] is False for row in rows)
    }


def accused_since(before: Outcome, after: Outcome) -> dict[str, set[str]]:
    """What rules accuse that they did not before."""
    then = accusations(before)
    new = {rule: found - then.get(rule, set()) for rule, found in accusations(after).items()}
    return {rule: found for rule, found in new.items() if found}


def withheld(outcome: Outcome) -> dict[str, int]:
    """How many rows of each rule could not be judged; -1 for a rule that has none at all."""
    found = {rule: sum(row["ok"] is None for row in rows) for rule, rows in outcome.rows.items()}
    found |= {rule: -1 for rule, rows in outcome.rows.items() if not rows}
    return {rule: count for rule, count in found.items() if count} | dict.fromkeys(
        outcome.unknown, -1
    )


def withheld_since(before: Outcome, after: Outcome) -> dict[str, int]:
    """The rules of which another number of rows could not be judged before, with that of now."""
    then, now = withheld(before), withheld(after)
    return {
        rule: now.get(rule, 0)
        for rule in then.keys() | now.keys()
        if now.get(rule, 0) != then.get(rule, 0)
    }


Edit = Callable[[Kept], None]


@dataclass(frozen=True)
class Change:
    """A change of a history.

    `notices` are the rules of which one at least has to accuse more than it did before; none of a
    neutral change, which no rule may notice. With `or_withholds` a rule that judges fewer rows
    than before will do. `runs` are beginnings of names of kept runs.
    """

    name: str
    edit: Edit
    notices: tuple[str, ...]
    runs: tuple[str, ...]
    or_withholds: bool = False


def names_of(beginnings: Iterable[str]) -> list[str]:
    """Names of kept runs that begin so; all of them for "*"."""
    starts = tuple(beginnings)
    names = sorted(path.name for path in Path(RUNS).iterdir())
    return [name for name in names if name.startswith(starts) or "*" in starts]


# When a request came, when its answer was ready, and when that was on the wire.
TIMES: Final = ("arrived_at", "processed_at", "answered_at")
