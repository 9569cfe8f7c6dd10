"""A history is judged by a worker that holds it in memory; a large one by queries of Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.check import check
from harness.history import manifest
from harness.report.run import page_files
from harness.suite import verdict_job
from harness.suite.judging import Judge
from harness.tables import source


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "history").mkdir()
    for name, rows in (("requests", 60), ("deliveries", 40)):
        table = pa.table({"at": pa.array(range(rows))})
        pq.write_table(table, tmp_path / "history" / f"{name}.parquet")
    manifest.write(tmp_path, {"schema_version": manifest.SCHEMA_VERSION, "status": "complete"})
    return tmp_path


@pytest.fixture
def judged_by(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Judges the run without an engine; what was asked to judge it."""
    found: list[str] = []

    def by_worker(*_: Any, **__: Any) -> dict[str, bytes]:
        found.append("a worker")
        return {"tables/judgements.parquet": b"", "verdicts.parquet": b"verdicts"}

    monkeypatch.setattr(verdict_job, "judged", by_worker)
    monkeypatch.setattr(check, "check", lambda *_, **__: found.append("Spark SQL"))
    monkeypatch.setattr(page_files, "write_pages", lambda _from, _into: None)
    monkeypatch.setattr(source, "read_run", lambda _run_dir: None)
    judge = Judge()
    monkeypatch.setattr(judge, "_start", lambda: None)
    monkeypatch.setattr(judge, "session", lambda: None)

    def play() -> list[str]:
        judge.judge(run_dir)
        return found

    return play


def test_a_worker_judges_a_history_that_fits(
    judged_by: Callable[[], list[str]], run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict_job, "FEW_ROWS", 100)

    assert ["a worker"] == judged_by()
    assert b"verdicts" == (run_dir / "verdicts.parquet").read_bytes()


def test_spark_judges_a_larger_one(
    judged_by: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict_job, "FEW_ROWS", 99)

    assert ["Spark SQL"] == judged_by()


def test_a_damaged_file_has_no_rows(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_job, "FEW_ROWS", 60)
    assert not verdict_job.fits(run_dir)

    (run_dir / "history" / "deliveries.parquet").write_bytes(b"PAR1 no more")

    assert verdict_job.fits(run_dir)
