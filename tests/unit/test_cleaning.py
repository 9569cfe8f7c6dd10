"""`clean` removes what this project made, and nothing else, whatever it is called."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.base import processes
from harness.base.errors import Exit, VoidRun
from harness.bench.measure import Figure, table_of
from harness.cli.main import main
from harness.history import manifest, store
from harness.history.suites import Entry
from harness.run.folder import reserve
from harness.run.run import ExperimentRun
from harness.run.start import Order
from harness.suite.player import ENDED
from harness.suite.player import play as play_here
from harness.suite.stage import OnStage, Stage
from tests.report.sample_run import write_manifest, write_run
from tests.report.sample_suite import write_night
from tests.torture.kinds import KILLS, Outcome, Round

DEAD = "999999999:1"  # the owner token of a process that cannot be there
HALF_OF_DEAD = "999999999+1@.tmp"  # ends the name of a file that it was writing
HALF_OF_ELSEWHERE = "requests.parquet.999999999+1@#2.tmp"  # its pid is of another container


@pytest.fixture(autouse=True)
def _sweep_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.run.folder.sweep", lambda _say: 0)
    monkeypatch.setattr("harness.run.folder.sweep_backends", lambda **_: {})
    monkeypatch.setattr(processes, "orphans", dict)


def clean(results: Path, *options: str) -> None:
    assert Exit.AS_EXPECTED == main(["clean", *options, "--results", str(results)])


def content(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes, and every link with where it leads."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def write_files(results: Path, *names: str) -> None:
    for name in names:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(f"{name}, written by another tool\n")


@pytest.mark.parametrize("options", [(), ("--all",)])
def test_files_of_others_stay_byte_for_byte(tmp_path: Path, options: tuple[str, ...]) -> None:
    write_files(
        tmp_path,
        "backups/2026-11-01/db.dump",
        "thesis/chapter-3/scratch/draft.txt",
        "thesis/chapter-4/scratch/owner",
        "site/1/manifest.json",
        "site/1/scratch/page.html",
        "theirs/1/suite.json",
        "theirs/2/comparison.parquet",
        "trend/trend.parquet",
        "bench/notes.md",
        "mutation/changes.json",
        "torture/rounds.jsonl",
    )
    (tmp_path / "backups" / "latest").symlink_to("2026-11-01")
    pq.write_table(pa.table({"query": [1]}), tmp_path / "bench" / "tpch.parquet")
    (tmp_path / "app" / "1" / "scratch").mkdir(parents=True)
    (tmp_path / "app" / "1" / "manifest.json").write_text('{"name": "app", "version": 1}')
    write_files(tmp_path, "app/1/scratch/a.txt")
    before = content(tmp_path)

    clean(tmp_path, *options)

    assert before == content(tmp_path)


def test_what_would_go_is_listed_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.run.folder.sweep_backends", lambda **_: {"run-9": 3})
    run_dir = tmp_path / "baseline" / "run-1"
    write_manifest(run_dir, status="running")
    (run_dir / "scratch").mkdir()
    (run_dir / "scratch" / "owner").write_text(DEAD)
    half = f"history/.requests.parquet.{HALF_OF_DEAD}"
    write_files(run_dir, half, "history/requests.parquet")
    going = reserve(tmp_path, "baseline")
    write_manifest(going, status="running")
    write_files(tmp_path, "thesis/chapter-3/scratch/draft.txt", "bench/notes.md", "a/b/scratch/x")
    (tmp_path / "thesis" / "latest").symlink_to("chapter-3")
    before = content(tmp_path)

    clean(tmp_path, "--dry-run")
    listed = capsys.readouterr().out.splitlines()
    clean(tmp_path, "--dry-run", "--all")
    all_listed = capsys.readouterr().out.splitlines()

    assert before == content(tmp_path)
    assert [
        "3 processes and containers of run-9",
        str(run_dir / "scratch"),
        str(run_dir / half),
        "would end 3 processes and containers, and remove 2 folders and files; nothing was changed",
    ] == listed
    assert [str(run_dir)] == all_listed[1:-1]
    clean(tmp_path)
    assert "2 folders and files removed" in capsys.readouterr().out


def write_everything(results: Path) -> Path:
    """One of each thing that the project makes below its results; the folder of one run."""
    write_night(results).save()
    (results / "nightly" / "latest").symlink_to("night-1")
    run_dir = write_run(results / "consumer-freeze" / "run")
    (results / "consumer-freeze" / "latest").symlink_to("run")
    schema = pa.schema([("rule", pa.string())])
    compared = results / "compare-protocols" / "1"  # of a command that there was
    store.write(compared / "comparison.parquet", [schema.empty_table()], schema)
    store.write(results / "trend" / "trend.parquet", [schema.empty_table()], schema)
    (results / "trend" / "trend.html").touch()
    (results / "bench").mkdir()
    figures = table_of([Figure("check", "wall", 1.0, "s", 1)])
    pq.write_table(figures, results / "bench" / "20261120T010000.parquet")
    (results / "bench" / "20261120T010000.txt").touch()
    change = {"module": "joining", "line": 1, "kind": "x", "outcome": "killed", "diff": ""}
    write_files(results, "mutation/survivors.md")
    (results / "mutation" / "changes.json").write_text(json.dumps([change]))
    (results / "torture").mkdir()
    played = Outcome(Round(1, KILLS, 1), "SIGKILL of the harness", "killed", "exit code -9")
    (results / "torture" / "rounds.jsonl").write_text(json.dumps(asdict(played)) + "\n")
    return run_dir


@pytest.mark.parametrize(
    "theirs",
    [
        (),
        ("bench/a.md", "mutation/a.md", "consumer-freeze/notes/a.txt", "nightly/a.md", "README.md"),
    ],
    ids=["ours alone", "beside others"],
)
def test_all_that_is_ours_goes_but_the_dataset_and_what_is_of_others_stays(
    tmp_path: Path, theirs: tuple[str, ...]
) -> None:
    run_dir = write_everything(tmp_path)
    write_files(tmp_path, *theirs)

    clean(tmp_path, "--all")

    left = content(tmp_path)
    assert {*theirs} == {name for name in left if not name.startswith("dataset/")}
    assert {"dataset", *(name.partition("/")[0] for name in theirs)} == {
        path.name for path in tmp_path.iterdir()
    }
    assert not run_dir.exists()
    assert 1 == sum(name.endswith("verdicts.parquet") for name in left)  # all have one name


def test_scratch_of_a_killed_run_goes_and_its_record_says_how_it_ended(tmp_path: Path) -> None:
    run_dir = tmp_path / "baseline" / "run-1"
    write_manifest(run_dir, status="running")
    (run_dir / "scratch").mkdir()
    (run_dir / "scratch" / "owner").write_text(DEAD)
    half = [f"history/.requests.parquet.{HALF_OF_DEAD}", f".report.html.{HALF_OF_DEAD}"]
    kept = ["history/.theirs.tmp", "history/requests.parquet", f"history/.{HALF_OF_ELSEWHERE}"]
    unready = f".judged.{HALF_OF_DEAD}/tables/stops.parquet"
    write_files(run_dir, *half, *kept, unready, ".judged/violations/R01.parquet")
    kept.append("violations/R01.parquet")  # a judgement that was complete
    (run_dir / "violations").mkdir()
    (run_dir.parent / ".latest-run-1").symlink_to("run-1")
    (run_dir.parent / ".latest-run-2").symlink_to("elsewhere")

    clean(tmp_path)

    left = content(tmp_path / "baseline")
    assert {
        ".latest-run-2",
        "run-1/manifest.json",
        *(f"run-1/{each}" for each in kept),
    } == set(left)
    facts = manifest.read(run_dir)
    assert "interrupted" == facts["status"]
    assert "were killed before the run was complete" in facts["status_reason"]
    clean(tmp_path)
    assert left == content(tmp_path / "baseline")


def test_a_run_that_died_before_its_manifest_leaves_nothing_and_a_night_no_owner(
    tmp_path: Path,
) -> None:
    run_dir = reserve(tmp_path, "baseline")
    (run_dir / "scratch" / "owner").write_text(DEAD)
    night = write_night(tmp_path)
    night.save()
    (night.path / "owner").write_text(DEAD)

    clean(tmp_path)

    assert not run_dir.exists()
    assert not (night.path / "owner").exists()
    assert (night.path / "suite.json").is_file()


def test_a_run_that_goes_on_is_not_touched(tmp_path: Path) -> None:
    run_dir = reserve(tmp_path, "baseline")
    write_manifest(run_dir, status="running")
    write_files(run_dir, f"history/.requests.parquet.{HALF_OF_DEAD}")
    before = content(tmp_path)

    clean(tmp_path)
    assert Exit.FAILED == main(["clean", "--all", "--results", str(tmp_path)])

    assert before == content(tmp_path)


def test_what_begins_while_verdicts_are_put_into_the_dataset_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run is judged or played again: it is held, but was not when everything was looked at."""
    run_dir = write_run(tmp_path / "baseline" / "run-1")
    gone = write_run(tmp_path / "baseline" / "run-0")

    def mended(_results: Path) -> dict[Path, str]:
        (run_dir / "scratch").mkdir()
        processes.hold(run_dir / "scratch")
        return {}

    monkeypatch.setattr("harness.trend.dataset.mended", mended)

    clean(tmp_path, "--all")

    assert run_dir.exists()
    assert not gone.exists()
    assert "run-1 has begun since, so it stays" in capsys.readouterr().err


