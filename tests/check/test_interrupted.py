"""Ctrl-C or SIGTERM while DuckDB runs a query: in the main thread it makes an error of it.

Method: in real commands the main thread's first query, or one that it waits for, has no end.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from harness.base.errors import Exit
from harness.base.wait import wait_until
from harness.check.check import check
from harness.cli.main import main
from harness.tables.engines.duckdb import DuckDb
from tests.check.test_owned import COMMON, OURS, RULE
from tests.check.test_pinned import PROJECT

pytestmark = pytest.mark.long(4)

ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = """
import sys, threading
from pathlib import Path
from harness.cli.main import main
from harness.report.text import sql
from harness.tables.engines.duckdb import DuckDb

ENDLESS = "SELECT sum(range) FROM range(1000000000000)"
run, ask, endless = DuckDb.run, sql.ask, [sys.argv.pop(1)]

def slow(query):
    if endless and threading.current_thread() is threading.main_thread():
        Path(endless.pop()).touch()
        return ENDLESS
    return query

class Late:
    def __init__(self, database):
        self.database, self.interrupted = database, threading.Event()

    def execute(self, query):
        Path(endless.pop()).touch()
        self.interrupted.wait(60)
        return self.database.execute(ENDLESS)

    def interrupt(self):
        self.database.interrupt()
        self.interrupted.set()

def late(database, query):
    return ask(Late(database) if endless else database, query)

DuckDb.run = lambda self, query: run(self, slow(query))
sql.ask = late
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("judged") / "run"
    shutil.copytree(OURS, run_dir)
    with closing(DuckDb()) as engine:
        check(run_dir, engine)
    return run_dir


@pytest.fixture
def project(tmp_path: Path, judged: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which one is, with a judged run and a kept copy, pinned by an older rule."""
    monkeypatch.chdir(tmp_path)
    rules = tmp_path / "chaos" / "rules"
    rules.mkdir(parents=True)
    Path("kafka-chaos.toml").write_text(PROJECT)
    (rules / "rebalances.py").write_text(RULE)
    (rules / "_common.py").write_text(COMMON)
    shutil.copytree(judged, "run")
    assert Exit.AS_EXPECTED == main(["keep", "run", "--as", "kept"])
    pins = Path("chaos/recorded/kept/pinned.txt")
    pins.write_text(pins.read_text().replace("VIOLATED", "HOLDS"))
    return tmp_path


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("check run --engine duckdb", signal.SIGINT),
        ("check run --engine duckdb --rule R01", signal.SIGTERM),
        ("keep run", signal.SIGTERM),
        ("pinned --renew", signal.SIGINT),
        ("report run", signal.SIGTERM),
        ("sql run", signal.SIGINT),
    ],
)
def test_an_interruption_of_a_query_is_one_sentence_and_changes_nothing(
    project: Path, tmp_path_factory: pytest.TempPathFactory, command: str, number: int
) -> None:
    before, running = files(project), tmp_path_factory.mktemp("query") / "running"
    words = [sys.executable, "-c", COMMAND, str(running), *command.split()]
    with subprocess.Popen(
        words,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_until(
                "the query runs",
                lambda: process.poll() is not None or running.exists(),
                timeout_s=60,
            )
            process.send_signal(number)
            said, complained = process.communicate(timeout=60)
        finally:
            process.kill()

    # Before it, on a slow machine, are lines of progress, and nothing else.
    assert re.fullmatch(r"( *\d+\.\d s  .+\n)*kafka-chaos: interrupted\n", complained), said
    assert Exit.INTERRUPTED == process.returncode
    assert before == files(project)
