"""Runs of a suite that are played side by side: what is said of them, and what becomes of each.

Method: the processes that play them are small ones, which tell what such a process may tell; real
ones are in tests/cluster.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.base import processes
from harness.base.priority import SHARES
from harness.base.wait import wait_until
from harness.catalogue import registry
from harness.catalogue.cover import Candidate
from harness.history.suites import State, Suite
from harness.run.app_processes import Built
from harness.run.interrupts import Interrupted, interruptible
from harness.run.screen import Screen
from harness.run.turns import usual_jobs
from harness.suite import director, stage
from harness.suite.stage import Stage
from tests.report.sample_run import write_manifest

needs_shares = pytest.mark.skipif(not SHARES.there(), reason="no shares of sessions here")

# A process that plays a run in the way that the run's seed stands for. One that is warmed up waits
# for its turn, as a run does.
PLAYER = """
import json, os, pickle, sys, time, traceback
from pathlib import Path
sys.path.insert(0, os.getcwd())
from harness.run.turns import Turn

def tell(**what):
    print(json.dumps(what), flush=True)

order = pickle.load(sys.stdin.buffer)["order"]
run_dir = order.results / order.label
tell(reserved=str(run_dir))
tell(say="start cluster")
turn = Turn("a test")
turn.warm_up()
turn.take(lambda what, met, _: [time.sleep(0.01) for _ in iter(met, True)])
(order.results / "order").open("a").write(order.label + " ")
if order.seed == 2:
    tell(ended="void", reason="a broker ended")
elif order.seed == 3:
    sys.exit(7)
elif order.seed == 4:
    tell(ended="failed", reason="ValueError: x", traceback="Traceback")
elif order.seed == 8:  # it is killed while it writes
    sys.stdout.write('{"say": "dr')
    sys.stdout.flush()
    os._exit(9)
elif order.seed == 5:
    tell(phase="steady", built=[])
    tell(say="hangs")
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        tell(say="heals")
        tell(ended="interrupted")
else:
    tell(phase="steady", built=[["/here", ["make"]]])
    begun = order.results / f"{order.label} is ready"
    begun.touch()
    other = order.results / ("two is ready" if order.label == "one" else "one is ready")
    while order.seed == 6 and not other.exists():
        time.sleep(0.01)
    tell(say="drain")
    tell(ended="played", run_dir=str(run_dir), late_ticks=9 if order.seed == 7 else 8)
