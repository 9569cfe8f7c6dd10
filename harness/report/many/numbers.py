"""The numbers of many runs: of each run what was measured, and what several runs come to.

What one asks decides which runs belong together: all of an experiment (`repeat`), those of a
setting (`sweep`), or those of one side (`compare`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.distribution import Distribution, Interval, distribution, median_interval
from harness.base.errors import NoData
from harness.base.paths import COMMAND
from harness.experiment import Verdict
from harness.history.suites import Suite
from harness.report.load import Row, Run, load
from harness.report.many.suite_rows import Verdicts
from harness.report.outcome import Standing, expected_of, standing, verdict_of
from harness.report.parts import stops
from harness.report.parts.records import records
from harness.report.words import NOTHING, number


@dataclass(frozen=True)
class Figure:
    """One number of a run, or several of a kind (one per rebalance); none if not recorded."""

    name: str
    unit: str
    values: tuple[float, ...]


NAMES: Final = (
    "rebalances",
    "rebalance lasts",
    "evictions",
    "longest standstill",
    "acknowledged",
    "lost",
    "redelivered",
    "redelivered unexplained",
)


def figures(run: Run) -> list[Figure]:
    """The figures of a run, in the order of NAMES."""
    rebalances = run.tables["rebalances"]
    count = records(run)
    lasted = [row["duration_ms"] for row in rebalances if row["duration_ms"] is not None]
    rebalanced = len(rebalances) if run.has("rebalances") else None
    evicted = len(run.tables["evictions"]) if run.has("evictions") else None
    return [
        _one("rebalances", "", rebalanced),
        Figure("rebalance lasts", "ms", tuple(map(float, lasted))),
        _one("evictions", "", evicted),
        _one("longest standstill", "ms", stops.longest_ms(run)),
        _one("acknowledged", "records", count.acknowledged),
        _one("lost", "records", count.lost),
        _one("redelivered", "records", count.redelivered),
        _one("redelivered unexplained", "records", count.unexplained),
    ]


def _one(name: str, unit: str, value: float | None) -> Figure:
    return Figure(name, unit, () if value is None else (float(value),))


def measurements(run_dir: Path) -> dict[str, list[float]]:
    """Everything that was measured in a run, by rule: one number per thing examined.

    Raises NoData where the judgements cannot be read.
    """
    path = run_dir / "tables" / "judgements.parquet"
    try:
        rows = pq.read_table(
            path, columns=["rule", "measured"], page_checksum_verification=True
        ).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise NoData(
            f"{path} cannot be read ({error}): judge the run again with `{COMMAND} check {run_dir}`"
        ) from error
    found: dict[str, list[float]] = {}
    for row in rows:
        values = found.setdefault(row["rule"], [])
        if row["measured"] is not None:
            values.append(row["measured"])
    return found


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


@dataclass(frozen=True)
class Numbers:
    """The numbers of one judged run: what was measured, by rule, and its figures."""

    measured: Mapping[str, list[float]]
    figures: Sequence[Figure]


def numbers(run_dir: Path, run: Run | None = None) -> Numbers:
    """The numbers of a run. Raises NoData where they cannot be read."""
    return Numbers(measurements(run_dir), figures(run or load(run_dir)))


def spreads(
    verdicts: Sequence[Sequence[Row]], judged: Sequence[Numbers]
) -> tuple[list[Spread], list[Spread]]:
    """The distribution of every rule and of every figure over several runs.

    `verdicts` are of all of them, void ones too; `judged` of those that show anything.
    """
    rules = rules_over(verdicts, [each.measured for each in judged])
    return rules, figures_over([each.figures for each in judged])


def spreads_of(suite: Suite, verdicts: Verdicts) -> tuple[list[Spread], list[Spread]]:
    """The same over a suite; only runs whose folders are there still have numbers."""
    found = [suite.run_dir(entry) for entry in suite.entries if entry.judged]
    judged = [numbers(each) for each in found if each is not None and each.exists()]
    return spreads([verdicts[entry.label] for entry in suite.entries], judged)


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


def figures_over(per_run: Sequence[Sequence[Figure]]) -> list[Spread]:
    """The distribution of every figure over several runs."""
    return [
        spread(found[0].name, found[0].unit, [figure.values for figure in found])
        for found in zip(*per_run, strict=True)
    ]


def verdicts_text(verdicts: Mapping[str, int]) -> str:
    """How many runs came to each verdict: "9 HOLDS, 1 UNKNOWN"."""
    return ", ".join(f"{verdicts[name]} {name}" for name in Verdict if verdicts.get(name))


def interval_text(interval: Interval | None) -> str:
    """Where a median lies, with how certain that is."""
    if interval is None:
        return NOTHING
    return f"{number(interval.low)} – {number(interval.high)} ({interval.confidence:.0%})"
