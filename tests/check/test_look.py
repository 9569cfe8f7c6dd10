"""What DuckDB makes of a stored run by itself, with nothing stored."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
import pytest

from harness.base import processes
from harness.base.errors import Exit
from harness.bench.synthetic import write_synthetic
from harness.check import judge
from harness.check.check import check
from harness.cli.main import main
from harness.rules.rule_names import NAMES
from harness.suite.judging import duckdb_engine, look
from harness.tables.engines.duckdb import DuckDb

# Sorts 100 MB.
SORTED: Final = """
    SELECT max(k) AS most
    FROM (SELECT hash(range) AS k, range FROM range(6_000_000) ORDER BY k LIMIT 5_999_999)
"""


def files(folder: Path) -> dict[Path, float]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_synthetic(tmp_path_factory.mktemp("look") / "run", 20_000)


def test_every_verdict_is_printed_and_nothing_is_stored(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(run_dir)

    code = look(run_dir)

    printed = capsys.readouterr().out
    assert 0 == code
    assert "Every verdict as expected" in printed
    assert {*map(NAMES.get, ("R01", "R21-delivery", "E05"))} <= set(printed.split())
    assert before == files(run_dir)


def test_the_command_loads_no_spark(run_dir: Path) -> None:
    code = (
        "import sys; from harness.cli.main import main;"
        f"code = main(['check', {str(run_dir)!r}, '--engine', 'duckdb']);"
        "sys.exit(code or 9 * ('pyspark' in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)

    assert 0 == done.returncode, done.stderr
    assert "Not stored: " in done.stdout


def test_a_rule_that_the_run_does_not_declare_can_be_tried(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(run_dir)

    main(["check", str(run_dir), "--rule", "E05", "--rule", "R34", "--engine", "duckdb"])

    printed = capsys.readouterr().out
    assert f"{NAMES['E05']}: " in printed
    assert "  HOLDS    request log, measured " in printed
    assert f"{NAMES['R34']}: 0 examined" in printed
    assert NAMES["R21-delivery"] not in printed
    assert before == files(run_dir)


def test_an_unknown_rule_is_answered_with_the_nearest_id(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.BAD_ARGUMENTS == main(["check", str(run_dir), "--rule", "R34x"])

    said = capsys.readouterr().err
    assert Exit.BAD_ARGUMENTS == main(["check", str(run_dir), "--rule", "r34"])
    assert "there is no rule 'r34': did you mean R34?" in capsys.readouterr().err
    assert "there is no rule 'R34x': did you mean R34? `./kafka-chaos list --rules`" in said


def test_what_does_not_fit_into_memory_is_not_put_where_the_user_is(here: Path) -> None:
    with closing(duckdb_engine()) as engine:
        engine.run("SET memory_limit = '60MB'")
        assert 1 == engine.run(SORTED).num_rows
        [scratch] = (here.parent / "temporary").iterdir()
        assert (scratch / "spilled").is_dir()

    assert [] == [*here.iterdir(), *(here.parent / "temporary").iterdir()]


def test_what_a_killed_look_leaves_is_removed_by_the_next_start(
    run_dir: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long history that is gigabytes."""
    temporary = here.parent / "temporary"
    owned: list[bool] = []

    def killed_now(*_: object) -> judge.Outcome:
        owned.extend(processes.has_owner(folder) for folder in temporary.iterdir())
        return judge.Outcome()

    monkeypatch.setattr(judge, "examine", killed_now)
    with closing(DuckDb()) as engine:
        check(run_dir, engine, keep=False, rules=["R21"])

    assert [True] == owned
    assert [] == list(temporary.iterdir())


def test_without_a_scratch_folder_it_has_to_fit_into_memory(here: Path) -> None:
    with closing(DuckDb()) as engine:
        engine.run("SET memory_limit = '60MB'")
        with pytest.raises(duckdb.OutOfMemoryException):
            engine.run(SORTED)

    assert [] == list(here.iterdir())