turn.close()
"""


class Judge:
    """What is submitted."""

    def __init__(self) -> None:
        self.runs = list[str]()

    def go(self) -> None: ...

    def submit(self, run_dir: Path) -> None:
        self.runs.append(run_dir.name)


class Said(Screen):
    """A screen that keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = list[str]()

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(autouse=True)
def small_players(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small processes that tell what is in PLAYER."""
    monkeypatch.setattr(processes, "python_module", lambda *_: [sys.executable, "-c", PLAYER])


@pytest.fixture
def staged(tmp_path: Path) -> SimpleNamespace:
    """A suite of runs named one, two and three, with what plays them."""
    candidate = Candidate.of("baseline", registry.load("baseline"))
    suite = director.new_repeat(tmp_path, candidate, 3)
    judge, screen = Judge(), Said()
    for entry, label in zip(suite.entries, ("one", "two", "three"), strict=True):
        entry.label = label
        write_manifest(tmp_path / label)

    def played(*seeds: int, jobs: int = 1, port_base: int | None = None) -> set[Built]:
        todo = []
        for entry, seed in zip(suite.entries, seeds, strict=False):
            entry.seed = seed
            todo.append((entry, candidate, f"run {entry.label}"))
        given = suite, tmp_path, screen, judge, port_base, jobs
        with closing(Stage(*given)) as stage:  # type: ignore[arg-type]
            try:
                with interruptible():
                    stage.play(todo, lambda: None)
            except Interrupted:
                suite.interrupted = True
                stage.interrupt()
        return stage.built

    return SimpleNamespace(played=played, suite=suite, judge=judge, screen=screen, results=tmp_path)


def states(suite: Suite) -> list[tuple[str, str]]:
    return [(str(entry.state), entry.reason) for entry in suite.entries]


def test_one_reads_of_one_run_after_the_other(staged: SimpleNamespace) -> None:
    staged.played(1, 1, 1)

    assert [
        line
        for label in ("one", "two", "three")
        for line in (f"run {label}", "  start cluster", "  drain")
    ] == staged.screen.lines
    assert ["one", "two", "three"] == staged.judge.runs
    assert "one two three " == (staged.results / "order").read_text()
    assert [f"../../{name}" for name in ("one", "two", "three")] == [
        entry.folder for entry in staged.suite.entries
    ]


@pytest.mark.parametrize(
    ("seed", "state", "reason", "said"),
    [
        (2, State.VOID, "a broker ended", []),
        (3, State.FAILED, "the harness failed: its process ended with exit code 7; {log}", []),
        (4, State.FAILED, "the harness failed: ValueError: x", ["Traceback"]),
    ],
)
def test_what_goes_wrong_with_a_run_does_not_end_the_others(
    seed: int, state: State, reason: str, said: list[str], staged: SimpleNamespace
) -> None:
    staged.played(1, seed, 1)

    reason = reason.format(log=f"{staged.suite.path / 'playing.log'} has its words")
    played = (State.INTERRUPTED, "it has been played, and not been judged yet")
    assert [played, (state, reason), played] == states(staged.suite)
    assert ["one", "three"] == staged.judge.runs
    lines = staged.screen.lines
    shown = [*said, f"two: {state} ({reason})"]
    start = lines.index("run two") + 2
    assert shown == lines[start : start + len(shown)]


@needs_shares
def test_the_next_is_warmed_up_while_one_is_measured(staged: SimpleNamespace) -> None:
    def interrupt_when_both_are_there() -> None:
        one, two, _ = staged.suite.entries
        wait_until(
            "two runs at one time",
            lambda: "  hangs" in staged.screen.lines and None not in (one.folder, two.folder),
            timeout_s=30,
        )
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=interrupt_when_both_are_there, daemon=True)
    watching.start()
    staged.played(5, 1, 1)
    watching.join()

    interrupted = (State.INTERRUPTED, "it was interrupted before it was complete")
    assert [interrupted, interrupted, (State.PLANNED, "")] == states(staged.suite)
    assert "  heals" in staged.screen.lines
    assert "one " == (staged.results / "order").read_text()  # two was not measured
    assert [] == staged.judge.runs


def test_several_are_measured_at_one_time_where_that_is_asked(staged: SimpleNamespace) -> None:
    staged.played(6, 6, jobs=2, port_base=9_000)  # each waits until the other is measured too

    assert {"one", "two"} == set(staged.judge.runs)
    assert ["run one", "  start cluster", "  drain", "run two", "  start cluster", "  drain"] == (
        staged.screen.lines
    )


def test_one_is_measured_at_a_time_once_the_clock_has_come_late(staged: SimpleNamespace) -> None:
    staged.played(7, 1, 1, jobs=2, port_base=9_000)

    sentence = "one: this machine's clock came late 9 times, so that one run is measured at a time"
    assert [sentence] == [line[: len(sentence)] for line in staged.screen.lines if "late" in line]
    assert {"one", "two", "three"} == set(staged.judge.runs)


@pytest.mark.parametrize(
    ("cores", "gb", "jobs"), [(2, 24, 1), (7, 64, 1), (8, 64, 2), (64, 11, 2), (1, 1, 1)]
)
def test_a_larger_machine_measures_more_at_one_time(
    cores: int, gb: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SimpleNamespace(total=gb * 10**9)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(cores)))
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)

    assert jobs == usual_jobs()


def test_a_program_is_built_once_for_all(staged: SimpleNamespace) -> None:
    assert {("/here", ("make",))} == staged.played(1)


def test_a_line_that_is_not_whole_is_no_line(staged: SimpleNamespace) -> None:
    staged.played(8, 1)

    (state, reason), (other, _) = states(staged.suite)[:2]
    assert "failed" == state
    assert reason.startswith("the harness failed: its process ended with exit code 9;")
    assert "interrupted" == other  # it has been played, and there is no judge here
    assert ["two"] == staged.judge.runs


def test_a_run_that_no_process_can_be_started_for_failed(
    staged: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "python_module", lambda *_: ["/nowhere/python"])
    staged.played(1, 1)

    for state, reason in states(staged.suite)[:2]:
        assert "failed" == state
        assert "no process for this run could be started ([Errno 2]" in reason
    assert 2 == sum("no process for this run" in line for line in staged.screen.lines)


def test_a_page_that_cannot_be_written_costs_no_other_run(
    staged: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_run_dir: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stage, "report", full)
    staged.played(2, 1)

    assert "  no report: OSError: [Errno 28] No space left on device" in staged.screen.lines
    assert ["two"] == staged.judge.runs
