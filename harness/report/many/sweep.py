"""What the runs of a sweep show, as numbers: for each experiment and point of the grid.

A run that shows nothing is counted and named, and each point says of how many runs it is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.experiment import protocol_said
from harness.history.suites import Entry, Suite
from harness.report.load import JudgedRun, Row
from harness.report.many.numbers import Spread
from harness.report.many.suite_rows import read_run
from harness.report.parts import stops
from harness.report.parts.evictions import false_evictions
from harness.report.parts.record_counts import records
from harness.rules import RULES

SCHEMA_VERSION: Final = 1
_OF_GROUP: Final = ("client", "protocol", "members")
_JOIN_COST: Final = next(id_ for id_, rule in RULES.items() if rule.headline == "join cost")


@dataclass(frozen=True)
class Measure:
    """A number of each run, of which less is better. `least` is a difference worth a word."""

    name: str  # in sweep.json
    title: str
    more: str = ""  # what a rise is called
    less: str = ""
    least: float = 0


STANDSTILL: Final = Measure(
    "standstill_ms", "longest standstill", "a longer standstill", "a shorter standstill", 100
)
EVICTED: Final = Measure(
    "false_evictions", "false evictions", "false evictions", "fewer false evictions", 1
)
AGAIN: Final = Measure("came_twice", "redelivered", "repeats", "fewer repeats", 1)
LOST: Final = Measure("lost", "lost", "lost records", "fewer lost records", 1)
MEASURES: Final = (STANDSTILL, EVICTED, AGAIN, LOST)
# What else is shown where clients, protocols or sizes of the group are compared. The join cost is
# from when the coordinator noticed until the last member had joined.
STOPPED: Final = Measure("partitions_stopped", "partitions stopped")
IN_ALL: Final = Measure("standstills_ms", "standstills in all")
GENERATIONS: Final = Measure("generations", "generations or epochs")
JOIN: Final = Measure("join_intervals", "join, in heartbeat intervals")
OF_GROUP: Final = (STOPPED, IN_ALL, GENERATIONS, JOIN)


@dataclass(frozen=True)
class SweptSetting:
    """One setting that was swept, with its values in order."""

    name: str
    values: tuple[str, ...]

    @property
    def numbers(self) -> bool:
        """Whether its values are numbers, from the smallest to the largest."""
        return all(value.replace(".", "", 1).isdecimal() for value in self.values)

    def value(self, spot: "Spot") -> str:
        return value_text(spot.settings[self.name])


def value_text(value: str) -> str:
    """A value of a setting as readers want it: 45,000."""
    return f"{int(value):,}" if value.isdecimal() else protocol_said(value)


@dataclass(frozen=True)
class Spot:
    """One experiment at one point of the grid. `number` is that of the point, from 1.

    `runs` are as `sweep.json` has them. One without `measured` shows nothing, and its `reason` says
    why; otherwise that is by the names of the measures, null for what was not recorded.
    """

    experiment: str
    number: int
    settings: Mapping[str, str]
    runs: Sequence[Row]

    @property
    def shown(self) -> list[Row]:
        return [run for run in self.runs if run["measured"] is not None]

    def of(self, measure: Measure) -> Spread:
        """What was measured in its runs, in their order."""
        found = (run["measured"][measure.name] for run in self.shown)
        return Spread(measure.name, per_run=[[value] for value in found if value is not None])

    @property
    def longest(self) -> Row | None:
        found = [run for run in self.shown if run["measured"][STANDSTILL.name] is not None]
        return max(found, key=lambda run: run["measured"][STANDSTILL.name], default=None)

    @property
    def where(self) -> str:
        """Where the time of the longest standstill went; empty if nothing stopped."""
        measured = self.longest["measured"] if self.longest else {}
        ms = measured.get(STANDSTILL.name)
        return stops.said({**measured, "ms": ms}) if ms else ""


@dataclass(frozen=True)
class Sweep:
    """All of it. `spots` are in the order of experiments and, within one, of the grid."""

    suite: Suite
    axes: tuple[SweptSetting, ...]
    spots: tuple[Spot, ...]

    @property
    def command(self) -> str:
        return str(self.suite.asked.get("command", ""))

    @property
    def claims(self) -> Mapping[str, str]:
        return {entry.experiment: entry.claim for entry in self.suite.entries}

    @property
    def of_group(self) -> tuple[Measure, ...]:
        """What else is shown: something if clients, protocols or sizes of a group are swept."""
        return OF_GROUP if any(axis.name in _OF_GROUP for axis in self.axes) else ()

    @property
    def runs(self) -> list[Row]:
        return [run for spot in self.spots for run in spot.runs]

    @property
    def unshown(self) -> list[Row]:
        return [run for run in self.runs if run["measured"] is None]

    @property
    def fewest(self) -> int:
        """The runs of the point that has fewest, of those that have any."""
        return min((len(spot.shown) for spot in self.spots if spot.shown), default=0)


def sweep_of(suite: Suite) -> Sweep:
    over: Mapping[str, Sequence[str]] = suite.asked.get("over") or {}
    axes = tuple(SweptSetting(name, tuple(values)) for name, values in over.items())
    names = list(dict.fromkeys(entry.experiment for entry in suite.entries))
    found: dict[tuple[int, tuple[int, ...]], list[Entry]] = {}
    for entry in suite.entries:
        place = tuple(axis.values.index(entry.settings[axis.name]) for axis in axes)
        found.setdefault((names.index(entry.experiment), place), []).append(entry)
    places = sorted({place for _, place in found})
    spots = (
        Spot(
            names[name],
            1 + places.index(place),
            entries[0].settings,
            [_run(suite, entry) for entry in entries],
        )
        for (name, place), entries in sorted(found.items(), key=lambda each: each[0])
    )
    return Sweep(suite, axes, tuple(spots))


def _run(suite: Suite, entry: Entry) -> Row:
    measured, about = read_run(suite, entry, _measured)
    names = ("experiment", "settings", "label", "seed")
    return {**{name: getattr(entry, name) for name in names}, **about, "measured": measured}


def _measured(run: JudgedRun) -> dict[str, float | None]:
    """By the names of measures, and of the parts of the longest standstill.

    What clients, protocols and sizes differ in is from steady state to the end of the load.
    """
    put_out, count, known = false_evictions(run), records(run), run.has("stops")
    stopped, worst = stops.stopped(run), stops.longest(run) or {}
    at = {phase.name: phase.from_at for phase in run.manifest.phases}
    cost = [row["measured_max"] for row in run.verdicts or [] if row["rule"] == _JOIN_COST]
    generations = None
    if run.has("rebalances") and {"steady", "drain"} <= at.keys():
        began = [row for row in run.tables["rebalances"] if row["started_at"] is not None]
        loaded = [row for row in began if at["steady"] <= row["started_at"] <= at["drain"]]
        generations = len({row["generation"] for row in loaded})
    return {
        STANDSTILL.name: stops.longest_ms(run),
        EVICTED.name: None if put_out is None else len(put_out),
        AGAIN.name: count.redelivered,
        LOST.name: count.lost,
        STOPPED.name: len({(row["topic"], row["partition"]) for row in stopped}) if known else None,
        IN_ALL.name: sum(row["ms"] for row in stopped) if known else None,
        GENERATIONS.name: generations,
        JOIN.name: cost[0] if cost else None,
        **{kind.column: worst.get(kind.column) for kind in stops.PARTS},
    }


def as_json(sweep: Sweep, words: Sequence[str]) -> str:
    """The text of `sweep.json`; `words` are the sentences that are made of it."""
    suite = sweep.suite
    content: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        **{name: getattr(suite, name) for name in ("name", "started_at", "ended_at")},
        "command": sweep.command,
        "over": {axis.name: axis.values for axis in sweep.axes},
        "sentences": words,
        "left_out": suite.notes,
        "points": [_point(spot) for spot in sweep.spots],
        "runs": sweep.runs,
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _point(spot: Spot) -> Row:
    return {
        "experiment": spot.experiment,
        "point": spot.number,
        "settings": spot.settings,
        "runs": len(spot.shown),
        "planned": len(spot.runs),
        **{measure.name: _summed(spot.of(measure)) for measure in (*MEASURES, *OF_GROUP)},
    }


def _summed(spread: Spread) -> Row:
    found, lies = spread.values, spread.sure
    about = {"n": found.n, "min": found.min, "median": found.p50, "max": found.max}
    return {**about, "median_lies_in": lies and [lies.low, lies.high]}
