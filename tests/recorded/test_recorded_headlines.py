"""What each kept run found, as its page, its JUnit and a terminal say it first; and its whole page.

Method: a kept run is judged by DuckDB, and the name of what it found and its sentences are pinned:
in a file of their own, for a snapshot whose test has its turn on another day counts as unused.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Final

import pytest

from harness.check.check import check
from harness.report.headline import of_run
from harness.report.load import load
from harness.report.run.page import page
from harness.tables.engines.contract import Engine
from tests.recorded.keep import FOUND, PROGRAMS, RUNS
from tests.recorded.test_recorded_runs import copied
from tests.report.test_run_page import Parsed

KEPT: Final = sorted([*RUNS.iterdir(), *PROGRAMS.iterdir(), *FOUND.glob("*/*")])
PINNED: Final = Path(__file__).with_name("headlines.json")
NONE: Final = "–"
# What only Python reads: dictionaries, lists of texts, values, times.
# Brokers before 4.0 log an instance id that is not there as None.
RAW: Final = re.compile(
    r"\{'|\['|(?<!instance id )\bNone\b(?! of)|\bTrue\b|\bFalse\b|\bPT\d|datetime\(|timedelta\("
)


def name_of(run: Path) -> str:
    return f"{run.parent.name} {run.name}" if FOUND in run.parents else run.name


def pinned() -> dict[str, str]:
    """The name of what each run found, and its sentences, by the name of the run."""
    found: dict[str, str] = json.loads(PINNED.read_text(encoding="utf-8"))
    return found


@pytest.mark.long(6)
@pytest.mark.parametrize("run", KEPT, ids=name_of)
def test_a_kept_run_finds_what_it_found_before_and_its_page_is_for_people(
    run: Path, tmp_path: Path, duckdb_engine: Engine, pytestconfig: pytest.Config
) -> None:
    run_dir = copied(run, tmp_path / "run")
    check(run_dir, duckdb_engine)
    judged = load(run_dir)
    found = of_run(judged)
    said = f"{found.finding or NONE}: {found.headline}"

    if pytestconfig.getoption("update_snapshots"):
        pin(name_of(run), said)
    assert pinned()[name_of(run)] == said
    shown = Parsed(page(judged, found))
    texts = [shown.text, *(each for _, given in shown.tags for each in given.values() if each)]
    assert [] == [found for text in texts for found in RAW.findall(html.unescape(text))]


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
