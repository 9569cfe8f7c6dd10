"""How long threads of a run's processes waited for a processor, as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from consumers.journal import Journal, read_journal
from harness.base.processes import RUN_MARK, Mark
from harness.base.wait import wait_until
from harness.run import observer
from harness.run.waiting import Pressure, Waits

RUN = "20261125T093000-0001"


class Proc:
    """A folder like /proc, of our own making, and the marks of its processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marks: dict[int, Mark] = {}

    def process(self, pid: int, *arguments: str, run: str = RUN, member: str = "") -> None:
        folder = self.folder / str(pid)
        (folder / "task").mkdir(parents=True, exist_ok=True)
        (folder / "cmdline").write_text("\0".join([*arguments, ""]))
        if run:
            self.marks[pid] = Mark(run, owner="1:2", member=member)

    def waits(self) -> Waits:
        return Waits(RUN, self.folder, self.marks.get)

    def waited(self, pid: int, thread: int, waited_ms: float) -> None:
        folder = self.folder / str(pid) / "task" / str(thread)
        folder.mkdir(exist_ok=True)
        (folder / "schedstat").write_text(f"123456789 {round(waited_ms * 1e6)} 42\n")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    made = Proc(tmp_path / "proc")
    made.process(10, "java", "-cp", "x", "kafka.Kafka", "/run/scratch/broker-1.properties")
    made.process(11, "python", "-m", "consumers.consumer", "/run/journals/member-2.json")
    made.process(12, "node", "index.js", member="member-7")
    made.process(13, "java", "other.properties", run="another")
    (made.folder / "self").mkdir()
    for pid in (10, 11, 12, 13):
        made.waited(pid, pid, 1_000)
    return made


def test_the_thread_that_waited_longest_counts_since_the_last_sample(proc: Proc) -> None:
    waits = proc.waits()
    waits.sample()
    proc.waited(10, 10, 1_020)
    proc.waited(10, 99, 70)  # a new thread
    proc.waited(11, 11, 1_001.5)

    assert {"broker-1": 70.0, "member-2": 1.5, "member-7": 0.0} == waits.sample()
    assert {"broker-1": 0.0, "member-2": 0.0, "member-7": 0.0} == waits.sample()


def test_a_process_that_ends_or_says_nothing_is_left_out(proc: Proc) -> None:
    waits = proc.waits()
    waits.sample()
    (proc.folder / "10").rename(proc.folder / "gone")
    (proc.folder / "11" / "task" / "11" / "schedstat").write_text("")

    assert {"member-7": 0.0} == waits.sample()


def test_a_thread_that_a_look_missed_is_no_new_one(proc: Proc) -> None:
    """It counted with all that it had waited since its start: 30 s within 1.6 s."""
    waits = proc.waits()
    waits.sample()
    heard = proc.folder / "10" / "task" / "10" / "schedstat"
    heard.rename(heard.with_name("missed"))
    proc.waited(10, 11, 0)
    assert 0.0 == waits.sample()["broker-1"]
    proc.waited(10, 10, 1_040)

    assert 40.0 == waits.sample()["broker-1"]


def test_a_thread_that_bears_the_number_of_another_counts_from_its_beginning(proc: Proc) -> None:
    waits = proc.waits()
    waits.sample()
    proc.waited(10, 10, 30)

    assert 30.0 == waits.sample()["broker-1"]


def test_a_process_is_known_once_it_has_its_own_environment(proc: Proc) -> None:
    waits = proc.waits()
    proc.process(20, "python", run="")
    waits.sample()
    proc.process(20, "toxiproxy-server", "-config", "/run/scratch/toxiproxy.json")
    proc.waited(20, 20, 3)

    assert 3.0 == waits.sample()["toxiproxy"]


@pytest.fixture
def crowded() -> Iterator[None]:
    """Two threads' work for one processor, in processes of the run."""
    loop = "while True: pass"
    processor = str(min(os.sched_getaffinity(0)))
    environment = {**os.environ, RUN_MARK: RUN}
    command = ["taskset", "-c", processor, sys.executable, "-c", loop]
    running = [subprocess.Popen(command, env=environment) for _ in range(2)]
    yield
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("crowded")
def test_the_kernel_has_who_waits() -> None:
    waits = Waits(RUN)
    waited_ms: list[float] = []

    def both_wait() -> bool:
        waited_ms.extend(waits.sample().values())
        return max(waited_ms, default=0) > 50

    wait_until("a wait of 50 ms", both_wait, timeout_s=20, every_s=0.2, saw=lambda: str(waited_ms))


def test_the_observer_notes_waits_beyond_the_slack_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine too, where each look lasts; and once more when it is to stop."""
    samples: list[dict[str, float]] = [{}, {"broker-1": 50.0, "member-1": 50.1}, {"broker-2": 900}]
    watch: Any = observer.Observation(
        Journal(tmp_path / "observer.journal", "observer"), "g", [], {}
    )

    def sample(_self: Waits) -> dict[str, float]:
        threading.Event().wait(0.1)  # it waits for a processor itself
        if len(samples) == 2:
            watch.stop.set()
        return samples.pop(0)

    monkeypatch.setattr(observer, "_SAMPLE_EVERY_S", 0.001)
    monkeypatch.setattr(Waits, "sample", sample)
    asked: Callable[[Waits], None] = watch.watch_waits
    thread = threading.Thread(target=asked, args=(Waits(RUN),))
    thread.start()
    thread.join(timeout=10)

    frames = read_journal(tmp_path / "observer.journal").frames
    heard = [frame for frame in frames if frame["kind"] == "waited"]
    assert [("member-1", 50.1), ("broker-2", 900)] == [
        (frame["process"], frame["waited_ms"]) for frame in heard
    ]
    assert all(0 <= frame["at"] - frame["from_us"] < 10_000_000 for frame in heard)


# Shares of a run for which any thread waited, and for which all did.


def counted(some_us: int, full_us: int) -> str:
    averages = "avg10=97.82 avg60=94.94 avg300=56.85"
    return f"some {averages} total={some_us}\nfull {averages} total={full_us}\n"


def test_the_shares_are_of_the_time_since_it_began(tmp_path: Path) -> None:
    path, clock_ns = tmp_path / "cpu", iter((0, 10_000_000_000, 20_000_000_000))
    path.write_text(counted(5_000_000, 0))
    pressure = Pressure(path, lambda: next(clock_ns))
    path.write_text(counted(14_700_000, 1_000_000))
    assert {"some": 0.97, "full": 0.1} == pressure.shares()
    path.write_text(counted(90_000_000, 1_000_000))  # the two are not read in one moment
    assert {"some": 1.0, "full": 0.05} == pressure.shares()


def test_a_kernel_that_does_not_tell_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cpu"
    pressure = Pressure(path)
    assert {} == pressure.shares()
    path.write_text(counted(1, 1))
    assert {} == pressure.shares()  # it began untold


def test_this_kernel_is_understood_where_it_tells() -> None:
    known = Path("/proc/pressure/cpu").exists()
    assert known == ("some" in Pressure().shares())
