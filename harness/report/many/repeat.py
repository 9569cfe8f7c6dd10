"""What the repeats of one experiment say together: a distribution per rule, and every verdict.

Verdicts are counted and the worst one counts: a repeat that differs is a result, not noise to be
tried again.
"""

from typing import Any, Final

import pyarrow as pa

from harness.base.paths import here
from harness.experiment import Verdict, protocol_said
from harness.history import store
from harness.history.suites import State, Suite
from harness.report.formats import bound, number
from harness.report.many import blocks, suite_rows
from harness.report.many.blocks import Block, Column, Line, Row
from harness.report.many.numbers import Spread, interval_text, numbers, spreads
from harness.report.many.suite_rows import Verdicts, read_verdicts
from harness.report.outcome import Standing, name_of, sign_of, verdict_of
from harness.report.run.page import Fact

# `distributions.parquet`: one row per rule and per figure, over all repeats that were judged.
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("kind", pa.string()),  # rule | figure
    ("name", pa.string()),  # id of the rule, or name of the figure
    ("unit", pa.string()),
    ("expected", pa.string()),
    ("verdict", pa.string()),  # the worst; null for a figure
    # Runs, and those with each verdict; then things measured in all runs.
    *((name, pa.int64()) for name in ("runs", "holds", "violated", "unknown", "n")),
    *((name, pa.float64()) for name in ("min", "p50", "p99", "max")),
    # The interval of the median, over the medians of the runs.
    *((f"median_{name}", pa.float64()) for name in ("low", "high", "confidence")),
    *((f"bound_{name}", pa.float64()) for name in ("low", "high")),
]
DISTRIBUTIONS: Final = pa.schema(_COLUMNS)
PAGE: Final = "repeat.html"
_LEAD: Final = (
    "Over everything measured in all runs. Every run's verdict counts, and no run is played again. "
    "“Median lies in” is the 95 % confidence interval of the median of the runs' medians; with "
    "fewer than six runs the confidence is lower."
)


def write(suite: Suite) -> blocks.Overview:
    """Write `repeat.html`, `summary.md`, `junit.xml`, `verdicts.parquet`, `distributions.parquet`.

    Only runs whose folders are there still have numbers. Raises NoData where a run that was judged
    cannot be read.
    """
    verdicts = read_verdicts(suite)
    found = [suite.run_dir(entry) for entry in suite.entries if entry.judged]
    judged = [numbers(each) for each in found if each is not None and each.exists()]
    rules, figures = spreads([verdicts[entry.label] for entry in suite.entries], judged)
    kept = [*(_kept("rule", each) for each in rules), *(_kept("figure", each) for each in figures)]
    table = pa.Table.from_pylist(kept, schema=DISTRIBUTIONS)
    store.write(suite.path / "distributions.parquet", [table], DISTRIBUTIONS)
    shown = _shown(suite, verdicts, rules, figures)
    return suite_rows.write_suite(suite, verdicts, shown, PAGE, "summary.md")


def _kept(kind: str, each: Spread) -> dict[str, Any]:
    low, high = each.bounds
    interval = vars(each.interval) if each.interval else {}
    return {
        "kind": kind,
        "name": each.name,
        "unit": each.unit,
        "expected": each.expected or None,
        "verdict": verdict_of(each.worst) if each.worst else None,
        "runs": len(each.rows) or len(each.per_run),
        **{str(name).lower(): each.verdicts[name] for name in Verdict if each.rows},
        **vars(each.values),
        **{f"median_{name}": value for name, value in interval.items()},
        "bound_low": low,
        "bound_high": high,
    }


def _shown(
    suite: Suite, verdicts: Verdicts, rules: list[Spread], figures: list[Spread]
) -> blocks.Overview:
    first = suite.entries[0]
    differing = sum(each.standing is Standing.DIFFERS for each in rules)
    unlike = [each for each in suite.entries if each.state is not State.AS_EXPECTED]
    verdict, bounds = Column("verdicts", free=True), Column("bound", number=True, free=True)
    parts = (
        Block(
            "rules",
            "Rules",
            _LEAD,
            columns=("rule", verdict, *_NUMBERS, bounds, "unit"),
            rows=[_rule(each) for each in rules],
        ),
        Block(
            "figures",
            "Figures",
            columns=("figure", *_NUMBERS, "unit"),
            rows=[Row((each.name, *_numbers(each), each.unit)) for each in figures],
            notes=() if figures else ("No run was judged.",),
        ),
        suite_rows.runs(suite, verdicts),
        Block(
            "unlike",
            "",
            notes=[suite_rows.unshown(vars(entry)) for entry in unlike],
            on=(blocks.TERMINAL,),
        ),
    )
    facts = (
        Fact("client", first.client, protocol_said(first.protocol)),
        Fact("Kafka", first.kafka),
        Fact("rules", str(len(rules))),
        Fact("differ", str(differing), "rules", "bad" if differing else ""),
    )
    return suite_rows.shown_of(
        suite,
        first.experiment,
        suite_rows.detail_of(verdicts),
        parts,
        facts,
        kind="repeats",
        name=f"{first.experiment} {suite.name}",
        claim=first.claim,
        files=(("report", here(suite.path / PAGE)),),
    )


_NUMBERS: Final = (
    *(Column(head, number=True) for head in ("n", "min", "median", "p99", "max")),
    Column("median lies in", number=True, free=True),
)


def _numbers(each: Spread) -> tuple[str, ...]:
    values = each.values
    found = (values.n, values.min, values.p50, values.p99, values.max)
    return (*map(number, found), interval_text(each.interval))


def _rule(each: Spread) -> Row:
    assert each.worst is not None, "a rule has verdicts"
    verdicts = [Line(each.counted, each.standing, sign=sign_of(each.worst))]
    if each.standing is not Standing.AS_EXPECTED:
        verdicts.append(Line(f"(expected {each.expected})", "sub"))
    if each.standing is Standing.DIFFERS:
        verdicts.append(Line(str(each.worst["reason"] or ""), blocks.ASIDE))
    numbers = (*_numbers(each), bound(*each.bounds), each.unit)
    return Row((name_of(each.name), verdicts, *numbers), each.standing)
