"""Two runs, two sets of repeats or two nights side by side: settings, verdicts, numbers.

Each side is a group of runs of one experiment, client and protocol; a single run is a group of one.
Two nights are compared group by group. What got worse is a rule whose verdict was as expected on
the one side and is not on the other. A run that was played and shows nothing (void, failed) has
every rule UNKNOWN, as in the index of its night; settings and numbers are those of judged runs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import comb
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from harness.base.errors import NoData
from harness.base.words import plural
from harness.experiment import label, protocol_said
from harness.history.suites import is_suite, load_suite
from harness.report.formats import NOTHING, number, spread
from harness.report.load import Row, load
from harness.report.many import blocks
from harness.report.many.blocks import Block, Column, Line, in_terminal
from harness.report.many.compare_words import SIDES, better_by, better_night, both_settings, items
from harness.report.many.numbers import Numbers, Spread, numbers, spreads
from harness.report.many.suite_rows import verdicts_of
from harness.report.outcome import Standing, name_of
from harness.report.text.columns import show, width_of

# Of a single run, not of how it was set up: ports and the addresses made of them, names, places.
_OWN: Final = re.compile(
    r"(^|\.)(bootstrap\.servers|listeners|advertised\.listeners|controller\.quorum\.voters|node\.id"
    r"|log\.dirs|client\.id|group\.instance\.id|java_home|class_path)$"
)
MOST_TABLES: Final = 6  # of the runs of a sweep, or of a few experiments
# How likely any number at all is shown that has not moved, over all rules and figures together.
_CHANCE: Final = 0.05


@dataclass
class RunGroup:
    """The runs of one side that belong together, all of one experiment, client and protocol.

    `verdicts` has the rows of every run that was played, `judged` the numbers of those that show
    anything. `settings` are those of the first of these.
    """

    label: str
    verdicts: list[Sequence[Row]] = field(default_factory=list)
    judged: list[Numbers] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=dict)


_NOT_FINE: Final = (Standing.DIFFERS, Standing.WITHHELD)


@dataclass(frozen=True)
class Beside:
    """One rule or figure on both sides, of which one may have nothing of it."""

    a: Spread
    b: Spread

    @property
    def name(self) -> str:
        return self.a.name

    @property
    def unit(self) -> str:
        """That of one side, where the other one does not know it."""
        return self.a.unit or self.b.unit

    @property
    def changed(self) -> bool:
        return self.a.verdict != self.b.verdict

    @property
    def worse(self) -> bool:
        """Whether A's verdict was as expected, and B's is not."""
        fine = bool(self.a.rows) and self.a.standing not in _NOT_FINE
        return fine and self.b.standing in _NOT_FINE

    @property
    def moved(self) -> bool | None:
        """Whether the medians lie in intervals apart; null where there are too few runs to tell."""
        a, b = self.a.sure, self.b.sure
        return None if a is None or b is None else a.high < b.low or b.high < a.low


@dataclass(frozen=True)
class Comparison:
    """One group beside another.

    `settings` are those that differ, by name; null where a side does not have it.
    """

    a: RunGroup
    b: RunGroup
    settings: Mapping[str, tuple[str | None, str | None]]
    rules: Sequence[Beside]
    figures: Sequence[Beside]


@dataclass(frozen=True)
class Compared:
    """Two folders side by side. `only_a` and `only_b` are groups that the other does not have."""

    path_a: Path
    path_b: Path
    pairs: Sequence[Comparison]
    only_a: Sequence[str]
    only_b: Sequence[str]

    @property
    def worse(self) -> list[str]:
        every = ((pair, rule) for pair in self.pairs for rule in pair.rules)
        return [f"{name_of(rule.name)} in {pair.b.label}" for pair, rule in every if rule.worse]


def compare(path_a: Path, path_b: Path) -> Compared:
    """Compare two folders: of a run, of repeats, or of a night.

    Raises NoData where a folder is none of these, or nothing in it was judged.
    """
    a, b = groups(path_a), groups(path_b)
    if len(a) == len(b) == 1:
        shared = [(*a.values(), *b.values())]
    else:
        shared = [(a[label], b[label]) for label in a if label in b]
    if not shared:
        raise NoData(
            f"{path_a} and {path_b} have no experiment, client and protocol in common: "
            "compare two nights, or two runs"
        )
    paired = {group.label for pair in shared for group in pair}
    only_a, only_b = ([label for label in side if label not in paired] for side in (a, b))
    return Compared(path_a, path_b, [_compared(*pair) for pair in shared], only_a, only_b)


def groups(path: Path) -> dict[str, RunGroup]:
    """The runs in a folder that were played, by experiment, client, protocol and what is swept.

    Raises NoData if none was judged.
    """
    if not is_suite(path):
        one = _of_run(path)
        return {one.label: one}
    suite = load_suite(path)
    found: dict[str, RunGroup] = {}
    for entry in suite.entries:
        run_dir = suite.run_dir(entry)
        rows = verdicts_of(suite, entry)
        if not rows:
            continue  # not played, or another run has its place
        swept = [f"{setting}={value}" for setting, value in entry.settings.items()]
        name = ", ".join([label(entry.experiment, entry.client, entry.protocol), *swept])
        group = found.setdefault(name, RunGroup(name))
        group.verdicts.append(rows)
        if entry.judged and run_dir is not None and run_dir.exists():
            one = _of_run(run_dir)
            group.judged += one.judged
            group.settings = group.settings or one.settings
    if not any(group.judged for group in found.values()):
        raise NoData(f"{path} has no judged run any more, so there is nothing to compare")
    return found


def _of_run(run_dir: Path) -> RunGroup:
    """One run, as a group. Raises NoData where it is no complete, judged run."""
    run = load(run_dir)
    if not run.manifest.complete or run.verdicts is None:
        raise NoData(
            f"{run_dir} is {run.manifest.status} and shows nothing: compare complete runs only"
        )
    group = run.manifest.declared.get("group") or {}
    name = label(run.manifest.experiment, str(group.get("client")), str(group.get("protocol")))
    return RunGroup(name, [run.verdicts], [numbers(run_dir, run)], settings_of(vars(run.manifest)))


def settings_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Everything that a run was set up with, flat; without what every run has of its own."""
    effective = content["effective"]
    brokers, clients = effective.get("brokers") or {}, effective.get("clients") or {}
    declared = (content.get("declared") or {}).items()
    parts = {
        "": {name: value for name, value in declared if name not in ("claim", "rules")},
        "version": content.get("versions"),
        "host": content.get("host"),
        "broker": _first(brokers, "broker-"),
        "broker default": effective.get("broker_defaults"),
        "member": _first(clients, "member-"),
        "producer": _first(clients, "producer-"),
    }
    found = (each for name, part in parts.items() for each in _flat(name, part or {}))
    return {name: value for name, value in found if not _OWN.search(name)}


