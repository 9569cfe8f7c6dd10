"""What each kept run found, as its page, its JUnit and a terminal say it first.

Method: a kept run is judged by DuckDB, and the name of what it found and its sentences are pinned.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from harness.check.check import check
from harness.report.headline import of_run
from harness.report.load import load
from harness.tables.engines.contract import Engine
from tests.recorded.keep import FOUND, PROGRAMS, RUNS
from tests.recorded.test_recorded_runs import copied

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

KEPT: Final = sorted([*RUNS.iterdir(), *PROGRAMS.iterdir(), *FOUND.glob("*/*")])
PINNED: Final = Path(__file__).with_name("__snapshots__") / f"{Path(__file__).stem}.ambr"
NONE: Final = "–"


def name_of(run: Path) -> str:
    return f"{run.parent.name} {run.name}" if FOUND in run.parents else run.name


@pytest.mark.long(6)
@pytest.mark.parametrize("run", KEPT, ids=name_of)
def test_a_kept_run_finds_what_it_found_before(
    run: Path, tmp_path: Path, duckdb_engine: Engine, snapshot: SnapshotAssertion
) -> None:
    run_dir = copied(run, tmp_path / "run")
    check(run_dir, duckdb_engine)
    found = of_run(load(run_dir))

    assert f"{found.finding or NONE}: {found.headline}" == snapshot


def test_most_runs_with_a_fault_find_something() -> None:
    said = re.findall(
        r"^  ['\"](.+?): (.+)['\"]$", PINNED.read_text(encoding="utf-8"), re.MULTILINE
    )
    broken = [name for name, sentence in said if not sentence.startswith("Nothing was broken")]

    assert len(KEPT) == len(said)
    assert broken.count(NONE) <= 0.2 * len(broken)
