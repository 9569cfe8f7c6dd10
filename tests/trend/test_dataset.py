"""The dataset of all verdicts: it grows, keeps what is gone, and takes what is judged again."""

from __future__ import annotations

import json
import os
import random
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from harness.base.errors import SetupError
from harness.experiment import Cluster, Fault, Group, Load, Probe
from harness.history.derived import VERDICTS
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


def test_a_turned_setting_is_another_set_up(tmp_path: Path, run_dir: Path) -> None:
    facts = json.loads((run_dir / "manifest.json").read_text())
    same = write_judged(tmp_path / "consumer-crash" / "run-2", verdict("R01"))
    write_manifest(same, run="run-2", declared={**facts["declared"], "claim": "In other words."})
    other = write_judged(tmp_path / "consumer-crash" / "run-3", verdict("R01"))
    group = {**facts["declared"]["group"], "session_timeout_ms": 10_001}
    write_manifest(other, run="run-3", declared={**facts["declared"], "group": group})
    dataset.accumulate(tmp_path)
    setups = {str(row["run"]): row["setup"] for row in read(tmp_path)}

    assert setups[facts["run"]] == setups["run-2"] != setups["run-3"]


def setup_of(results: Path, run: str, declared: dict[str, Any]) -> object:
    """What the dataset has as the set-up of a run that was declared so."""
    path = write_judged(results / "consumer-crash" / run, verdict("R01"))
    write_manifest(path, run=run, declared=declared)
    dataset.accumulate(results)
    return next(row["setup"] for row in read(results) if row["run"] == run)


DECLARED: dict[str, Any] = {
    "cluster": {"brokers": 5},
    "load": {"partitions": 12},
    "group": {"members": 4, "differing": {"2": {"max_poll_interval_ms": 20_000}}},
    "faults": [{"kind": "crash", "target": "member 1"}],
    "probes": [{"name": "group-apis"}],
    "duration_s": 20.0,
}


@pytest.mark.parametrize(
    ("group", "sabotaged"),
    [
        ({}, False),
        ({"sabotage": None, "differing": {"2": {"batch_records": 1}}}, False),
        ({"sabotage": "never-commit"}, True),
        ({"differing": {"1": {"batch_records": 1}, "2": {"sabotage": "deaf"}}}, True),
    ],
)
def test_sabotage_is_shown_whatever_the_experiment(
    tmp_path: Path, group: dict[str, Any], sabotaged: bool
) -> None:
    path = write_judged(tmp_path / "consumer-crash" / "run-1", verdict("R01"))
    write_manifest(path, declared={**DECLARED, "group": group})
    dataset.accumulate(tmp_path)

    assert [sabotaged] == [row["sabotaged"] for row in read(tmp_path)]


def test_a_field_that_a_release_adds_ends_no_series(tmp_path: Path) -> None:
    """Runs of before it did not declare it, and those after it all have its default."""
    later = {
        "claim": "In other words.",
        "cluster": asdict(Cluster(brokers=5)),
        "load": asdict(Load(partitions=12)),
        "group": asdict(Group(members=4, differing={2: {"max_poll_interval_ms": 20_000}})),
        "faults": [asdict(Fault(kind="crash", target="member 1"))],
        "probes": [asdict(Probe(name="group-apis"))],
        "duration_s": 20.0,
    }

    assert setup_of(tmp_path, "run-1", DECLARED) == setup_of(tmp_path, "run-2", later)


def test_another_version_of_kafka_is_shown_by_its_own_column(tmp_path: Path) -> None:
    newer = {**DECLARED, "cluster": {"brokers": 5, "kafka_version": "9.9.9"}}

    assert setup_of(tmp_path, "run-1", DECLARED) == setup_of(tmp_path, "run-2", newer)