def _first(parts: Mapping[str, Any], prefix: str) -> Mapping[str, Any] | None:
    names = sorted(name for name in parts if name.startswith(prefix))
    return parts[names[0]] if names else None


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        value = dict(enumerate(value, start=1))
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), each)
    else:
        yield prefix, NOTHING if value is None else str(value)


def _compared(a: RunGroup, b: RunGroup) -> Comparison:
    rules, figures = map(_beside, spreads(a.verdicts, a.judged), spreads(b.verdicts, b.judged))
    names = {**a.settings, **b.settings} if a.judged and b.judged else {}
    both = {name: (a.settings.get(name), b.settings.get(name)) for name in names}
    differing = {name: values for name, values in both.items() if values[0] != values[1]}
    return Comparison(a, b, differing, rules, figures)


def _beside(a: Sequence[Spread], b: Sequence[Spread]) -> list[Beside]:
    left, right = ({each.name: each for each in side} for side in (a, b))
    return [
        Beside(left.get(name) or Spread(name), right.get(name) or Spread(name))
        for name in left | right
    ]


def settings_over(compared: Compared) -> list[Row]:
    """Each setting that differs, with in how many pairs of runs it does; the most common first."""
    every = Counter(
        (name, *values) for pair in compared.pairs for name, values in pair.settings.items()
    )
    return [
        {"name": name, "a": a, "b": b, "runs": runs} for (name, a, b), runs in every.most_common()
    ]


