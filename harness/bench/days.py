"""What a run of a day costs once it is over: `collect` and `check`, in a machine's 4 GB.

The run is made up (`long_run`); both commands are processes of their own, and ended where they take
more memory than there is to be.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.base.errors import BadInput, HarnessError
from harness.bench.long_plan import LongPlan
from harness.bench.long_run import write_long_run
from harness.bench.measure import Cost, Figure, cost_of

MEMORY_MB: Final = 4_096
SIZES: Final = ("24h:300", "2h:20000")  # how long, and with how many records/s
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600}


def bench(
    sizes: Sequence[str] = SIZES, *, members: int = 3, rebalances_per_h: int = 120
) -> list[Figure]:
    """Time, processor time, memory and disk of both commands, for runs of these sizes."""
    plans = [plan_of(size, members, rebalances_per_h) for size in sizes]
    return [figure for plan in plans for figure in _measure(plan)]


def plan_of(size: str, members: int = 3, rebalances_per_h: int = 120) -> LongPlan:
    """The run of a size such as 24h:300. Raises BadInput for another text."""
    duration, _, rate = size.partition(":")
    number, unit = duration[:-1], duration[-1:]
    if not (number.isdecimal() and unit in _UNITS and rate.isdecimal()):
        raise BadInput(f"{size} is no size of a run: say 24h:300, for how long and records/s")
    return LongPlan(int(number) * _UNITS[unit], int(rate), members, rebalances_per_h)


def _measure(plan: LongPlan) -> list[Figure]:
    records = plan.sent_by(plan.end_us)
    name = f"{plan.duration_s / 3_600:g} h, {records / 1e6:g} million records"
    figures: list[Figure] = []

    def note(what: str, value: float, unit: str, limit: float | None = None) -> None:
        figures.append(Figure(name, what, value, unit, 1, limit))

    with tempfile.TemporaryDirectory(prefix="kafka-chaos-days-") as folder:
        run_dir = Path(folder) / "days" / "20260101T000000-days"
        began = time.monotonic()
        write_long_run(run_dir, plan)
        note("made up in", time.monotonic() - began, "s")
        raw_mb = _size_mb(run_dir)
        note("journals and logs", raw_mb, "MB")
        for command in ("collect", "check"):
            cost = _run(command, run_dir)
            note(f"{command}, wall", cost.wall_s, "s")
            note(f"{command}, CPU", cost.cpu_s, "s")
            note(f"{command}, memory", cost.memory_mb, "MB", MEMORY_MB)
        history_mb = _size_mb(run_dir / "history")
        note("history", history_mb, "MB")
        note("tables and verdicts", _size_mb(run_dir) - raw_mb - history_mb, "MB")
    return figures


def _run(command: str, run_dir: Path) -> Cost:
    cost = cost_of([sys.executable, "-m", "harness", command, str(run_dir)], MEMORY_MB)
    if cost.exit_code != 0:
        raise HarnessError(f"{command} of {run_dir} ended with exit code {cost.exit_code}")
    return cost


def _size_mb(path: Path) -> float:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) / 1e6
