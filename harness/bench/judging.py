"""What judging costs: `check` on made-up histories of 10^6 to 10^8 delivered records."""

import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

from harness.base.errors import HarnessError
from harness.bench.measure import Cost, Figure, cost_of
from harness.bench.synthetic import write_synthetic
from harness.provision.tools import Tools

SIZES: Final = (10**6, 10**7, 10**8)
_LIMITS_S: Final = {10**7: 12, 10**8: 40}
_MEMORY_MB: Final = 3_000


def bench(_tools: Tools, rounds: int) -> list[Figure]:
    """Wall time of the command, Spark's start included, and memory."""
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
    """What one judgement takes."""
    cost = cost_of([sys.executable, "-m", "harness", "check", str(run_dir)])
    if cost.exit_code != 0:
        raise HarnessError(f"check of {run_dir} ended with exit code {cost.exit_code}")
    return cost