def shifts(compared: Compared) -> list[Row]:
    """Numbers of rules and figures that are higher, or lower, in nearly all runs of B, the most
    certain first: by a sign test over the runs that both nights have.

    A test for each rule and figure would find one of twenty by chance, so each has to be as many
    times less likely as there are of them (Bonferroni). `runs` have different medians on both
    sides, and in `higher` of them B's is the higher one. `change` is the middle one of their
    relative changes; null where A's is zero in most.
    """
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for pair in compared.pairs:
        for each in (*pair.rules, *pair.figures):
            a, b = each.a.values.p50, each.b.values.p50
            if a is not None and b is not None:
                pairs.setdefault((each.name, each.unit), []).append((a, b))
    found = []
    for (name, unit), medians in pairs.items():
        different = [(a, b) for a, b in medians if a != b]
        runs, higher = len(different), sum(b > a for a, b in different)
        chance = _chance(higher, runs)
        if chance * len(pairs) < _CHANCE:
            ratios = [b / a - 1 for a, b in different if a > 0]
            change = median(ratios) if 2 * len(ratios) > runs else None
            row = {"name": name, "unit": unit, "runs": runs, "higher": higher, "change": change}
            found.append((chance, row))
    return [row for _, row in sorted(found, key=lambda each: each[0])]


def _chance(higher: int, of: int) -> float:
    """How likely a coin that is thrown so often shows one side at least as often as that."""
    more = max(higher, of - higher)
    ways: int = sum(comb(of, times) for times in range(more, of + 1))
    return min(1.0, float(2 * ways / 2**of))


def better(pair: Comparison) -> str:
    """Which side is better, and by how much; nothing where one shows nothing."""
    runs = len(pair.a.judged), len(pair.b.judged)
    return better_by(runs, {each.name: (each.a, each.b, each.unit) for each in pair.figures})


def as_json(compared: Compared) -> dict[str, Any]:
    return {
        "a": str(compared.path_a),
        "b": str(compared.path_b),
        "worse": compared.worse,
        "only_a": compared.only_a,
        "only_b": compared.only_b,
        "pairs": [
            {
                "a": {"label": pair.a.label, "runs": len(pair.a.verdicts)},
                "b": {"label": pair.b.label, "runs": len(pair.b.verdicts)},
                "better": better(pair),
                "settings": items(pair.settings),
                "rules": [_item(each) for each in pair.rules],
                "figures": [_item(each) for each in pair.figures],
            }
            for pair in compared.pairs
        ],
        "settings": settings_over(compared),
        "moved": shifts(compared),
    }


def _item(beside: Beside) -> dict[str, Any]:
    names = ("name", "unit", "worse", "moved")
    sides = {"a": _side(beside.a), "b": _side(beside.b)}
    return {**{name: getattr(beside, name) for name in names}, **sides}


def _side(side: Spread) -> dict[str, Any] | None:
    if not (side.rows or side.per_run):
        return None
    return {
        "verdicts": dict(side.verdicts),
        "expected": side.expected or None,
        "as_expected": side.standing not in _NOT_FINE,
        "measured": asdict(side.values),
        "median_interval": side.interval and asdict(side.interval),
    }


