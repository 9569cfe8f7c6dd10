"""Figures with their limits, and what a command costs: what every benchmark shares."""

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil
import pyarrow as pa

_LOOK_EVERY_S: Final = 0.25


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
            _end(process)
    return Cost(time.monotonic() - began, peak_bytes / 2**20, process.returncode)


def _end(process: psutil.Popen) -> None:
    for each in (*process.children(recursive=True), process):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


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
