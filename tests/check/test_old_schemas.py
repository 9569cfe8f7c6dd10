"""Runs that earlier versions recorded, one for each schema of history files, stay readable."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness.check.check import check
from harness.history.schema import SCHEMA_VERSION
from harness.report.run.page_files import report
from harness.rules.rule_names import id_of
from harness.tables.engines.contract import Engine
from harness.trend import dataset, job

pytestmark = pytest.mark.spark

DATA: Final = Path(__file__).resolve().parents[1] / "data"
VERSIONS: Final = range(1, SCHEMA_VERSION)  # runs of the current one are all over the tests


@pytest.fixture
def recorded(tmp_path: Path) -> dict[int, Path]:
    """A run of each schema version, in a folder of results."""
    runs = {version: next(DATA.glob(f"schema-{version}/*/*")) for version in VERSIONS}
    return {
        version: Path(shutil.copytree(run, tmp_path / run.parent.name / run.name))
        for version, run in runs.items()
    }


@pytest.mark.long(11)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_of_each_schema_version_is_judged_as_it_was(
    duckdb_engine: Engine, recorded: dict[int, Path], version: int
) -> None:
    run_dir = recorded[version]
    for path in (run_dir / "history").glob("*.parquet"):
        marked = pq.ParquetFile(path).schema_arrow.metadata[b"schema_version"]
        assert str(version).encode() == marked
    then = {
        row["rule"]: row["verdict"]
        for row in pq.read_table(run_dir / "verdicts.parquet").to_pylist()
    }
    now = {row["rule"]: row["verdict"] for row in check(run_dir, duckdb_engine).verdicts}

    assert {"HOLDS"} == set(then.values())
    assert then == {rule: now[id_of(rule)] for rule in then}
    report(run_dir)
    assert (run_dir / "report.html").stat().st_size > 0


def test_runs_of_all_schema_versions_are_one_dataset(
    spark: SparkSession, recorded: dict[int, Path], tmp_path: Path
) -> None:
    assert len(recorded) == dataset.accumulate(tmp_path)
    rows = job.read(spark, str(tmp_path / dataset.FOLDER)).toArrow().to_pylist()

    assert {run.name for run in recorded.values()} == {row["run"] for row in rows}
