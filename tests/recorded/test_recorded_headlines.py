"""What each kept run found, as its page, its JUnit and a terminal say it first.

Method: a kept run is judged by DuckDB, and the name of what it found and its sentences are pinned:
in a file of their own, for a snapshot whose test has its turn on another day counts as unused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from harness.check.check import check
from harness.report.headline import of_run
from harness.report.load import load
from harness.tables.engines.contract import Engine
from tests.recorded.keep import FOUND, PROGRAMS, RUNS
from tests.recorded.test_recorded_runs import copied

KEPT: Final = sorted([*RUNS.iterdir(), *PROGRAMS.iterdir(), *FOUND.glob("*/*")])
PINNED: Final = Path(__file__).with_name("headlines.json")
NONE: Final = "–"


def name_of(run: Path) -> str:
    return f"{run.parent.name} {run.name}" if FOUND in run.parents else run.name


def pinned() -> dict[str, str]:
    """The name of what each run found, and its sentences, by the name of the run."""
    found: dict[str, str] = json.loads(PINNED.read_text(encoding="utf-8"))
    return found


@pytest.mark.long(6)
@pytest.mark.parametrize("run", KEPT, ids=name_of)
def test_a_kept_run_finds_what_it_found_before(
    run: Path, tmp_path: Path, duckdb_engine: Engine, pytestconfig: pytest.Config
) -> None:
    run_dir = copied(run, tmp_path / "run")
    check(run_dir, duckdb_engine)
    found = of_run(load(run_dir))
    said = f"{found.finding or NONE}: {found.headline}"

    if pytestconfig.getoption("update_snapshots"):
        pin(name_of(run), said)
    assert pinned()[name_of(run)] == said


def pin(name: str, said: str) -> None:
    kept = set(map(name_of, KEPT))
    found = {name: said for name, said in {**pinned(), name: said}.items() if name in kept}
    text = json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True) + "\n"
    PINNED.write_text(text, encoding="utf-8")


def test_most_runs_with_a_fault_find_something() -> None:
    found = [said.split(": ", 1) for said in pinned().values()]
    broken = [name for name, sentence in found if not sentence.startswith("Nothing was broken")]

    assert set(pinned()) == set(map(name_of, KEPT))
    assert broken.count(NONE) <= 0.2 * len(broken)