@pytest.mark.parametrize(
    "changed",
    [
        {"cluster": {"brokers": 5, "settings": {"num.io.threads": "2"}}},
        {"load": {}},
        {"group": {"members": 4}},
        {"faults": [{"kind": "crash", "target": "member 1", "at_s": 4.0}]},
        {"faults": [{"kind": "crash", "target": "member 1"}] * 2},
        {"faults": []},
        {"probes": [{"name": "group-apis", "at_s": 3.0}]},
        {"probes": [{"name": "offset-apis"}]},
        {"duration_s": 21.0},
    ],
    ids=str,
)
def test_what_is_declared_otherwise_is_another_set_up(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    assert setup_of(tmp_path, "run-1", DECLARED) != setup_of(
        tmp_path, "run-2", {**DECLARED, **changed}
    )


DEFAULTS = """
cluster: backend=embedded brokers=3 controllers=1 settings={}
load: partitions=6 replication=3 min_insync_replicas=2 records_per_s=300 record_bytes=100
load: acks=all idempotence=True
group: members=3 client=librdkafka protocol=eager session_timeout_ms=6000
group: heartbeat_interval_ms=2000 max_poll_interval_ms=60000 commit=sync
group: auto_commit_interval_ms=5000 batch_records=100 process_us=1000 assignor=None static=False
group: arrive_every_ms=0 metadata_refresh_ms=300000 sabotage=None settings={} differing={}
faults: at_s=3.0 lasts_s=None jitter_s=2.0 not_target=None how=None latency_ms=None
faults: bandwidth_kb_per_s=None more_partitions=None of_broker=None
probes: at_s=2.0
"""


@pytest.mark.parametrize("line", [*DEFAULTS.strip().splitlines(), "group: client_version="])
def test_a_default_that_changes_is_another_edition(line: str) -> None:
    """Where this fails, raise `_EDITION`: runs of before and after have nothing in their digests
    that sets them apart. A field that was added is no such change."""
    part, _, defaults = line.partition(": ")
    now = dataset._DEFAULTS[part]
    names = [each.partition("=")[0] for each in defaults.split()]

    assert 1 == dataset._EDITION
    assert defaults == " ".join(f"{name}={now[name]}" for name in names)


def test_a_dataset_that_cannot_be_written_is_one_sentence(tmp_path: Path, run_dir: Path) -> None:
    (tmp_path / dataset.FOLDER).write_text("in the way")

    with pytest.raises(SetupError, match=r"cannot be written .*: make room"):
        dataset.accumulate(tmp_path)


# Damage.


def file_of(results: Path) -> Path:
    (path,) = (results / dataset.FOLDER).glob("*/*/*/*.parquet")
    return path


def test_a_damaged_file_is_written_anew_from_its_run(tmp_path: Path, run_dir: Path) -> None:
    dataset.accumulate(tmp_path)
    path = file_of(tmp_path)
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"", whole[:60] + bytes([whole[60] ^ 8]) + whole[61:]):
        path.write_bytes(damaged)
        assert 0 == dataset.accumulate(tmp_path)  # it is as new as its run

        assert {} == dataset.mended(tmp_path)
        assert ["R01", "R02"] == [row["rule"] for row in read(tmp_path)]


def test_a_damaged_file_whose_run_is_gone_is_shown_and_left(tmp_path: Path, run_dir: Path) -> None:
    dataset.accumulate(tmp_path)
    shutil.rmtree(run_dir)
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    damaged = path.read_bytes()

    assert [path] == list(dataset.mended(tmp_path))
    assert damaged == path.read_bytes()


def test_a_file_of_before_is_not_damaged(tmp_path: Path, run_dir: Path) -> None:
    dataset.accumulate(tmp_path)
    shutil.rmtree(run_dir)
    path = file_of(tmp_path)
    with pq.ParquetFile(path) as file:
        table = file.read()
    pq.write_table(table.drop_columns(["setup", "sabotaged"]), path)
    assert {} == dataset.mended(tmp_path)

    pq.write_table(table.drop_columns(["verdict"]), path)
    assert {path: "it has no column verdict"} == dataset.mended(tmp_path)


def test_hardly_any_flip_of_a_file_passes_and_none_ends_in_an_error(
    tmp_path: Path, run_dir: Path
) -> None:
    dataset.accumulate(tmp_path)
    shutil.rmtree(run_dir)
    path = file_of(tmp_path)
    whole, rows = path.read_bytes(), read(tmp_path)
    randomness = random.Random(5)
    silent = 0
    for _ in range(150):
        bit = randomness.randrange(len(whole) * 8)
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        silent += not dataset.mended(tmp_path) and read(tmp_path) != rows
    assert silent <= 1
