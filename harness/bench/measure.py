"""Rounds, medians and results: what every benchmark shares."""

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil
import pyarrow as pa

from harness.base.errors import HarnessError

FIRST_VERDICT: Final = "first verdict"  # as commands tell it on standard error
_READ_S: Final = 5.0
_LOOK_EVERY_S: Final = 0.25


@dataclass(frozen=True)
class Figure:
    """One measured number, and the limit it is held against (null: none was set)."""

    bench: str
    figure: str
    value: float
    unit: str
    rounds: int
    limit: float | None = None
    at_most: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the limit is kept; None without one."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit


_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("bench", pa.string()),
    ("figure", pa.string()),
    ("value", pa.float64()),
    ("unit", pa.string()),
    ("rounds", pa.int32()),
    ("limit", pa.float64()),
    ("met", pa.bool_()),
]
SCHEMA = pa.schema(_COLUMNS)


def table_of(figures: Sequence[Figure]) -> pa.Table:
    """The figures as a table."""
    rows = [{name: getattr(figure, name) for name in SCHEMA.names} for figure in figures]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def in_turn(rounds: int, **variants: Callable[[], float]) -> dict[str, list[float]]:
    """Run each variant once a round, the order reversed every other round.

    So that a machine that gets slower or warmer does so for both.
    """
    measured: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        names = list(variants) if number % 2 == 0 else list(reversed(variants))
        for name in names:
            measured[name].append(variants[name]())
    return measured


def median(values: Sequence[float]) -> float:
    """The median."""
    return float(statistics.median(values))


def ratio(measured: dict[str, list[float]], above: str, below: str) -> float:
    """Median of the ratios of each round."""
    pairs = zip(measured[above], measured[below], strict=True)
    return median([first / second for first, second in pairs])


@dataclass(frozen=True)
class Cost:
    """What a command took, those that it started included; memory at its most.

    `told_s` is the time from its start to the line that was waited for; null if none came.
    """

    wall_s: float
    cpu_s: float
    memory_mb: float
    exit_code: int
    told_s: float | None = None


def cost_of(command: Sequence[str], most_mb: float | None = None, told: str = "") -> Cost:
    """Run a command, and look at the memory of it and of what it starts four times a second.

    `told` is a text. `told_s` is the time until a line of standard error contains it.

    Raises HarnessError where they take more than `most_mb`: they are ended then, and whenever
    this is left.
    """
    began, before = time.monotonic(), os.times()
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told_at: list[float] = []

    def read() -> None:
        with process.stderr as said:
            for line in said:
                if told and told in line:
                    told_at.append(time.monotonic())

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    peak_bytes = 0
    try:
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _resident_bytes(process))
            if most_mb is not None and peak_bytes > most_mb * 2**20:
                took = f"took {peak_bytes >> 20} MB, more than {most_mb:g}"
                raise HarnessError(f"{command[2:5]} {took}")
            time.sleep(_LOOK_EVERY_S)
    finally:  # an interrupted bench leaves nobody who writes into what is being removed
        if process.poll() is None:
            _end(process)
    after = os.times()
    spent = after.children_user + after.children_system
    cpu_s = spent - before.children_user - before.children_system
    wall_s = time.monotonic() - began
    reading.join(_READ_S)  # what a child keeps open may go on
    told_s = told_at[0] - began if told_at else None
    return Cost(wall_s, cpu_s, peak_bytes / 2**20, process.returncode, told_s)


def _end(process: psutil.Popen) -> None:
    for each in (*process.children(recursive=True), process):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


def _resident_bytes(process: psutil.Process) -> int:
    """Memory of a process and everything below it. Shared pages count more than once.

    Except those of a child that has not become a program of its own yet: that one still has all its
    parent's memory. (Spark starts a `chmod` for each file, and twice a JVM of 2 GB was 4 GB.)
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
