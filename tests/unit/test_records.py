"""What a run writes: the schedule, the fault journal, the manifest, Parquet that can be trusted."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from consumers.journal import Journal, JournalError, read_journal
from harness.base import processes
from harness.base.errors import BadInput, ClusterError, NoData, SetupError
from harness.base.wait import wait_until
from harness.base.whole import whole, writer_gone
from harness.catalogue import registry
from harness.catalogue.cover import Candidate
from harness.cluster import containers
from harness.cluster.docker import check_version
from harness.history import manifest, store
from harness.history.collect import collect
from harness.history.schema import HISTORY, SCHEMA_VERSION
from harness.run import folder, watchdog
from harness.run.nemesis import plan_faults
from harness.suite.director import new_suite


def test_the_same_seed_gives_the_same_phases_and_another_seed_others() -> None:
    experiment = registry.load("broker-kill")
    first, again, other = (
        plan_faults(experiment, random.Random(seed))[0].inject_s for seed in (7, 7, 8)
    )

    assert first == again
    assert first != other


def test_a_fault_starts_within_its_jitter_and_heals_when_it_has_lasted() -> None:
    experiment = registry.load("broker-kill")
    (fault,) = experiment.faults
    for seed in range(50):
        (planned,) = plan_faults(experiment, random.Random(seed))

        assert fault.at_s <= planned.inject_s <= fault.at_s + fault.jitter_s
        assert planned.heal_s is not None
        assert fault.lasts_s == pytest.approx(planned.heal_s - planned.inject_s)


def fault_journal(run_dir: Path) -> Journal:
    for part in ("journals", "scratch"):
        (run_dir / part).mkdir()
    return Journal(run_dir / "journals" / "faults.journal", member="nemesis")


def test_the_watchdog_closes_what_was_begun_and_not_healed(tmp_path: Path) -> None:
    faults = fault_journal(tmp_path)
    for fault, phases in (("1-a", ("injecting", "injected")), ("2-b", ("injecting", "healed"))):
        for phase in phases:
            about = {"fault": fault, "fault_kind": "kill-broker", "target": "any leader"}
            faults.write("fault", resolved="broker-1", phase=phase, **about)

    watchdog.heal_and_clean(tmp_path, "no-such-run")

    frames = read_journal(tmp_path / "journals" / watchdog.JOURNAL).frames
    assert [("1-a", "healed")] == [
        (frame["fault"], frame["phase"]) for frame in frames if frame["kind"] == "fault"
    ]
    assert not (tmp_path / "scratch").exists()


def test_on_a_full_disk_the_watchdog_makes_room_first_and_does_what_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = fault_journal(tmp_path)
    about = {"fault": "1-a", "fault_kind": "pause-broker", "target": "broker 1"}
    faults.write("fault", resolved="broker-1", phase="injecting", **about)
    manifest.write(tmp_path, {"schema_version": 1, "status": "running"})

    def full(_path: Path, member: str) -> Journal:
        assert "watchdog" == member
        assert not (tmp_path / "scratch").exists()
        raise JournalError("no space left on device")

    monkeypatch.setattr(watchdog, "Journal", full)

    watchdog.heal_and_clean(tmp_path, "no-such-run")

    assert "interrupted" == manifest.read(tmp_path)["status"]


def test_a_start_waits_for_a_watchdog_as_long_as_its_work_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start would kill it before it has written what it did."""
    longest = processes._PATIENCE_S + watchdog._QUIET_S
    longest += 2 * containers._GONE_S + containers.IN_FLIGHT_S
    assert longest <= processes.WATCHDOG_S
    said: list[str] = []
    monkeypatch.setenv(processes.OWNER_MARK, "999999999:1")
    monkeypatch.setattr(processes, "_UNSAID_S", 0.1)
    run = f"left-{os.getpid()}"
    command = [sys.executable, "-c", "import time; time.sleep(60)", "harness.run.watchdog"]
    with processes.spawn(command, run=run, log=tmp_path / "log") as at_work:
        wait_until("its mark", lambda: processes.marked(run), timeout_s=5)
        processes.await_watchdogs(said.append, patience_s=0.1)
        at_work.kill()
        at_work.wait()
        processes.await_watchdogs(said.append)

    assert [f"waiting up to 0.1 s for the watchdog of {run}, which cleans up"] == said


