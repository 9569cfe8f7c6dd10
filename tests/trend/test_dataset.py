"""The dataset of all verdicts: it grows, keeps what is gone, and takes what is judged again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow.dataset as pads
import pytest

from harness.errors import SetupError
from harness.history.schema import VERDICTS
from harness.trend import dataset
from tests.report.sample_run import verdict, write_manifest, write_table
from tests.report.sample_suite import write_judged


def read(results: Path) -> list[dict[str, object]]:
    folder = results / dataset.FOLDER
    return pads.dataset(folder, partitioning="hive", format="parquet").to_table().to_pylist()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    path = write_judged(tmp_path / "consumer-crash" / "run-1", verdict("R01"), verdict("R02"))
    (tmp_path / "consumer-crash" / "latest").symlink_to("run-1")
    return path


def test_every_judged_run_is_added_once(tmp_path: Path, run_dir: Path) -> None:
    assert [1, 0] == [dataset.accumulate(tmp_path), dataset.accumulate(tmp_path)]
    rows = read(tmp_path)

    assert ["R01", "R02"] == [row["rule"] for row in rows]
    assert {"experiment", "date", "run", "started_at", "kafka", "backend"} <= set(rows[0])
    assert None not in {rows[0][name] for name in ("started_at", "kafka", "harness")}


def test_what_was_judged_again_replaces_what_was_there(tmp_path: Path, run_dir: Path) -> None:
    dataset.accumulate(tmp_path)
    write_table(run_dir / "verdicts.parquet", VERDICTS, [verdict("R01", "VIOLATED")])
    later = run_dir.stat().st_mtime + 10
    os.utime(run_dir / "verdicts.parquet", (later, later))

    assert 1 == dataset.accumulate(tmp_path)
    assert [("R01", "VIOLATED")] == [(row["rule"], row["verdict"]) for row in read(tmp_path)]


def test_it_keeps_runs_whose_folders_are_gone(tmp_path: Path, run_dir: Path) -> None:
    dataset.accumulate(tmp_path)
    shutil.rmtree(run_dir)

    assert 0 == dataset.accumulate(tmp_path)
    assert 2 == len(read(tmp_path))


def test_what_cannot_be_read_is_left_out(tmp_path: Path, run_dir: Path) -> None:
    torn = write_judged(tmp_path / "consumer-crash" / "run-2", verdict("R01"))
    (torn / "verdicts.parquet").write_bytes(b"PAR1 and nothing")
    old = write_judged(tmp_path / "consumer-crash" / "run-3", verdict("R01"))
    write_manifest(old, schema_version=99)
    night = tmp_path / "nightly" / "night-1"
    night.mkdir(parents=True)
    shutil.copy(run_dir / "verdicts.parquet", night)

    assert 1 == dataset.accumulate(tmp_path)


def test_a_turned_knob_is_another_set_up(tmp_path: Path, run_dir: Path) -> None:
    told = json.loads((run_dir / "manifest.json").read_text())
    same = write_judged(tmp_path / "consumer-crash" / "run-2", verdict("R01"))
    write_manifest(same, run="run-2", declared={**told["declared"], "claim": "In other words."})
    other = write_judged(tmp_path / "consumer-crash" / "run-3", verdict("R01"))
    group = {**told["declared"]["group"], "session_timeout_ms": 10_001}
    write_manifest(other, run="run-3", declared={**told["declared"], "group": group})
    dataset.accumulate(tmp_path)
    setups = {str(row["run"]): row["setup"] for row in read(tmp_path)}

    assert setups[told["run"]] == setups["run-2"] != setups["run-3"]


def test_a_dataset_that_cannot_be_written_is_one_sentence(tmp_path: Path, run_dir: Path) -> None:
    (tmp_path / dataset.FOLDER).write_text("in the way")

    with pytest.raises(SetupError, match=r"cannot be written .*: make room"):
        dataset.accumulate(tmp_path)
