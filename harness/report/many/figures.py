"""The few numbers that say what a run did to its group, for setting runs beside each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import NoData
from harness.base.paths import COMMAND
from harness.report.load import Run
from harness.report.parts import stops
from harness.report.parts.records import records


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
