"""Every recorded run is judged as before: each verdict and each number.

Method: a kept run is copied and checked like any other, and what is found is compared with what was
found when it was kept. A change that is meant is looked at by `make diff-recorded`, and kept by
`make pin`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from harness.check.check import check
from harness.tables.engines.contract import Engine
from tests.recorded import digests
from tests.recorded.keep import RUNS

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

KEPT = sorted(path.name for path in RUNS.iterdir())


@pytest.mark.parametrize("run", KEPT)
def test_a_recorded_run_is_judged_as_before(
    run: str,
    tmp_path: Path,
    duckdb_engine: Engine,
    snapshot: SnapshotAssertion,
) -> None:
    found = judged(RUNS / run, tmp_path / run, duckdb_engine)

    assert digests.judgements(found) == snapshot, digests.differ(run)


def judged(run: Path, run_dir: Path, engine: Engine) -> str:
    """What the engine makes of a copy of the run: a line for each verdict, and for each row."""
    verdicts = check(copied(run, run_dir), engine).verdicts
    rows = pq.read_table(run_dir / "tables" / "judgements.parquet").to_pylist()

    assert [] == [each["rule"] for each in verdicts if each["verdict"] != each["expected"]]
    return "\n".join([*map(as_verdict, verdicts), "", *map(as_row, rows)])


def copied(run: Path, run_dir: Path) -> Path:
    """A copy of a kept run, to be judged."""
    shutil.copytree(run, run_dir)
    return run_dir


def as_verdict(verdict: dict[str, Any]) -> str:
    return f"{verdict['rule']} {verdict['verdict']} of {verdict['examined']}"


def as_row(row: dict[str, Any]) -> str:
    text = f"{row['rule']} {row['subject']}: {row['ok']}, {row['measured']} of "
    text += f"{row['bound_low']} to {row['bound_high']}"
    return text + (f" ({row['excused']})" if row["excused"] else "")


def test_runs_of_both_clients_and_all_protocols_are_kept() -> None:
    sorts = {tuple(name.split(".")[1:3]) for name in KEPT}
    assert {
        (client, protocol)
        for client in ("librdkafka", "java")
        for protocol in ("eager", "cooperative", "consumer")
    } == sorts
