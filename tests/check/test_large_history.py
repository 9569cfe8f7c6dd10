"""Which engine looks at what an experiment does not declare: DuckDB, unless a history is large."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.check import check, others
from harness.history import manifest
from harness.report.run import files
from harness.suite.judging import Judge


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "history").mkdir()
    for name, rows in (("requests", 60), ("deliveries", 40)):
        table = pa.table({"at": pa.array(range(rows))})
        pq.write_table(table, tmp_path / "history" / f"{name}.parquet")
    manifest.write(tmp_path, {"schema_version": manifest.SCHEMA_VERSION, "status": "complete"})
    return tmp_path


@pytest.fixture
def judged(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Judges the run without an engine; what it was judged with as `looked`."""
    found: list[Any] = []
    monkeypatch.setattr(check, "check", lambda _run, _engine, looked, **_: found.append(looked))
    monkeypatch.setattr(check, "look_at_others", lambda _run, _engine: ["by DuckDB"])
    monkeypatch.setattr(files, "write_pages", lambda _from, _into: None)
    judge = Judge()
    monkeypatch.setattr(judge, "_start", lambda: None)
    monkeypatch.setattr(judge, "session", lambda: None)

    def play() -> Any:
        judge.judge(run_dir)
        return found.pop()

    return play


def test_duckdb_looks_at_a_history_that_fits(
    judged: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "FEW_ROWS", 100)

    assert ["by DuckDB"] == judged()(None, {})


def test_spark_looks_at_a_larger_one(
    judged: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "FEW_ROWS", 99)

    monkeypatch.setattr(others, "look_at", lambda _tables, _lacking: ["by Spark"])

    assert ["by Spark"] == judged()(None, {})


def test_a_damaged_file_has_no_rows(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "FEW_ROWS", 60)
    assert not check.fits_in_memory(run_dir)

    (run_dir / "history" / "deliveries.parquet").write_bytes(b"PAR1 no more")

    assert check.fits_in_memory(run_dir)
