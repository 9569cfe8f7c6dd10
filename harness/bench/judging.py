"""What judging costs: `check` on made-up histories of 10^6 to 10^8 delivered records.

Beside it DuckDB is asked the same question about losses and repeats of one row per message, which
is what a checker that records every message has to answer.
"""

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Final

import duckdb

from harness.base.errors import HarnessError
from harness.bench.measure import FIRST_VERDICT, Cost, Figure, cost_of, median
from harness.bench.synthetic import write_synthetic

SIZES: Final = (10**6, 10**7, 10**8)
_LIMITS_S: Final = {10**7: 12, 10**8: 40}
# Rows of one message each: more would not fit beside Spark in the memory of a small machine.
_LARGEST_PER_MESSAGE: Final = 10**7


def bench(rounds: int) -> list[Figure]:
    """Wall time and memory of the whole command, Spark's start included.

    And how long it takes until the terminal has DuckDB's verdict.
    """
    figures = []
    walls: dict[int, float] = {}
    for records in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            run_dir = write_synthetic(Path(folder) / "run", records)
            measured = [_check(run_dir) for _ in range(rounds if records < 10**8 else 1)]
            walls[records] = median([cost.wall_s for cost in measured])
            first_s = median([cost.told_s for cost in measured if cost.told_s is not None])
            memory_mb = max(cost.memory_mb for cost in measured)
            size = f"10^{len(str(records)) - 1}"
            figures += [
                Figure(
                    "check",
                    f"wall, {size} records",
                    walls[records],
                    "s",
                    len(measured),
                    _LIMITS_S.get(records),
                ),
                Figure("check", f"first verdict, {size} records", first_s, "s", len(measured)),
                Figure("check", f"memory, {size} records", memory_mb, "MB", len(measured), 3_000),
            ]
            if records <= _LARGEST_PER_MESSAGE:
                figures.append(
                    Figure("check", f"DuckDB per message, {size}", _duckdb(run_dir), "s", 1)
                )
    for smaller, larger in pairwise(SIZES):
        growth = walls[larger] / walls[smaller] / (larger / smaller)
        figures.append(
            Figure("check", f"growth to {larger:.0e}, time : records", growth, "×", 1, 1)
        )
    return figures


def _check(run_dir: Path) -> Cost:
    """What the command `check` costs with its Spark, and when it printed DuckDB's verdict."""
    command = [sys.executable, "-m", "harness", "check", str(run_dir)]
    cost = cost_of(command, told=FIRST_VERDICT)
    if cost.exit_code != 0 or cost.told_s is None:
        raise HarnessError(f"check of {run_dir} ended with exit code {cost.exit_code}")
    return cost


def _duckdb(run_dir: Path) -> float:
    """Seconds to find losses and repeats from one row per message, made beforehand."""
    with duckdb.connect() as database:
        database.execute(f"""
            CREATE TABLE messages AS
            SELECT topic, partition, unnest(range(first_offset, last_offset + 1)) AS position,
                   processed_at IS NOT NULL AS processed
            FROM read_parquet('{run_dir}/history/deliveries.parquet')
        """)
        database.execute(f"""
            CREATE TABLE sent AS
            SELECT topic, partition, unnest(range(first_offset, last_offset + 1)) AS position
            FROM read_parquet('{run_dir}/history/sends.parquet')
            WHERE outcome = 'acknowledged'
        """)
        began = time.monotonic()
        database.execute("""
            SELECT count(*) FILTER (WHERE m.position IS NULL), sum(greatest(m.times - 1, 0))
            FROM sent s LEFT JOIN (
                SELECT topic, partition, position, count(*) AS times
                FROM messages WHERE processed GROUP BY ALL
            ) m USING (topic, partition, position)
        """).fetchall()
        return time.monotonic() - began
