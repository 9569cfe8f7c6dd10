"""Judging in a process of its own, beside whatever else happens."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import psutil
import pyarrow.parquet as pq
import pytest

from harness.base import processes
from harness.base.priority import IDLE, SHARES
from harness.base.wait import wait_until
from harness.bench.synthetic import write_synthetic
from harness.suite import background
from harness.suite.background import BackgroundJudge

pytestmark = pytest.mark.spark


def judging() -> list[psutil.Process]:
    """The processes that judge for this one."""
    return [
        each for each in psutil.Process().children() if "harness.suite.background" in each.cmdline()
    ]


def judge_that_began() -> psutil.Process:
    """The one process that judges. For an instant a new process has no command line yet."""
    (process,) = wait_until("process that judges", judging, timeout_s=30)
    return process


def leaders(process: psutil.Process) -> list[psutil.Process]:
    """Its children that have a session of their own; one that asks Java's version has none."""
    found = []
    for each in process.children():
        with suppress(ProcessLookupError):
            if os.getsid(each.pid) == each.pid:
                found.append(each)
    return found


def hurry(process: psutil.Process) -> None:
    """Let it and its Spark take time from other tests, beside which they would wait for minutes."""
    spark = wait_until("Spark of the judge", lambda: leaders(process), timeout_s=120)
    for each in (process, *spark):
        SHARES.lift([each.pid])
        for thread in each.threads():
            with suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(thread.id, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.long(300)
def test_runs_are_judged_in_turn_and_what_cannot_be_is_named(tmp_path: Path) -> None:
    run_dir = write_synthetic(tmp_path / "run", 2_000)
    with closing(BackgroundJudge(tmp_path / "judging.log")) as aside:
        assert [] == list(aside.finished(wait=True))
        aside.submit(run_dir)
        aside.submit(tmp_path / "nowhere")
        if IDLE is not None:
            assert [] == judging()  # it may not begin yet
        aside.go()
        process = judge_that_began()
        if IDLE is not None:
            (spark,) = wait_until("Spark of the judge", lambda: leaders(process), timeout_s=30)
            shares = [Path(f"/proc/{each.pid}/autogroup") for each in (process, spark)]
            if shares[0].exists():  # each session has a share of its own
                wait_until(
                    "least shares of the judge and its Spark",
                    lambda: all("nice 19" in share.read_text() for share in shares),
                    timeout_s=30,
                )
                assert shares[0].read_text() != shares[1].read_text()
                assert Path("/proc/self/autogroup").read_text() != shares[0].read_text()
            assert os.sched_getscheduler(process.pid) == IDLE
            hurry(process)
        answers = list(aside.finished(wait=True))
    assert [] == judging()
    assert [run_dir, tmp_path / "nowhere"] == [judged for judged, _ in answers]
    assert "" == answers[0][1]
    assert "nowhere" in answers[1][1]
    assert pq.read_table(run_dir / "verdicts.parquet").num_rows > 0
    assert (run_dir / "report.html").is_file()


@pytest.mark.long(300)
def test_a_process_that_dies_costs_the_run_it_judged_and_no_other(tmp_path: Path) -> None:
    runs = [write_synthetic(tmp_path / name, 2_000) for name in ("first", "second")]
    with closing(BackgroundJudge(tmp_path / "judging.log")) as aside:
        for run_dir in runs:
            aside.submit(run_dir)
        aside.go()
        judge_that_began().kill()
        finished = aside.finished(wait=True)
        first, problem = next(finished)
        assert "ended with exit code -9" in problem
        process = judge_that_began()
        hurry(process)
        assert [runs[0], (runs[1], "")] == [first, *finished]
        process.kill()
        process.wait()
        aside.submit(runs[0])  # no run was judged when it died: none is to blame
        aside.go()
        hurry(judge_that_began())
        assert [(runs[0], "")] == list(aside.finished(wait=True))


def test_a_process_that_hangs_is_ended_and_another_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process sleeps, and each that takes its place answers."""
    begun = tmp_path / "begun"
    program = tmp_path / "judge"
    program.write_text(HANGS_ONCE.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setattr(processes, "python_module", lambda *_: [str(program), str(begun)])
    monkeypatch.setattr(background, "LONGEST_S", 3.0)
    runs = [tmp_path / name for name in ("first", "second")]
    with closing(BackgroundJudge(tmp_path / "judging.log")) as aside:
        for run_dir in runs:
            aside.submit(run_dir)
        found = list(aside.finished(wait=True))

    hung = "it was not judged within 0.05 min, and its process was ended"
    assert [(runs[0], hung), (runs[1], "")] == found


HANGS_ONCE: Final = """#!{python}
import pathlib, sys, time
begun = pathlib.Path(sys.argv[1])
if not begun.exists():
    begun.touch()
    time.sleep(600)
for folder in sys.stdin:
    print('[%s, ""]' % folder.strip(), flush=True)
"""


def test_an_answer_that_was_taken_when_somebody_interrupted_is_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "judge"
    program.write_text(HANGS_ONCE.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setattr(processes, "python_module", lambda *_: [str(program), str(tmp_path)])
    runs = [tmp_path / name for name in ("first", "second")]
    with closing(BackgroundJudge(tmp_path / "judging.log")) as aside:
        for run_dir in runs:
            aside.submit(run_dir)
        interrupted = aside.finished(wait=True)
        assert (runs[0], "") == next(interrupted)
        interrupted.close()
        assert [(runs[0], ""), (runs[1], "")] == list(aside.finished(wait=True))


def test_what_is_pending_is_dropped_by_closing(tmp_path: Path) -> None:
    with closing(BackgroundJudge(tmp_path / "judging.log")) as aside:
        aside.submit(write_synthetic(tmp_path / "run", 2_000))
        aside.go()
        process = judge_that_began()
        java = process.children(recursive=True)
    assert not process.is_running()
    assert [] == psutil.wait_procs(java, timeout=30)[1]


DIES: Final = """
import sys, time
from pathlib import Path
from harness.suite.background import BackgroundJudge
aside = BackgroundJudge(Path(sys.argv[1]) / "judging.log")
aside.submit(Path(sys.argv[1]) / "run")
aside.go()
print(aside._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.long(90)
def test_nothing_is_left_of_it_when_whoever_asked_is_killed(tmp_path: Path) -> None:
    write_synthetic(tmp_path / "run", 2_000)
    command = [sys.executable, "-c", DIES, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asked:
        assert asked.stdout is not None
        process = psutil.Process(int(asked.stdout.readline()))
        wait_until("Java for Spark", lambda: process.children(recursive=True), timeout_s=60)
        family = [process, *process.children(recursive=True)]
        asked.kill()
    # It ends with the run that it judges, on an idle processor alone (SCHED_IDLE).
    assert [] == psutil.wait_procs(family, timeout=600)[1]
