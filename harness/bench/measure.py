"""Figures with their limits, and what commands cost: `check`, and `experiment`."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

import psutil
import pyarrow as pa

from harness.base.errors import Exit, HarnessError
from harness.bench.synthetic import write_synthetic
from harness.history import manifest
from harness.provision.tools import Tools

_LOOK_EVERY_S: Final = 0.25
# Delivered records of the made-up histories that `check` judges.
SIZES: Final = (10**6, 10**7, 10**8)
_LIMITS_S: Final = {10**7: 12, 10**8: 40}
_MEMORY_MB: Final = 3_000
_EXPERIMENT: Final = "broker-kill"
# From steady state until all is well again, the schedule and Kafka's own timers rule.
_FORCED: Final = ("steady", "faults", "recover")
# The figures, with their limits in seconds.
_FIGURES: Final = {
    "wall beyond its own timers": 10.0,
    "last record to verdict and page": 7.0,
}


@dataclass(frozen=True)
class Figure:
    """One measured number (a median of rounds), and its limit; null: it has none."""

    bench: str
    figure: str
    value: float
    unit: str
    rounds: int
    limit: float | None = None
    at_most: bool = True

    @property
    def met(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit


_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("bench", pa.string()),
    ("figure", pa.string()),
    ("value", pa.float64()),
    ("unit", pa.string()),
    ("rounds", pa.int32()),
    ("limit", pa.float64()),
    ("met", pa.bool_()),
]
SCHEMA: Final = pa.schema(_COLUMNS)


def table_of(figures: Sequence[Figure]) -> pa.Table:
    rows = [{name: getattr(figure, name) for name in SCHEMA.names} for figure in figures]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@dataclass(frozen=True)
class Cost:
    """What a command and its children took: time, and memory at its peak."""

    wall_s: float
    memory_mb: float
    exit_code: int


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command, and look at its memory and that of its children four times a second.

    The command is ended if this is left early.
    """
    began = time.monotonic()
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak_bytes = 0
    try:
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _resident_bytes(process))
            time.sleep(_LOOK_EVERY_S)
    finally:  # an interrupted bench leaves no process that writes into what is being removed
        if process.poll() is None:
            for each in (*process.children(recursive=True), process):
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            process.wait()
    return Cost(time.monotonic() - began, peak_bytes / 2**20, process.returncode)


def _resident_bytes(process: psutil.Process) -> int:
    """Memory of a process and its descendants. Shared pages count more than once.

    A child that has not called `exec` yet is left out: it still has all its parent's memory. (Spark
    starts a `chmod` for each file, and twice a JVM of 2 GB was 4 GB.)
    """
    total = 0
    commands: dict[int, list[str]] = {}
    with suppress(psutil.NoSuchProcess):
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                commands[each.pid] = each.cmdline()
                if commands[each.pid] != commands.get(each.ppid()):
                    total += each.memory_info().rss
    return total


def bench_check(_tools: Tools, rounds: int) -> list[Figure]:
    """`check` of made-up histories: wall time, Spark's start included, and memory."""
    figures = []
    walls: dict[int, float] = {}
    for records in SIZES:
        times = rounds if records < 10**8 else 1
        size = f"10^{len(str(records)) - 1} records"
        with tempfile.TemporaryDirectory() as folder:
            run_dir = write_synthetic(Path(folder) / "run", records)
            measured = [_check(run_dir) for _ in range(times)]
        walls[records] = median(cost.wall_s for cost in measured)
        memory_mb = max(cost.memory_mb for cost in measured)
        limit_s = _LIMITS_S.get(records)
        figures += [
            Figure("check", f"wall, {size}", walls[records], "s", times, limit_s),
            Figure("check", f"memory, {size}", memory_mb, "MB", times, _MEMORY_MB),
        ]
    for smaller, larger in pairwise(SIZES):
        growth = walls[larger] / walls[smaller] / (larger / smaller)
        what = f"growth to {larger:.0e}, time : records"
        figures.append(Figure("check", what, growth, "×", 1, 1))
    return figures


def _check(run_dir: Path) -> Cost:
    cost = cost_of([sys.executable, "-m", "harness", "check", str(run_dir)])
    if cost.exit_code != 0:
        raise HarnessError(f"check of {run_dir} ended with exit code {cost.exit_code}")
    return cost


def bench_experiment(_tools: Tools, rounds: int) -> list[Figure]:
    """Wall time of `experiment broker-kill`, warm, less its time from steady state to recovery.

    And how long verdict and page take from the last record that a consumer reads.
    """
    name = f"experiment {_EXPERIMENT}, warm"
    measured = [_play() for _ in range(rounds)]
    return [
        Figure(name, figure, median(values), "s", rounds, limit)
        for (figure, limit), values in zip(
            _FIGURES.items(), zip(*measured, strict=True), strict=True
        )
    ]


def _play() -> tuple[float, ...]:
    """The figures of one run: played, judged and reported.

    A verdict may be withheld. Raises HarnessError for a run that was not judged.
    """
    with tempfile.TemporaryDirectory() as folder:
        began_at = datetime.now(UTC)
        command = [sys.executable, "-m", "harness", "experiment", _EXPERIMENT]
        cost = cost_of([*command, "--results", folder])
        if cost.exit_code not in (Exit.AS_EXPECTED, Exit.DIFFERS, Exit.BUSY):
            raise HarnessError(f"{_EXPERIMENT} was not judged: exit code {cost.exit_code}")
        phases = manifest.read(Path(folder) / _EXPERIMENT / "latest")["phases"]
    from_to = {
        phase["name"]: (datetime.fromisoformat(phase["from"]), datetime.fromisoformat(phase["to"]))
        for phase in phases
    }
    forced_s = sum(_lasted_s(*from_to[name]) for name in _FORCED)
    read_s = _lasted_s(began_at, from_to["drain"][1])
    return cost.wall_s - forced_s, cost.wall_s - read_s


def _lasted_s(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()
