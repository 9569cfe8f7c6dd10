"""Seals: what is in a run's folder and is not what was recorded is told, whatever it would change.

What a damaged history without seals gets is in `test_check`, and for damage of any kind at any
place in `tests/torture`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base.errors import NoData
from harness.check.check import check
from harness.history import manifest, seals
from harness.report.load import load_manifest
from harness.suite.kept_runs import copy
from harness.tables.engines.contract import Engine
from harness.tables.source import load
from tests.histories import History
from tests.recorded.keep import RUNS

RUN: Final = RUNS / "consumer-crash.librdkafka.eager.3.9.2"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUN, tmp_path / "run"))


def sealed(run_dir: Path) -> None:
    facts = json.loads((run_dir / "manifest.json").read_text())
    facts[seals.FIELD] = seals.made(run_dir)
    (run_dir / "manifest.json").write_text(json.dumps(facts))


def test_what_is_sealed_is_told_whatever_it_would_change(
    duckdb_engine: Engine, run_dir: Path
) -> None:
    sealed(run_dir)
    assert {} == load(run_dir, duckdb_engine).unreadable
    for path in sorted((run_dir / "history").iterdir()):
        data = path.read_bytes()
        path.write_bytes(data + b"more")
        assert [path.stem] == list(load(run_dir, duckdb_engine).unreadable)
        path.write_bytes(data)


def test_a_file_of_another_run_is_told(duckdb_engine: Engine, run_dir: Path) -> None:
    sealed(run_dir)
    other = RUNS / "baseline.librdkafka.eager.4.3.1" / "history" / "deliveries.parquet"
    shutil.copyfile(other, run_dir / "history" / "deliveries.parquet")
    (row,) = check(run_dir, duckdb_engine, keep=False, rules=["X32a"]).verdicts

    assert "history/deliveries.parquet is not the file that was recorded" in str(row["reason"])


def test_a_manifest_of_which_a_digit_is_another_is_told(
    duckdb_engine: Engine, run_dir: Path
) -> None:
    """By another session timeout the eviction of the run is too early."""
    manifest.write(run_dir, manifest.read(run_dir))
    path = run_dir / "manifest.json"
    text = path.read_text()
    assert 1 == text.count('"session_timeout_ms": 6000')
    (row,) = check(run_dir, duckdb_engine, keep=False, rules=["R01"]).verdicts
    assert "HOLDS" == row["verdict"]

    path.write_text(text.replace('"session_timeout_ms": 6000', '"session_timeout_ms": 7000'))
    with pytest.raises(NoData, match="is damaged: its checksum"):
        check(run_dir, duckdb_engine, keep=False, rules=["R01"])
    with pytest.raises(NoData, match="is damaged: its checksum"):
        load_manifest(run_dir)


def test_a_manifest_that_was_changed_in_order_is_as_it_was_written(
    run_dir: Path, tmp_path: Path
) -> None:
    manifest.update(run_dir, status_reason="Größe")
    manifest.update(run_dir, seed=7)

    assert ("Größe", 7) == (load_manifest(run_dir).status_reason, manifest.read(run_dir)["seed"])
    copy(run_dir, tmp_path / "copy", {**manifest.read(run_dir), "seed": 8})
    assert 8 == manifest.read(tmp_path / "copy")["seed"]


def test_a_manifest_whose_rules_have_no_names_is_refused(
    duckdb_engine: Engine, run_dir: Path
) -> None:
    path = run_dir / "manifest.json"
    path.write_text(path.read_text().replace('"rule":', '"rulf":', 1))

    with pytest.raises(NoData, match="the manifest cannot be read"):
        check(run_dir, duckdb_engine, keep=False)


def test_what_was_collected_again_is_sealed_again(tmp_path: Path) -> None:
    run_dir = History().member("member-1").write(tmp_path / "run")
    sealed(run_dir)
    path = run_dir / "history" / "members.parquet"
    path.write_bytes(path.read_bytes() + b"more")
    names = seals.kept(run_dir)
    assert seals.changed(run_dir, names, "history/members.parquet")

    seals.renew(run_dir)
    assert seals.changed(run_dir, seals.kept(run_dir), "history/members.parquet") is False


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({}, None),
        ({"journals/a.journal": b"1"}, False),
        ({"journals/a.journal": b"2"}, True),
        ({"journals/a.journal": None}, True),
    ],
    ids=["unsealed", "as it was", "another", "gone"],
)
def test_what_a_run_left_is_told_from_what_is_there(
    tmp_path: Path, files: dict[str, Any], changed: bool | None
) -> None:
    (tmp_path / "journals").mkdir()
    path = tmp_path / "journals" / "a.journal"
    path.write_bytes(b"1")
    names = seals.made(tmp_path) if files else {}
    for content in files.values():
        path.write_bytes(content) if content is not None else path.unlink()

    assert changed is seals.changed(tmp_path, names, "journals/a.journal")


def test_what_outlives_the_run_is_not_sealed(tmp_path: Path) -> None:
    for name in ("logs/watchdog.log", "logs/member-1.log", "history/.host.parquet.1.tmp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    assert ["logs/member-1.log"] == list(seals.made(tmp_path))
