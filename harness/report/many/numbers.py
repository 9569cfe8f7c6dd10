"""The numbers of many runs: of each run what was measured, and what several runs come to.

What one asks decides which runs belong together: all of an experiment (`repeat`), those of a
setting (`sweep`), or those of one side (`compare`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Final

from harness.base.distribution import (
    CONFIDENCE,
    Distribution,
    Interval,
    distribution,
    median_interval,
)
from harness.experiment import Verdict
from harness.report.formats import NOTHING, number
from harness.report.load import JudgedRun, Row, again, load
from harness.report.many.suite_rows import rows_in
from harness.report.outcome import Standing, expected_of, in_order, standing, verdict_of
from harness.report.parts import stops
from harness.report.parts.record_counts import records

# What was measured in a run, by rule and by figure; of a figure that is not on record, nothing.
Numbers = Mapping[str, Sequence[float]]

UNITS: Final = {
    "rebalances": "",
    "rebalance lasts": "ms",
    "evictions": "",
    "longest standstill": "ms",
    "acknowledged": "records",
    "lost": "records",
    "redelivered": "records",
    "redelivered unexplained": "records",
}


def numbers(run_dir: Path, run: JudgedRun | None = None) -> Numbers:
    """The numbers of a judged run: by rule one per thing examined, and the figures of UNITS.

    Raises NoData where they cannot be read.
    """
    found: dict[str, list[float]] = {}
    path = run_dir / "tables" / "judgements.parquet"
    for row in rows_in(path, again(run_dir), ["rule", "measured"]):
        if row["measured"] is not None:
            found.setdefault(row["rule"], []).append(row["measured"])
    run = run or load(run_dir)
    rebalances, count = run.tables["rebalances"], records(run)
    figures: Sequence[Sequence[float | None]] = (
        [len(rebalances) if run.has("rebalances") else None],
        [row["duration_ms"] for row in rebalances],
        [len(run.tables["evictions"]) if run.has("evictions") else None],
        [stops.longest_ms(run)],
        [count.acknowledged],
        [count.lost],
        [count.redelivered],
        [count.unexplained],
    )
    for name, values in zip(UNITS, figures, strict=True):
        found[name] = [float(value) for value in values if value is not None]
    return found


@dataclass(frozen=True)
class Spread:
    """One rule, or one figure, over several runs.

    `per_run` has the measurements of each judged run, `rows` the verdicts of all runs that were
    played, void ones too; a figure has none. `worst` is the verdict that counts, `expected` and
    `standing` are of it; `values` are over everything measured in all runs.
    """

    name: str
    unit: str = ""
    per_run: Sequence[Sequence[float]] = ()
    rows: Sequence[Row] = ()

    @cached_property
    def every(self) -> list[float]:
        return list(chain.from_iterable(self.per_run))

    @cached_property
    def values(self) -> Distribution:
        return distribution(self.every)

    @property
    def median(self) -> float:
        """The middle one of all; 0 if nothing was measured."""
        return self.values.p50 or 0.0

    @cached_property
    def interval(self) -> Interval | None:
        """Where the median of a run lies.

        What was measured within one run shares its phases and is not independent, but runs are.
        """
        return median_interval([median(values) for values in self.per_run if values])

    @property
    def sure(self) -> Interval | None:
        """The same, where there are runs enough to say so with 95 % confidence."""
        found = self.interval
        return found if found is not None and found.confidence >= CONFIDENCE else None

    @cached_property
    def verdicts(self) -> Counter[str]:
        return Counter(map(verdict_of, self.rows))

    @property
    def counted(self) -> str:
        """The same as text: "9 HOLDS, 1 UNKNOWN"."""
        found = ((self.verdicts[name], name) for name in Verdict)
        return ", ".join(f"{count} {name}" for count, name in found if count)

    @property
    def verdict(self) -> str:
        """The verdict of all runs, or how many came to each; a dash where none was judged."""
        return next(iter(self.verdicts), NOTHING) if len(self.verdicts) < 2 else self.counted

    @cached_property
    def worst(self) -> Row | None:
        return in_order(self.rows)[0] if self.rows else None

    @property
    def expected(self) -> str:
        return expected_of(self.worst) if self.worst else ""

    @property
    def standing(self) -> Standing:
        return standing(self.worst) if self.worst else Standing.AS_EXPECTED

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Those of the first run that has any; a void one has none."""
        every = ((row.get("bound_low"), row.get("bound_high")) for row in self.rows)
        return next((each for each in every if each != (None, None)), (None, None))


def spreads(
    verdicts: Sequence[Sequence[Row]], judged: Sequence[Numbers]
) -> tuple[list[Spread], list[Spread]]:
    """Every rule, in the order of the first run's verdicts, and every figure over several runs.

    `verdicts` are of all of them, void ones too; `judged` of those that show anything.
    """
    rules: dict[str, list[Row]] = {}
    for row in chain.from_iterable(verdicts):
        rules.setdefault(row["rule"], []).append(row)

    def per_run(name: str) -> list[Sequence[float]]:
        return [found.get(name, ()) for found in judged]

    return (
        [Spread(rule, rows[0]["unit"] or "", per_run(rule), rows) for rule, rows in rules.items()],
        [Spread(name, unit, per_run(name)) for name, unit in UNITS.items() if judged],
    )


def interval_text(found: Interval | None, written: Callable[[object], str] = number) -> str:
    """Where a median lies, with how certain that is; a dash where that is not known."""
    if found is None:
        return NOTHING
    return f"{written(found.low)} – {written(found.high)} ({found.confidence:.0%})"
