"""A run that was judged before and is judged again, damaged by now: nothing of it stays green.

Method: what `check` does to the folder is done by hand, since it alone needs Spark.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.base.errors import Exit, HarnessError, NoData
from harness.cli.main import main
from harness.history.derived import VERDICTS, VERDICTS_FILE
from harness.history.suites import State, Suite
from harness.report import report
from harness.suite import verdict_job
from harness.suite.judging import Judge
from harness.tables import source
from tests.report.sample_run import verdict, write_manifest, write_table
from tests.report.sample_suite import entry, write_judged

Checked = Callable[[Callable[[Path], None]], None]
REPORTS = ("report.html", "summary.md", "junit.xml")
LOST = "history/requests.parquet is missing"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run that was as expected."""
    judged = write_judged(tmp_path / "consumer-crash" / "run", verdict("R01"))
    report(judged)
    return judged


@pytest.fixture
def checked_by(monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Has a function in the place of `check`, and no Spark."""

    def put(check: Callable[[Path], None]) -> None:
        def judged(_spark: object, run_dir: Path, *_: object, **__: object) -> verdict_job.Files:
            into = run_dir.with_name("judged")
            into.mkdir()
            (into / "tables").mkdir()
            (into / "history").symlink_to(run_dir / "history")
            check(into)
            return {VERDICTS_FILE: (into / VERDICTS_FILE).read_bytes()}

        monkeypatch.setattr(Judge, "_open", lambda _judge: None)
        monkeypatch.setattr(Judge, "session", lambda _judge: None)
        monkeypatch.setattr(Judge, "close", lambda _judge: None)
        monkeypatch.setattr(verdict_job, "judged", judged)
        monkeypatch.setattr(source, "read_run", lambda _run_dir: None)

    return put


def lose_requests(run_dir: Path) -> None:
    """What `check` makes of a run whose request log is lost."""
    (run_dir / "history" / "requests.parquet").unlink()
    (run_dir / "tables" / "rebalances.parquet").unlink(missing_ok=True)
    unknown = verdict("R01", "UNKNOWN", reason=LOST)
    write_table(run_dir / "verdicts.parquet", VERDICTS, [unknown])


def test_a_damaged_run_differs_and_says_why(
    run_dir: Path, checked_by: Checked, capsys: pytest.CaptureFixture[str]
) -> None:
    checked_by(lose_requests)

    assert Exit.DIFFERS == main(["check", str(run_dir)])
    said = capsys.readouterr().out
    assert "? could not be judged" in said
    assert "tables/rebalances.parquet is missing" in " ".join(said.split())
    for name in REPORTS:
        assert LOST in (run_dir / name).read_text()


def test_a_night_takes_up_that_a_run_is_damaged(tmp_path: Path, run_dir: Path) -> None:
    folder = tmp_path / "nightly" / "night-1"
    folder.mkdir(parents=True)
    place = os.path.relpath(run_dir, folder)
    runs = [entry("consumer-crash:librdkafka/eager", State.AS_EXPECTED, folder=place)]
    Suite(folder, "nightly", "2026-11-20T10:00:00Z", runs).save()

    assert Exit.AS_EXPECTED == main(["report", str(folder)])
    lose_requests(run_dir)
    report(run_dir)
    assert Exit.DIFFERS == main(["report", str(folder)])
    (run_dir / "verdicts.parquet").unlink()
    assert Exit.FAILED == main(["report", str(folder)])
    assert "it could not be judged" in (folder / "summary.md").read_text()


def test_a_judgement_that_breaks_off_leaves_the_one_before(
    run_dir: Path, checked_by: Checked
) -> None:
    def breaks_off(folder: Path) -> None:
        lose_requests(folder)
        raise RuntimeError("Spark died")

    before = {name: (run_dir / name).read_bytes() for name in (*REPORTS, "verdicts.parquet")}
    checked_by(breaks_off)

    with pytest.raises(HarnessError, match="Spark died"):
        Judge().judge(run_dir)
    assert before == {name: (run_dir / name).read_bytes() for name in before}


def test_a_void_run_keeps_the_page_that_says_why(run_dir: Path) -> None:
    write_manifest(run_dir, status="void", status_reason="broker-2 died by itself")
    for path in (run_dir / "history").iterdir():
        path.unlink()

    with closing(Judge()) as judge, pytest.raises(NoData):
        judge.judge(run_dir)
    assert all((run_dir / name).exists() for name in REPORTS)
