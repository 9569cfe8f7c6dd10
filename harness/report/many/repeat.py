"""What the repeats of one experiment say together: a distribution per rule, and every verdict.

Verdicts are counted and the worst one counts: a repeat that differs is a result, not noise to be
tried again.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from rich.console import Console

from harness.base.paths import here
from harness.experiment import Verdict
from harness.history import store
from harness.history.suites import Suite
from harness.report.many.blocks import (
    ASIDE,
    Block,
    Line,
    Overview,
    Row,
    Table,
    TableColumn,
    print_shown,
)
from harness.report.many.numbers import (
    Spread,
    interval_text,
    spreads_of,
    verdicts_text,
)
from harness.report.many.suite_rows import (
    Verdicts,
    detail_of,
    read_verdicts,
    runs,
    shown_of,
    unlike,
    write_suite,
)
from harness.report.outcome import SIGNS, Standing, verdict_of
from harness.report.run.page import Fact
from harness.report.words import bound, number

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
PAGE: Final = "repeat.html"
_LEAD: Final = (
    "Over everything measured in all runs. Every run's verdict counts, and no run is played again. "
    "“Median lies in” is an exact confidence interval for the median of the runs' medians, by "
    "order statistics; fewer than six runs cannot reach 95 %."
)


def write(suite: Suite) -> None:
    """Write `repeat.html`, `summary.md`, `junit.xml`, `verdicts.parquet`, `distributions.parquet`.

    Raises NoData where a run that was judged cannot be read.
    """
    verdicts = read_verdicts(suite)
    rules, figures = spreads_of(suite, verdicts)
    kept = [_kept("rule", each) for each in rules] + [_kept("figure", each) for each in figures]
    table = pa.Table.from_pylist(kept, schema=DISTRIBUTIONS)
    store.write(suite.path / "distributions.parquet", [table], DISTRIBUTIONS)
    write_suite(suite, verdicts, _shown(suite, verdicts, rules, figures), PAGE, "summary.md")


def print_repeat(suite: Suite, console: Console | None = None) -> None:
    """Print the distribution of every rule and figure, and what of the runs was not as expected."""
    verdicts = read_verdicts(suite)
    print_shown(_shown(suite, verdicts, *spreads_of(suite, verdicts)), console)


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


def _shown(
    suite: Suite, verdicts: Verdicts, rules: Sequence[Spread], figures: Sequence[Spread]
) -> Overview:
    first = suite.entries[0]
    differing = sum(each.standing is Standing.DIFFERS for each in rules)
    blocks = (
        Block("rules", "Rules", _LEAD, table=Table(_COLUMNS_SHOWN, tuple(map(_rule, rules)))),
        Block(
            "figures",
            "Figures",
            table=Table(_of_figures(_COLUMNS_SHOWN), tuple(map(_figure, figures))),
            notes=() if figures else ("No run was judged.",),
        ),
        runs(suite, verdicts),
        unlike(suite),
    )
    facts = (
        Fact("client", first.client, first.protocol),
        Fact("Kafka", first.kafka, ""),
        Fact("rules", str(len(rules)), ""),
        Fact("differ", str(differing), "rules", "bad" if differing else ""),
    )
    return shown_of(
        suite,
        first.experiment,
        detail_of(verdicts),
        blocks,
        facts,
        kind="repeats",
        name=f"{first.experiment} {suite.name}",
        claim=first.claim,
        files=(("report", here(suite.path / PAGE)),),
    )


_COLUMNS_SHOWN: Final = (
    TableColumn("rule", free=True),
    TableColumn("verdicts", free=True),
    *(TableColumn(head, number=True) for head in ("n", "min", "median", "p99", "max")),
    TableColumn("median lies in", number=True, free=True),
    TableColumn("bound", number=True, free=True),
    TableColumn("unit"),
)


def _of_figures(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    return (TableColumn("figure"), *columns[2:-2], columns[-1])


def _numbers(each: Spread) -> tuple[str, ...]:
    values = each.values
    found = (values.n, values.min, values.p50, values.p99, values.max)
    return (*map(number, found), interval_text(each.interval))


def _figure(each: Spread) -> Row:
    return Row((each.name, *_numbers(each), each.unit))


def _rule(each: Spread) -> Row:
    worst = each.worst
    unknown = worst is not None and verdict_of(worst) == Verdict.UNKNOWN
    differs = each.standing is Standing.DIFFERS
    sign = "?" if differs and unknown else SIGNS[each.standing]
    verdicts = [Line(verdicts_text(each.verdicts), each.standing, sign=sign)]
    if each.standing is not Standing.AS_EXPECTED:
        verdicts.append(Line(f"(expected {each.expected})", "sub"))
    if differs and worst is not None:
        verdicts.append(Line(str(worst["reason"] or ""), ASIDE))
    limits = bound(each.bound_low, each.bound_high)
    return Row((each.name, verdicts, *_numbers(each), limits, each.unit), each.standing)