def print_compared(
    compared: Compared, console: Console | None = None, *, each_run: bool = False
) -> None:
    """Print what differs in settings, then every rule and every figure side by side.

    Of more than MOST_TABLES, which are two nights, what differs over all their runs; and the tables
    of `each_run` only if that is asked for.
    """
    console = console or Console(highlight=False)
    many = len(compared.pairs) > MOST_TABLES
    shown = list(_of_nights(compared)) if many else []
    if each_run or not many:
        shown += [block for pair in compared.pairs for block in _of_pair(pair)]
    worse = Line(f"got worse: {', '.join(map(protocol_said, compared.worse))}", "bad")
    ending = [
        *(Line(f"only in A: {protocol_said(label)}") for label in compared.only_a),
        *(Line(f"only in B: {protocol_said(label)}") for label in compared.only_b),
        worse if compared.worse else Line("no verdict got worse", "as-expected"),
    ]
    shown.append(Block("", "", notes=ending))
    sides = [Text(f"A  {compared.path_a}"), Text(f"B  {compared.path_b}")]
    show(console, [*sides, *in_terminal(shown, width_of(console))])


def _block(
    heading: str, columns: Sequence[str | Column], rows: Sequence[blocks.Row], none: str = ""
) -> Block:
    """A table, or what is said where it has no rows."""
    if not rows:
        return Block("", "", notes=(Line(none),) if none else ())
    return Block("", heading, columns=columns, rows=rows)


def _of_pair(pair: Comparison) -> Iterator[Block]:
    sides = [
        f"{protocol_said(group.label)} ({plural(len(group.verdicts), 'run')})"
        for group in (pair.a, pair.b)
    ]
    said, missing = better(pair), "B" if pair.a.judged else "A"
    none = f"no run of {missing} was judged, so there are no settings to compare"
    yield Block("", " against ".join(dict.fromkeys(sides)), notes=(Line(said or none),))
    if said:
        yield both_settings("settings that differ", items(pair.settings))
    rule, numbers = Column("rule", free=True), Column("measured", free=True)
    rules = [_rule(each) for each in pair.rules]
    yield _block("rules", (rule, "A", numbers, "B", numbers, "unit"), rules)
    rows = [blocks.Row((f.name, measured(f.a), measured(f.b), f.unit)) for f in pair.figures]
    yield _block("figures", (Column("figure", free=True), *SIDES, "unit"), rows)


def _marked(each: Beside, name: str) -> tuple[Line, str]:
    """A name with the sign of what became of it, and its tone."""
    if each.worse:
        return Line(name, sign="✗"), "bad"
    moved = each.changed or bool(each.moved)
    return Line(name, sign="≠" if moved else ""), "result" if moved else ""


def _rule(each: Beside) -> blocks.Row:
    name, tone = _marked(each, name_of(each.name))
    sides = [text for side in (each.a, each.b) for text in (side.verdict, measured(side))]
    return blocks.Row((name, *sides, each.unit), tone)


def measured(side: Spread) -> str:
    """Median and range of a side: "2,004 (1,998 – 2,010)", or one number."""
    return spread(side.values, number)


def _of_nights(compared: Compared) -> Iterator[Block]:
    both = f"{plural(len(compared.pairs), 'run')} that both have, by experiment and protocol"
    yield Block("", both, notes=(Line(better_night(shifts(compared))),))
    yield both_settings(
        "settings that differ, and in how many runs", settings_over(compared), "runs"
    )
    changed = [
        blocks.Row((where, name_of(each.name), each.a.verdict, each.b.verdict), tone)
        for pair in compared.pairs
        for each in pair.rules
        if each.changed
        for where, tone in [_marked(each, protocol_said(pair.b.label))]
    ]
    yield _block(
        "verdicts that differ",
        (Column("run", free=True), "rule", *SIDES),
        changed,
        "every rule has the same verdict in both, run by run",
    )
    moved = []
    for each in shifts(compared):
        name, unit, runs, higher, change = each.values()
        way, count = ("higher", higher) if 2 * higher > runs else ("lower", runs - higher)
        by = "" if change is None else f"{change:+.0%}"
        moved.append(blocks.Row((name_of(name), unit, way, f"{count} of {runs}", by)))
    yield _block(
        "numbers that are higher, or lower, in nearly all runs",
        ("number", "unit", "in B", "of runs", "change"),
        moved,
        "no number is higher or lower in nearly all runs",
    )