def played_here(stage: Stage, entry: Entry, order: Order, said: str) -> OnStage:
    """Have a run of a suite played by this process, instead of one of its own."""
    run = OnStage(entry, subprocess.Popen(["true"], stdin=subprocess.PIPE), [said])

    def tell(**what: Any) -> None:
        if ENDED in what:
            run.outcome = what
        stage._messages.put((run, what))

    play_here(tell, order, None, frozenset(), (None, None))
    return run


@pytest.mark.parametrize(
    "command",
    [
        ("run", "baseline"),
        ("experiment", "baseline"),
        ("experiment", "baseline", "--repeat", "2"),
        ("nightly", "--only", "baseline", "--client", "librdkafka"),
        ("sweep", "baseline", "--over", "protocol=eager,cooperative", "--repeat", "1"),
    ],
)
def test_a_start_completes_what_was_killed_and_is_left_alone_by_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """`clean --all` comes after the scratch folder has gone and before the run is judged."""
    monkeypatch.setattr("harness.suite.director.sweep", lambda _say: 0)
    killed = tmp_path / "consumer-crash" / "killed"
    write_manifest(killed, status="running")
    (killed / "scratch").mkdir()
    refused = []

    def play(run: ExperimentRun) -> None:
        assert not (killed / "scratch").exists()
        assert "interrupted" == manifest.read(killed)["status"]
        manifest.write(run.run_dir, {"schema_version": 1, "run": run.run_dir.name})
        shutil.rmtree(run.run_dir / "scratch")
        refused.append(main(["clean", "--all", "--results", str(tmp_path)]))
        raise VoidRun("it was ended by a test")

    monkeypatch.setattr(ExperimentRun, "play", play)
    monkeypatch.setattr(Stage, "_begun", played_here)

    assert Exit.FAILED == main([*command, "--results", str(tmp_path)])
    assert {Exit.FAILED} == set(refused)
    assert killed.exists()
    assert not list(tmp_path.rglob("owner"))  # whose run is over holds nothing any more

    clean(tmp_path, "--all")

    assert not killed.exists()
