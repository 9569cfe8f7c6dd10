"""Two runs, two sets of repeats or two nights side by side: settings, verdicts, numbers.

Each side is a group of runs of one experiment, client and protocol; a single run is a group of one.
Two nights are compared group by group. What got worse is a rule whose verdict was as expected on
the one side and is not on the other. A run that was played and shows nothing (void, failed) has
every rule UNKNOWN, as in the index of its night; settings and numbers are those of judged runs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.distribution import CONFIDENCE
from harness.base.errors import NoData
from harness.experiment import label
from harness.history import manifest
from harness.history.suites import is_suite, load_suite
from harness.report.load import Row, load
from harness.report.many.numbers import (
    Numbers,
    Spread,
    numbers,
    spreads,
    verdicts_text,
)
from harness.report.many.verdicts import verdicts_of
from harness.report.outcome import Standing
from harness.report.words import NOTHING

# Of a single run, not of how it was set up: ports and the addresses made of them, names, places.
_OWN: Final = re.compile(
    r"(^|\.)(bootstrap\.servers|listeners|advertised\.listeners|controller\.quorum\.voters|node\.id"
    r"|log\.dirs|client\.id|group\.instance\.id|java_home|class_path)$"
)


@dataclass(frozen=True)
class Judged:
    """What is compared of one judged run, beside its verdicts."""

    settings: Mapping[str, str]
    numbers: Numbers


@dataclass(frozen=True)
class RunGroup:
    """The runs of one side that belong together, all of one experiment, client and protocol.

    `verdicts` has the rows of every run that was played, `judged` those that show anything.
    """

    label: str
    verdicts: tuple[Sequence[Row], ...]
    judged: tuple[Judged, ...]


@dataclass(frozen=True)
class Setting:
    """A setting that differs; null where a side does not have it."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class Beside:
    """One rule or figure on both sides; null where a side did not judge it."""

    name: str
    unit: str
    a: Spread | None
    b: Spread | None

    @property
    def changed(self) -> bool:
        """Whether the verdicts that count are different ones."""
        return verdict_of(self.a) != verdict_of(self.b)

    @property
    def worse(self) -> bool:
        """Whether A's verdict was as expected, and B's is not."""
        return (
            self.a is not None
            and self.b is not None
            and self.a.standing is not Standing.DIFFERS
            and self.b.standing is Standing.DIFFERS
        )

    @property
    def moved(self) -> bool | None:
        """Whether the medians lie in intervals apart; null where there are too few runs to tell."""
        a, b = (side.interval if side else None for side in (self.a, self.b))
        if a is None or b is None or min(a.confidence, b.confidence) < CONFIDENCE:
            return None
        return a.high < b.low or b.high < a.low


@dataclass(frozen=True)
class Comparison:
    """One group beside another."""

    a: RunGroup
    b: RunGroup
    settings: tuple[Setting, ...]
    rules: tuple[Beside, ...]
    figures: tuple[Beside, ...]


