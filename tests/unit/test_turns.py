"""Runs that are measured one after the other: who has the turn, and what others get meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.base import processes
from harness.base.priority import SHARES
from harness.base.wait import wait_until
from harness.run.turns import TURNS, Turn, turns

_PATIENCE_S = 20.0
needs_shares = pytest.mark.skipif(not SHARES.there(), reason="no shares of sessions here")


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file whose lock is the one turn that there is."""
    folder = tmp_path / "turns"
    folder.mkdir()
    [(variable, value)] = turns(folder, 1).items()
    monkeypatch.setenv(variable, value)
    [file] = folder.iterdir()
    return file


@pytest.fixture
def somebody_measured(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the turn, until it is ended."""
    code = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'a'); "
        "fcntl.flock(file, fcntl.LOCK_EX); print('here', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "here\n" == process.stdout.readline()
        yield process
        process.kill()


def waited(what: str, condition: Callable[[], bool], timeout_s: float) -> None:
    """As a scene waits, for not so long."""
    wait_until(what, condition, timeout_s=min(timeout_s, _PATIENCE_S))


def waited_briefly(what: str, condition: Callable[[], bool], _timeout_s: float) -> None:
    """As a scene waits, for no time."""
    wait_until(what, condition, timeout_s=0.2)


def never(what: str, _condition: Callable[[], bool], _timeout_s: float) -> None:
    """Whoever has to wait fails."""
    pytest.fail(f"waits for {what}")


def started(run: str, tmp_path: Path, stack: ExitStack) -> subprocess.Popen[bytes]:
    """A process of a run that does nothing."""
    process = processes.spawn(["sleep", "60"], run=run, log=tmp_path / "sleep.log")
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def share(process: subprocess.Popen[bytes]) -> str:
    """The nice value of its session."""
    return Path(f"/proc/{process.pid}/autogroup").read_text().split()[-1]


def test_without_turns_a_run_is_measured_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TURNS, raising=False)
    turn = Turn("run-1")

    turn.warm_up()
    turn.take(never)
    with ExitStack() as stack:
        if SHARES.there():
            assert "0" == share(started("run-1", tmp_path, stack))
    turn.close()


@needs_shares
def test_what_is_warmed_up_gets_the_least_share_until_the_turn_comes(
    somebody_measured: subprocess.Popen[str], tmp_path: Path
) -> None:
    turn = Turn("run-2")
    with ExitStack() as stack:
        turn.warm_up()
        stack.callback(turn.close)
        first = started("run-2", tmp_path, stack)
        assert "19" == share(first)

        somebody_measured.send_signal(signal.SIGKILL)  # however it ends
        turn.take(waited)

        assert "0" == share(first)
        assert "0" == share(started("run-2", tmp_path, stack))


@needs_shares
def test_the_next_is_measured_once_the_turn_is_released(lock: Path) -> None:
    assert lock.is_file()
    one, other = Turn("run-3"), Turn("run-4")
    one.warm_up()
    one.take(waited)
    other.warm_up()
    with pytest.raises(Exception, match="turn of this run to be measured"):
        other.take(waited_briefly)

    one.close()
    other.take(waited)
    other.close()


@needs_shares
def test_as_many_are_measured_at_one_time_as_there_are_turns(lock: Path) -> None:
    lock.with_name("turn-2").touch()
    one, other = Turn("run-6"), Turn("run-7")
    for turn in (one, other):
        turn.warm_up()
        turn.take(waited)
    for turn in (one, other):
        turn.close()


@needs_shares
def test_whoever_gives_up_before_its_turn_has_none(lock: Path) -> None:
    assert lock.is_file()
    one, none, other = Turn("run-8"), Turn("run-9"), Turn("run-10")
    one.warm_up()
    one.take(waited)
    none.warm_up()
    none.close()
    one.close()

    other.warm_up()
    other.take(waited)
    other.close()


def test_what_cannot_be_warmed_up_gently_waits_before_it_starts_anything(lock: Path) -> None:
    turn = Turn("run-5", gently=False)

    turn.warm_up()

    turn.take(never)
    assert lock.is_file()
    assert not SHARES.least
    turn.close()
