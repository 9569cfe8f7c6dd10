"""What the repeats of one experiment say together: a distribution per rule, and every verdict.

Verdicts are counted and the worst one counts: a repeat that differs is a result, not noise to be
tried again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from harness.base.distribution import Distribution, Interval, distribution, median_interval
from harness.base.paths import here
from harness.base.words import plural
from harness.experiment import Verdict
from harness.history import store
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import Entry, Suite
from harness.report.load import Row, load
from harness.report.many.figures import Figure, figures, measurements
from harness.report.many.suite_junit import junit_of
from harness.report.many.suite_rows import Verdicts, detail_of, kind_of, read_verdicts, run_row
from harness.report.many.suite_text import runs_lines, style_of
from harness.report.many.verdicts import SUITE_VERDICTS, headline, table_of
from harness.report.outcome import SIGNS, Standing, expected_of, standing, verdict_of
from harness.report.run.files import write_whole
from harness.report.run.page import Fact, environment
from harness.report.text.columns import align, show, width_of
from harness.report.text.markdown import safe, table_row
from harness.report.words import NOTHING, bound, duration, number

# `distributions.parquet`: one row per rule and per figure, over all repeats that were judged.
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("kind", pa.string()),  # rule | figure
    ("name", pa.string()),  # id of the rule, or name of the figure
    ("unit", pa.string()),
    ("expected", pa.string()),
    ("verdict", pa.string()),  # the worst; null for a figure
    ("runs", pa.int64()),
    ("holds", pa.int64()),  # runs with this verdict
    ("violated", pa.int64()),
    ("unknown", pa.int64()),
    ("n", pa.int64()),  # things measured in all runs
    ("min", pa.float64()),
    ("p50", pa.float64()),
    ("p99", pa.float64()),
    ("max", pa.float64()),
    ("median_low", pa.float64()),  # interval of the median, over the medians of the runs
    ("median_high", pa.float64()),
    ("median_confidence", pa.float64()),
    ("bound_low", pa.float64()),
    ("bound_high", pa.float64()),
]
DISTRIBUTIONS: Final = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class Spread:
    """One rule, or one figure, over all repeats.

    `values` is over everything measured in all of them. `interval` is of the median of a run: what
    was measured within one run shares its phases and is not independent, but runs are.
    """

    name: str
    unit: str
    runs: int
    values: Distribution
    interval: Interval | None
    verdicts: Mapping[str, int]  # how many runs came to each; empty for a figure
    expected: str = ""
    worst: Row | None = None  # the verdict that counts
    bound_low: float | None = None
    bound_high: float | None = None

    @property
    def standing(self) -> Standing:
        """How the verdict that counts stands to what was expected."""
        return Standing.AS_EXPECTED if self.worst is None else standing(self.worst)


def spread(name: str, unit: str, per_run: Sequence[Sequence[float]], **more: Any) -> Spread:
    """What one thing measured in each run comes to."""
    every = [value for values in per_run for value in values]
    medians = [median(values) for values in per_run if values]
    return Spread(
        name=name,
        unit=unit,
        runs=len(per_run),
        values=distribution(every),
        interval=median_interval(medians),
        verdicts=more.pop("verdicts", {}),
        **more,
    )


def rule_spreads(suite: Suite, verdicts: Verdicts) -> list[Spread]:
    """The distribution of every rule of a suite, over the runs that were judged.

    The verdicts of all its runs count, those of void ones as well.
    """
    measured = []
    for entry in suite.entries:
        if run_dir := _judged_and_there(suite, entry):
            measured.append(measurements(run_dir))
    return rules_over([verdicts[entry.label] for entry in suite.entries], measured)


def rules_over(
    verdicts: Sequence[Sequence[Row]], measured: Sequence[Mapping[str, list[float]]]
) -> list[Spread]:
    """The distribution of every rule over several runs, in the order of the first one's verdicts.

    `verdicts` are the rows of each run, `measured` the measurements by rule of each judged one.
    """
    rules: dict[str, list[Row]] = {}
    for rows in verdicts:
        for row in rows:
            rules.setdefault(row["rule"], []).append(row)
    return [
        spread(
            rule,
            rows[0]["unit"] or "",
            [found.get(rule, []) for found in measured],
            verdicts=dict(Counter(map(verdict_of, rows))),
            expected=expected_of(_worst(rows)),
            worst=_worst(rows),
            **_bounds(rows),
        )
        for rule, rows in rules.items()
    ]


def _bounds(rows: Sequence[Row]) -> dict[str, float | None]:
    """Those of the first run that has any; a void one has none."""
    for row in rows:
        low, high = row.get("bound_low"), row.get("bound_high")
        if low is not None or high is not None:
            return {"bound_low": low, "bound_high": high}
    return {}


def _worst(rows: Sequence[Row]) -> Row:
    """What differs before what does not; among these violated before unknown before holds."""
    order = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.HOLDS)
    return min(
        rows,
        key=lambda row: (
            standing(row) is not Standing.DIFFERS,
            order.index(Verdict(verdict_of(row))),
        ),
    )


def figure_spreads(suite: Suite) -> list[Spread]:
    """The distribution of rebalances, standstills, redeliveries and the like."""
    per_run = []
    for entry in suite.entries:
        if run_dir := _judged_and_there(suite, entry):
            per_run.append(figures(load(run_dir)))
    return figures_over(per_run)


def _judged_and_there(suite: Suite, entry: Entry) -> Path | None:
    """The folder of a judged run, unless it was removed since: then only its verdicts are left."""
    run_dir = suite.run_dir(entry)
    return run_dir if entry.judged and run_dir is not None and run_dir.exists() else None


def figures_over(per_run: Sequence[Sequence[Figure]]) -> list[Spread]:
    """The distribution of every figure over several runs."""
    return [
        spread(found[0].name, found[0].unit, [figure.values for figure in found])
        for found in zip(*per_run, strict=True)
    ]


def verdict_text(each: Spread) -> str:
    """The verdicts of a rule in words: "HOLDS", or "9 HOLDS, 1 UNKNOWN"."""
    if len(each.verdicts) == 1:
        return next(iter(each.verdicts))
    return _counted(each.verdicts)


def write(suite: Suite) -> None:
    """Write `repeat.html`, `summary.md`, `junit.xml`, `verdicts.parquet`, `distributions.parquet`.

    Raises NoData where a run that was judged cannot be read.
    """
    verdicts = read_verdicts(suite)
    rules, numbers = rule_spreads(suite, verdicts), figure_spreads(suite)
    rows = [row for entry in suite.entries for row in verdicts[entry.label]]
    store.write(suite.path / VERDICTS_FILE, [table_of(rows)], SUITE_VERDICTS)
    kept = [_kept("rule", each) for each in rules] + [_kept("figure", each) for each in numbers]
    table = pa.Table.from_pylist(kept, schema=DISTRIBUTIONS)
    store.write(suite.path / "distributions.parquet", [table], DISTRIBUTIONS)
    write_whole(suite.path / "repeat.html", _page(suite, verdicts, rules, numbers))
    write_whole(suite.path / "summary.md", _summary(suite, verdicts, rules, numbers))
    write_whole(suite.path / "junit.xml", junit_of(suite))


def _kept(kind: str, each: Spread) -> dict[str, Any]:
    values, interval, worst = each.values, each.interval, each.worst
    return {
        "kind": kind,
        "name": each.name,
        "unit": each.unit,
        "expected": each.expected or None,
        "verdict": verdict_of(worst) if worst else None,
        "runs": sum(each.verdicts.values()) or each.runs,
        **{str(name).lower(): each.verdicts.get(name, 0) for name in Verdict if each.verdicts},
        "n": values.n,
        "min": values.min,
        "p50": values.p50,
        "p99": values.p99,
        "max": values.max,
        "median_low": interval.low if interval else None,
        "median_high": interval.high if interval else None,
        "median_confidence": interval.confidence if interval else None,
        "bound_low": each.bound_low,
        "bound_high": each.bound_high,
    }


@dataclass(frozen=True)
class SpreadRow:
    """One rule or figure, ready to be shown."""

    name: str
    standing: str
    sign: str
    verdicts: str
    expected: str
    n: str
    min: str
    p50: str
    p99: str
    max: str
    interval: str
    bound: str
    unit: str
    reason: str


def _row(each: Spread) -> SpreadRow:
    values, worst = each.values, each.worst
    unknown = worst is not None and verdict_of(worst) == Verdict.UNKNOWN
    differs = each.standing is Standing.DIFFERS
    return SpreadRow(
        name=each.name,
        standing=each.standing,
        sign="?" if differs and unknown else SIGNS[each.standing],
        verdicts=_counted(each.verdicts),
        expected=each.expected,
        n=number(values.n),
        min=number(values.min),
        p50=number(values.p50),
        p99=number(values.p99),
        max=number(values.max),
        interval=_between(each.interval),
        bound=bound(each.bound_low, each.bound_high),
        unit=each.unit,
        reason=str(worst["reason"] or "") if worst is not None and differs else "",
    )


def _counted(verdicts: Mapping[str, int]) -> str:
    return ", ".join(f"{verdicts[name]} {name}" for name in Verdict if verdicts.get(name))


def _between(interval: Interval | None) -> str:
    if interval is None:
        return NOTHING
    return f"{number(interval.low)} – {number(interval.high)} ({interval.confidence:.0%})"


def _page(
    suite: Suite, verdicts: Verdicts, rules: Sequence[Spread], numbers: Sequence[Spread]
) -> str:
    first = suite.entries[0]
    took_ms = suite.took_s * 1_000
    differing = sum(each.standing is Standing.DIFFERS for each in rules)
    return (
        environment()
        .get_template("repeat.html.j2")
        .render(
            kind="repeats",
            title=first.experiment,
            claim=first.claim,
            headline=headline(suite),
            outcome=kind_of(suite),
            detail=detail_of(verdicts),
            figures=[
                Fact("runs", str(len(suite.played)), f"of {len(suite.entries)}"),
                Fact("client", first.client, first.protocol),
                Fact("Kafka", first.kafka, ""),
                Fact("rules", str(len(rules)), ""),
                Fact("differ", str(differing), "rules", "bad" if differing else ""),
                Fact("took", duration(took_ms), ""),
            ],
            sections=(("rules", "Rules"), ("figures", "Figures"), ("runs", "Runs")),
            made_from="suite.json and the folders of the runs",
            rules=[_row(each) for each in rules],
            numbers=[_row(each) for each in numbers],
            runs=[run_row(suite, entry, verdicts[entry.label]) for entry in suite.entries],
        )
    )


_HEAD: Final = ("n", "min", "median", "p99", "max", "median lies in", "bound")


def _cells(row: SpreadRow) -> tuple[str, ...]:
    return row.n, row.min, row.p50, row.p99, row.max, row.interval, row.bound


def _summary(
    suite: Suite, verdicts: Verdicts, rules: Sequence[Spread], numbers: Sequence[Spread]
) -> str:
    name, times = safe(suite.entries[0].experiment), plural(len(suite.entries), "run")
    lines = [
        f"## {name}, {times}: {headline(suite)}",
        "",
        detail_of(verdicts),
        "",
        table_row("", "rule", "verdicts", "expected", *_HEAD, "unit"),
        table_row(*["---"] * 12),
    ]
    for row in map(_row, rules):
        told = f"**{row.verdicts}**" if row.standing == Standing.DIFFERS else row.verdicts
        lines.append(
            table_row(row.sign, safe(row.name), told, row.expected, *_cells(row), row.unit)
        )
    lines += ["", table_row("figure", *_HEAD[:-1], "unit"), table_row(*["---"] * 8)]
    lines += [table_row(row.name, *_cells(row)[:-1], row.unit) for row in map(_row, numbers)]
    return "\n".join([*lines, "", *runs_lines(suite, verdicts), ""])


def print_repeat(suite: Suite, console: Console | None = None) -> None:
    """Print the distribution of every rule and figure, and what of the runs was not as expected."""
    console = console or Console(highlight=False)
    verdicts = read_verdicts(suite)
    rules = [_row(each) for each in rule_spreads(suite, verdicts)]
    numbers = [_row(each) for each in figure_spreads(suite)]
    first = Text(f"{suite.entries[0].experiment} {suite.name}: ")
    first.append(headline(suite), style_of(suite))
    cells: list[tuple[str, ...]] = [("", "rule", *_HEAD, "verdicts")]
    cells += [(row.sign, row.name, *_cells(row), _short(row)) for row in rules]
    cells += [("", row.name, *_cells(row), row.unit) for row in numbers]
    texts = align(cells, width_of(console), free=(1, 7, 8, 9), right=range(2, 7))
    styles = {Standing.DIFFERS: "red", Standing.RESULT: "cyan", Standing.AS_EXPECTED: "green"}
    lines = [first, Text(), Text(texts[0], "bold")]
    for row, text in zip([*rules, *numbers], texts[1:], strict=True):
        line = Text(text)
        line.stylize(styles[Standing(row.standing)] if row.verdicts else "", 0, 1)
        lines.append(line)
    lines.append(Text())
    lines += [
        Text(f"{entry.label}: {entry.state}{f' ({entry.reason})' if entry.reason else ''}")
        for entry in suite.entries
        if kind_of(suite) != "as-expected" and entry.state != "as expected"
    ]
    show(console, [*lines, Text(f"report  {here(suite.path / 'repeat.html')}")])


def _short(row: SpreadRow) -> str:
    if row.standing != Standing.AS_EXPECTED:
        return f"{row.verdicts} (expected {row.expected})"
    return row.verdicts