@dataclass(frozen=True)
class Compared:
    """Two folders side by side. `only_a` and `only_b` are groups that the other does not have."""

    path_a: Path
    path_b: Path
    pairs: tuple[Comparison, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def worse(self) -> list[str]:
        """The rules that got worse, each with its group."""
        return [
            f"{rule.name} in {pair.b.label}"
            for pair in self.pairs
            for rule in pair.rules
            if rule.worse
        ]


def compare(path_a: Path, path_b: Path) -> Compared:
    """Compare two folders: of a run, of repeats, or of a night.

    Raises NoData where a folder is none of these, or nothing in it was judged.
    """
    a, b = groups(path_a), groups(path_b)
    if len(a) == len(b) == 1:
        shared = [(next(iter(a.values())), next(iter(b.values())))]
    else:
        shared = [(a[label], b[label]) for label in a if label in b]
        if not shared:
            raise NoData(
                f"{path_a} and {path_b} have no experiment, client and protocol in common: "
                "compare two nights, or two runs"
            )
    paired = {group.label for pair in shared for group in pair}
    return Compared(
        path_a,
        path_b,
        tuple(_compared(one, other) for one, other in shared),
        tuple(label for label in a if label not in paired),
        tuple(label for label in b if label not in paired),
    )


def groups(path: Path) -> dict[str, RunGroup]:
    """The runs in a folder that were played, by experiment, client, protocol and what is swept.

    Raises NoData if none was judged.
    """
    if not is_suite(path):
        one = of_run(path)
        return {one.label: one}
    suite = load_suite(path)
    found: dict[str, RunGroup] = {}
    for entry in suite.entries:
        run_dir = suite.run_dir(entry)
        rows = verdicts_of(suite, entry)
        if not rows:
            continue  # not played, or another run has its place
        there = entry.judged and run_dir is not None and run_dir.exists()
        judged = of_run(run_dir).judged if run_dir is not None and there else ()
        swept = [f"{setting}={value}" for setting, value in entry.settings.items()]
        name = ", ".join([label(entry.experiment, entry.client, entry.protocol), *swept])
        before = found.get(name, RunGroup(name, (), ()))
        found[name] = RunGroup(name, (*before.verdicts, rows), (*before.judged, *judged))
    if not any(group.judged for group in found.values()):
        raise NoData(f"{path} has no judged run any more, so there is nothing to compare")
    return found


def of_run(run_dir: Path) -> RunGroup:
    """One run, as a group. Raises NoData where it is no complete, judged run."""
    content = manifest.read(run_dir)
    run = load(run_dir)
    if not run.manifest.complete or run.verdicts is None:
        raise NoData(
            f"{run_dir} is {run.manifest.status} and shows nothing: compare complete runs only"
        )
    group = run.manifest.declared.get("group") or {}
    name = label(run.manifest.experiment, str(group.get("client")), str(group.get("protocol")))
    return RunGroup(name, (run.verdicts,), (Judged(settings_of(content), numbers(run_dir, run)),))


def settings_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Everything that a run was set up with, flat; without what every run has of its own."""
    declared = {
        name: value
        for name, value in (content.get("declared") or {}).items()
        if name not in ("claim", "rules")
    }
    effective = content.get("effective") or {}
    brokers, clients = effective.get("brokers") or {}, effective.get("clients") or {}
    found = {
        **_flat("", declared),
        **_flat("version", content.get("versions") or {}),
        **_flat("host", content.get("host") or {}),
        **_flat("broker", _first(brokers, "broker-")),
        **_flat("broker default", effective.get("broker_defaults") or {}),
        **_flat("member", _first(clients, "member-")),
        **_flat("producer", _first(clients, "producer-")),
    }
    return {name: value for name, value in found.items() if not _OWN.search(name)}


def _first(parts: Mapping[str, Any], prefix: str) -> Mapping[str, Any]:
    names = sorted(name for name in parts if name.startswith(prefix))
    return (parts[names[0]] or {}) if names else {}


def _flat(prefix: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        items = [(str(name), each) for name, each in value.items()]
    elif isinstance(value, list):
        items = [(str(place), each) for place, each in enumerate(value, start=1)]
    else:
        return {prefix: NOTHING if value is None else str(value)}
    found: dict[str, str] = {}
    for name, each in items:
        found |= _flat(f"{prefix}.{name}" if prefix else name, each)
    return found


def _compared(a: RunGroup, b: RunGroup) -> Comparison:
    both = a.judged and b.judged
    rules, figures = (
        _beside(*sides)
        for sides in zip(
            *(spreads(g.verdicts, [run.numbers for run in g.judged]) for g in (a, b)), strict=True
        )
    )
    settings = _settings(a.judged[0].settings, b.judged[0].settings) if both else ()
    return Comparison(a, b, tuple(settings), rules, figures)


def _settings(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Setting]:
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield Setting(name, a.get(name), b.get(name))


def _beside(a: Sequence[Spread], b: Sequence[Spread]) -> tuple[Beside, ...]:
    left, right = ({each.name: each for each in side} for side in (a, b))
    return tuple(
        Beside(name, (left.get(name) or right[name]).unit, left.get(name), right.get(name))
        for name in dict.fromkeys([*left, *right])
    )


def verdict_of(side: Spread | None) -> str:
    """The verdict of one side's runs in words; a dash where it did not judge the rule."""
    if side is None:
        return NOTHING
    return next(iter(side.verdicts)) if len(side.verdicts) == 1 else verdicts_text(side.verdicts)


def as_json(compared: Compared) -> dict[str, Any]:
    """All of it as plain values."""
    return {
        "a": str(compared.path_a),
        "b": str(compared.path_b),
        "worse": compared.worse,
        "only_a": list(compared.only_a),
        "only_b": list(compared.only_b),
        "pairs": [
            {
                "a": {"label": pair.a.label, "runs": len(pair.a.verdicts)},
                "b": {"label": pair.b.label, "runs": len(pair.b.verdicts)},
                "settings": [asdict(setting) for setting in pair.settings],
                "rules": [_item(each) for each in pair.rules],
                "figures": [_item(each) for each in pair.figures],
            }
            for pair in compared.pairs
        ],
    }


def _item(beside: Beside) -> dict[str, Any]:
    return {
        "name": beside.name,
        "unit": beside.unit,
        "worse": beside.worse,
        "moved": beside.moved,
        "a": _side(beside.a),
        "b": _side(beside.b),
    }


def _side(side: Spread | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "verdicts": dict(side.verdicts),
        "expected": side.expected or None,
        "as_expected": side.standing is not Standing.DIFFERS,
        "measured": asdict(side.values),
        "median_interval": asdict(side.interval) if side.interval else None,
    }
