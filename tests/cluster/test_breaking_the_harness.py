"""The harness itself is broken: interrupted, killed, robbed of a process. Nothing may be left.

Method: a real run is brought to a phase, then hit from outside. Its exit code, its one sentence,
its manifest, and the processes of this machine tell what became of it.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from consumers.journal import read_journal
from harness.base import processes
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until
from harness.history import manifest

pytestmark = pytest.mark.cluster

PATIENCE_S = 60


class Running:
    """A run of the command in the background."""

    def __init__(self, results: Path, *arguments: str) -> None:
        self._results = results
        self._said = results / "stderr"
        results.mkdir(parents=True, exist_ok=True)
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "harness", "run", *arguments, "--results", str(results)],
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    @property
    def run_dir(self) -> Path:
        """Its folder."""
        (link,) = self._results.glob("*/latest")
        return link.resolve()

    def said(self) -> str:
        """Its standard error so far."""
        return self._said.read_text()

    def await_phase(self, name: str) -> None:
        """Wait until it has begun a phase."""

        def begun() -> bool:
            assert self.process.poll() is None, self.said()
            return f"  {name}\n" in self.said()

        wait_until(f"phase {name}", begun, timeout_s=PATIENCE_S, saw=self.said)

    def await_fault(self, phase: str) -> None:
        """Wait until a fault has come to a phase."""
        self.await_phase("faults")

        def there() -> bool:
            journal = self.run_dir / "journals" / "faults.journal"
            return journal.exists() and any(
                frame.get("phase") == phase for frame in read_journal(journal).frames
            )

        wait_until(f"fault {phase}", there, timeout_s=PATIENCE_S, saw=self.said)

    def end(self) -> int:
        """Wait for its end; its exit code."""
        return self.process.wait(timeout=PATIENCE_S)

    def process_running(self, part: str) -> psutil.Process:
        """The one process of the run whose command line has this part."""

        def found() -> list[psutil.Process]:
            return [
                process
                for process, _, _ in processes.marked(self.run_dir.name)
                if part in " ".join(process.cmdline())
            ]

        return wait_until(f"process with {part}", found, timeout_s=PATIENCE_S, saw=self.said)[0]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts runs, and ends what a failed test leaves of them."""
    started: list[Running] = []

    def start(*arguments: str, results: str = "results") -> Running:
        started.append(Running(tmp_path / results, *arguments))
        return started[-1]

    yield start
    for run in started:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()


def assert_nothing_left(run_dir: Path) -> None:
    """No process and no scratch data of the run, once its watchdog is through."""
    wait_until(
        "end of every process of the run",
        lambda: not processes.marked(run_dir.name),
        timeout_s=PATIENCE_S,
        saw=lambda: str(
            [process.cmdline()[:4] for process, _, _ in processes.marked(run_dir.name)]
        ),
    )
    assert not (run_dir / "scratch").exists()


def test_ctrl_c_in_the_middle_of_a_fault_heals_and_ends_with_2(
    running: Callable[..., Running],
) -> None:
    run = running("consumer-freeze", "--seed", "1")
    run.await_fault("injected")
    run.process.send_signal(signal.SIGINT)

    assert 2 == run.end(), run.said()
    assert "interrupted" in run.said().splitlines()[-1]
    assert_nothing_left(run.run_dir)
    assert "interrupted" == manifest.read(run.run_dir)["status"]
    phases = [
        frame["phase"]
        for frame in read_journal(run.run_dir / "journals" / "faults.journal").frames
        if frame["kind"] == "fault"
    ]
    assert ["planned", "injecting", "injected", "healing", "healed"] == phases


