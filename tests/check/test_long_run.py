"""A made-up long run: it is collected and judged as a real one is, and looks like one."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Final

import psutil
import pyarrow.parquet as pq
import pytest

from consumers.journal import read_journal
from harness.base import processes
from harness.base.errors import BadInput, HarnessError
from harness.bench import days
from harness.bench.long_plan import LongPlan
from harness.bench.long_run import write_long_run
from harness.bench.measure import cost_of
from harness.history import manifest, seals, store
from harness.history.collect import collect
from harness.suite.judging import look

RECORDED: Final = Path(__file__).parents[1] / "recorded" / "runs"
REAL: Final = ("baseline.librdkafka.eager.4.3.1", "consumer-crash.librdkafka.eager.3.9.2")
# What rows of a table are told apart by.
KIND: Final = {
    "requests": "api",
    "client_events": "event",
    "coordinator_events": "event",
    "faults": "phase",
    "topology": "what",
    "commits": "how",
    "members": "role",
    "sends": "outcome",
    "deliveries": "topic",
    "host": None,
}


def made(folder: Path, plan: LongPlan) -> Path:
    run_dir = write_long_run(folder / "20260101T000000-days", plan)
    collect(run_dir, killed=manifest.read(run_dir)["killed"])
    seals.renew(run_dir)
    return run_dir


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("days"), LongPlan(120))


def filled(run_dir: Path) -> dict[tuple[str, Any], set[str]]:
    """By table and kind of row, the columns that any such row has something in."""
    found: dict[tuple[str, Any], set[str]] = {}
    for table, kind in KIND.items():
        for row in pq.read_table(run_dir / "history" / f"{table}.parquet").to_pylist():
            columns = {name for name, value in row.items() if value not in (None, [])}
            found.setdefault((table, row[kind] if kind else ""), set()).update(columns)
    return found


def rows(run_dir: Path, table: str) -> list[dict[str, Any]]:
    return list(pq.read_table(run_dir / "history" / f"{table}.parquet").to_pylist())


@pytest.mark.parametrize("plan", [LongPlan(120), LongPlan(45, 20_000, 4, 160, 12)], ids=str)
def test_every_rule_that_it_exercises_holds(
    tmp_path: Path, plan: LongPlan, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == look(made(tmp_path, plan))

    printed = capsys.readouterr().out
    assert "Every verdict as expected" in printed
    assert {"R21", "X32a", "X32b", "X38", "E01", "E03", "E05"} <= set(printed.split())
    assert "violated" not in printed


def test_its_rows_have_what_those_of_real_runs_have(run_dir: Path) -> None:
    real: dict[tuple[str, Any], set[str]] = {}
    for name in REAL:
        for kind, columns in filled(RECORDED / name).items():
            real.setdefault(kind, set()).update(columns)

    ours = filled(run_dir)

    assert set() == ours.keys() - real.keys()
    # A member of KIP-848 has a reason to be added; and newer histories have newer columns.
    beyond = {kind: columns - real[kind] for kind, columns in ours.items()}
    assert {} == {kind: columns for kind, columns in beyond.items() if columns - NEWER}
    missing = {kind: real[kind] - columns for kind, columns in ours.items()}
    assert {} == {kind: columns for kind, columns in missing.items() if columns - {"reason"}}


NEWER: Final = {"effects", "clock_us"}


def test_waits_for_a_processor_go_to_files_as_they_are_collected(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine each process waits in each second: 864,000 rows a day of ten processes."""
    again = write_long_run(tmp_path / "20260101T000000-days", LongPlan(120))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(processes, "scratch_folder", lambda _name: scratch)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # so that it can be looked at
    monkeypatch.setattr(store, "PIECE", 20)
    monkeypatch.setattr(store, "MOST_ROWS", 20)

    collect(again, killed=manifest.read(again)["killed"])

    assert [] != list((scratch / "waits").glob("*.parquet"))
    assert rows(run_dir, "waits") == rows(again, "waits")


def test_each_round_kills_one_member_and_starts_another(run_dir: Path) -> None:
    faults = [row["kind"] for row in rows(run_dir, "faults") if row["phase"] == "injected"]
    ends = [row["end"] for row in rows(run_dir, "members") if row["role"] == "consumer"]

    assert ["kill-consumer", "start-consumer"] * 2 == faults
    assert {"killed": 2, "closed": 3} == {end: ends.count(end) for end in set(ends)}


def test_each_record_that_was_sent_is_delivered(run_dir: Path) -> None:
    sent = sum(row["count"] for row in rows(run_dir, "sends"))
    processed = [row for row in rows(run_dir, "deliveries") if row["processed_at"]]

    assert 120 * 300 == sent == sum(row["count"] for row in processed)


def test_journals_are_whole_but_for_those_of_the_killed(run_dir: Path) -> None:
    for path in (run_dir / "journals").glob("*.journal"):
        content = read_journal(path)
        assert (False, 0) == (content.torn, content.gaps), path.name
        ended = content.frames[-1]["kind"] == "closed"
        assert ended == (path.stem not in manifest.read(run_dir)["killed"])


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ((60, 300, 1), "have two or more"),
        ((600, 300, 3, 200), "have 180 at most"),
        ((30, 300), "have a longer run"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(size: tuple[int, ...], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        LongPlan(*size)


def test_a_size_is_a_time_and_a_rate() -> None:
    assert LongPlan(86_400, 300, 5, 60) == days.plan_of("24h:300", 5, 60)
    assert LongPlan(90, 20_000) == days.plan_of("90s:20000")
    for wrong in ("24h", "1d:300", "h:300", "24h:x"):
        with pytest.raises(BadInput, match="say 24h:300"):
            days.plan_of(wrong)


def test_what_a_command_costs_has_all_that_it_started() -> None:
    child = "x = bytearray(150 << 20); import time; time.sleep(1)"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); sys.exit(7)"
    )

    cost = cost_of([sys.executable, "-c", parent])

    assert 7 == cost.exit_code
    assert 150 < cost.memory_mb < 400
    assert 0 < cost.cpu_s
    assert 1 <= cost.wall_s


def test_it_is_known_when_a_command_told_what_is_waited_for() -> None:
    tells = (
        "import sys, time; say = lambda text: print(text, file=sys.stderr, flush=True); "
        "say('begun'); say('first verdict: fine'); time.sleep(1); say('first verdict: again')"
    )

    asked = cost_of([sys.executable, "-c", tells], told="first verdict")
    unasked = cost_of([sys.executable, "-c", tells], told="second verdict")

    assert asked.told_s is not None
    assert 0 < asked.told_s < asked.wall_s - 0.9
    assert unasked.told_s is None


def test_a_child_that_is_no_program_of_its_own_yet_has_no_memory_of_its_own() -> None:
    """For a moment a process that starts another one is there twice."""
    twice = "import os, time; x = bytearray(300 << 20); os.fork(); time.sleep(1)"

    cost = cost_of([sys.executable, "-c", twice])

    assert 300 < cost.memory_mb < 450


def test_a_command_that_takes_more_memory_is_ended() -> None:
    greedy = "x = bytearray(400 << 20); import time; time.sleep(600)"
    before = psutil.Process().children(recursive=True)  # Spark's, where it judges these tests

    with pytest.raises(HarnessError, match="more than 100"):
        cost_of([sys.executable, "-c", greedy], most_mb=100)

    assert before == psutil.Process().children(recursive=True)