def test_a_half_written_file_says_which_process_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.parquet"

    with whole(path) as half:
        half.write_text("whole")
        assert processes.owner_token() in half.name.replace("+", ":")
        assert not writer_gone(half)
        assert not path.exists()

    def fail() -> None:
        with whole(path) as half:
            half.write_text("ha")
            raise ClusterError("the disk is full")

    with pytest.raises(ClusterError):
        fail()

    assert [("verdicts.parquet", "whole")] == [(e.name, e.read_text()) for e in tmp_path.iterdir()]


def test_what_the_harness_could_not_end_is_ended_and_its_record_left_alone(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    environment = {**os.environ, processes.RUN_MARK: "left", processes.OWNER_MARK: "999999:0.00"}
    with subprocess.Popen(["sleep", "60"], env=environment) as left:
        subprocess.run(
            [sys.executable, "-m", "harness.run.watchdog", str(tmp_path), "left", "embedded"],
            input="end\n",
            text=True,
            check=True,
            timeout=30,
        )
        assert -signal.SIGKILL == left.wait(timeout=10)

    assert ["scratch"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("log", "refused"),
    [
        (b"INFO Kafka version: 4.3.1 (AppInfoParser)\n", ""),
        (b"Kafka version: 4.2.1\nKafka version: 4.3.1\n", ""),
        (b"Kafka version: 4.2.1\n", "broker-1 is Kafka 4.2.1, and the experiment is for 4.3.1"),
        (b"", "broker-1 logs no version"),
    ],
)
def test_an_image_of_another_kafka_is_refused(log: bytes, refused: str) -> None:
    with pytest.raises(SetupError, match=refused) if refused else nullcontext():
        check_version("broker-1", lambda: log, "4.3.1", timeout_s=0)


def test_a_node_that_answers_before_it_has_logged_its_version_is_asked_again() -> None:
    logs = iter([b"", b"INFO starting\n", b"INFO starting\nKafka version: 4.3.1\n"])
    check_version("broker-1", lambda: next(logs), "4.3.1")
    assert [] == list(logs)


def test_a_manifest_of_another_schema_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": 99}))
    with pytest.raises(NoData, match="does not have schema version 1"):
        manifest.read(tmp_path)


def test_an_interrupted_run_with_journals_still_gets_every_file_of_its_history(
    tmp_path: Path,
) -> None:
    with pytest.raises(NoData, match="has no journals/"):
        collect(tmp_path)
    (tmp_path / "journals").mkdir()
    (tmp_path / "logs").mkdir()
    collect(tmp_path)

    assert {f"{name}.parquet" for name in HISTORY} == {
        path.name for path in (tmp_path / "history").iterdir()
    }


def test_history_files_say_their_schema_and_keep_microseconds(tmp_path: Path) -> None:
    path = tmp_path / "host.parquet"
    schema = HISTORY["host"]
    store.write(path, [store.table_of([{"at": 1_700_000_000_123_456}], schema)], schema)
    table = pq.read_table(path, page_checksum_verification=True)

    assert str(SCHEMA_VERSION).encode() == table.schema.metadata[b"schema_version"]
    assert pa.timestamp("us", tz="UTC") == table.schema.field("at").type
    assert 123_456 == table["at"][0].as_py().microsecond
    assert [None] == table["late_ms"].to_pylist()


def test_a_full_disk_is_found_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "NEEDED_BYTES", 2**60)
    with pytest.raises(SetupError, match="make room, or choose another --results"):
        folder.reserve(tmp_path, "baseline")


def test_results_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot be written"):
        folder.reserve(tmp_path / "file", "baseline")
    with pytest.raises(BadInput, match="has a ',' in its name"):
        folder.reserve(tmp_path / "a,b", "baseline")
    with pytest.raises(BadInput, match="has a ',' in its name"):
        new_suite("repeat", tmp_path / "a,b", [])


def test_a_set_of_runs_without_an_engine_is_refused_once_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    isolated = Candidate.of("broker-isolated", registry.load("broker-isolated"))

    with pytest.raises(SetupError, match=r"no Docker engine answers at tcp://127.0.0.1:1: start"):
        new_suite("repeat", tmp_path / "results", [isolated, isolated])
    assert not (tmp_path / "results").exists()


def test_run_folders_sort_by_time_and_latest_points_at_the_last(tmp_path: Path) -> None:
    first, second = folder.reserve(tmp_path, "baseline"), folder.reserve(tmp_path, "baseline")

    assert first.name[:15] <= second.name[:15]
    assert second == (tmp_path / "baseline" / "latest").resolve()