@pytest.mark.long(19)
def test_ctrl_c_ends_a_soak_with_a_whole_history(running: Callable[..., Running]) -> None:
    run = running("soak", "--seed", "335")  # it begins with one more consumer
    run.await_fault("injected")
    run.process.send_signal(signal.SIGINT)

    assert 0 == run.end(), run.said()
    assert "no more faults: the run ends and is judged" in run.said()
    assert_nothing_left(run.run_dir)
    assert "complete" == manifest.read(run.run_dir)["status"]
    faults = read_journal(run.run_dir / "journals" / "faults.journal").frames
    assert {"1-start-consumer"} == {each["fault"] for each in faults if each["kind"] == "fault"}


def test_ctrl_c_while_the_cluster_starts_leaves_nothing(running: Callable[..., Running]) -> None:
    run = running("baseline")
    run.await_phase("start cluster")
    run.process.send_signal(signal.SIGINT)

    assert 2 == run.end(), run.said()
    assert_nothing_left(run.run_dir)


def test_sigkill_in_the_middle_of_a_fault_is_cleaned_up_by_the_watchdog(
    running: Callable[..., Running],
) -> None:
    run = running("consumer-freeze", "--seed", "1")
    run.await_fault("injected")
    run.process.kill()
    run.end()

    assert_nothing_left(run.run_dir)
    wait_until(
        "the watchdog's word in the manifest",
        lambda: "interrupted" == manifest.read(run.run_dir)["status"],
        timeout_s=PATIENCE_S,
    )
    assert "watchdog" in manifest.read(run.run_dir)["status_reason"]
    frames = read_journal(run.run_dir / "journals" / "watchdog.journal").frames
    told = [(frame["fault"], frame["phase"]) for frame in frames if frame["kind"] == "fault"]
    assert ("1-freeze-consumer", "healed") == told[-1]


@pytest.mark.parametrize(
    ("part", "named"),
    [
        pytest.param("broker-2.properties", "broker-2", marks=pytest.mark.long(10)),
        pytest.param("controller-101.properties", "controller-101", marks=pytest.mark.long(10)),
        pytest.param("toxiproxy", "Toxiproxy", marks=pytest.mark.long(10)),
        ("member-2.json", "member-2"),
        pytest.param("harness.run.observer", "the observer", marks=pytest.mark.long(10)),
    ],
)
def test_a_process_that_dies_outside_the_plan_voids_the_run(
    running: Callable[..., Running], part: str, named: str
) -> None:
    run = running("baseline")
    run.await_phase("steady")
    run.process_running(part).kill()

    assert 3 == run.end(), run.said()
    assert named in run.said().splitlines()[-1]
    assert "ended outside the plan" in run.said()
    assert_nothing_left(run.run_dir)
    assert "void" == manifest.read(run.run_dir)["status"]


def test_a_taken_port_is_one_sentence_and_nothing_is_left(
    running: Callable[..., Running],
) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = running("baseline", "--port-base", str(port))

        assert 3 == run.end()
    assert f"port {port} on {LOOPBACK} is taken" in run.said()
    assert_nothing_left(run.run_dir)


@pytest.mark.long(19)
def test_two_runs_at_the_same_time_do_not_touch_each_other(
    running: Callable[..., Running],
) -> None:
    first = running("baseline", "--set", "duration_s=3", results="first")
    second = running("baseline", "--set", "duration_s=3", results="second")

    assert [0, 0] == [first.process.wait(180), second.process.wait(180)], (
        first.said() + second.said()
    )
    for run in (first, second):
        assert "complete" == manifest.read(run.run_dir)["status"]
        assert_nothing_left(run.run_dir)


def test_a_start_sweeps_what_a_killed_harness_and_its_watchdog_left(tmp_path: Path) -> None:
    """Both die; the processes they leave carry a mark whose owner is gone."""
    environment = {**os.environ, processes.RUN_MARK: "gone", processes.OWNER_MARK: "999999:0.00"}
    left = subprocess.Popen(["sleep", "60"], env=environment)
    done = subprocess.run(
        [sys.executable, "-m", "harness", "clean", "--results", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )

    assert -signal.SIGKILL == left.wait(timeout=10)
    assert " ended, " in done.stdout, done.stdout  # and whatever another killed run has left
