"""A run that has no history yet: whoever wants to judge it is told what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base import processes
from harness.base.errors import NoData
from harness.base.wait import wait_until
from harness.tables.source import read_run
from tests.histories import History

RUN = f"20261122T090000-{os.getpid() % 0x10000:04x}"  # another process looks for another run


def unfinished(tmp_path: Path, status: str, *, journals: bool) -> Path:
    """A run of which nothing has been collected."""
    run_dir = History().write(tmp_path / RUN, run=RUN, status=status)
    for path in (run_dir / "history").iterdir():
        path.unlink()
    (run_dir / "journals").mkdir()
    if journals:
        (run_dir / "journals" / "member-1.journal").touch()
    return run_dir


@contextmanager
def process_of_the_run(tmp_path: Path) -> Iterator[None]:
    """A process that has the run's mark, as its watchdog has."""
    process = processes.spawn(
        [sys.executable, "-c", "input()"],
        run=RUN,
        log=tmp_path / "log",
        stdin=subprocess.PIPE,
    )
    try:
        # For an instant a new process has no environment yet.
        wait_until("marked process", lambda: processes.marked(RUN), timeout_s=30)
        yield
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("collected", "owner", "says"),
    [
        (False, None, "still goes on: wait for its end"),
        (True, None, "still goes on: wait for its end"),
        (False, "0:0.00", r"./kafka-chaos collect .*, then check again"),
    ],
    ids=["it goes on", "it is just being collected", "a killed harness left it"],
)
def test_a_run_whose_harness_lives_is_waited_for(
    collected: bool, owner: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if collected:
        run_dir = History().write(tmp_path / RUN, run=RUN, status="running")
    else:
        run_dir = unfinished(tmp_path, "running", journals=True)
    if owner is not None:
        monkeypatch.setenv(processes.OWNER_MARK, owner)
    with process_of_the_run(tmp_path), pytest.raises(NoData, match=says):
        read_run(run_dir)


@pytest.mark.parametrize("status", ["running", "interrupted", "complete"])
def test_journals_without_a_history_are_to_be_collected(tmp_path: Path, status: str) -> None:
    run_dir = unfinished(tmp_path, status, journals=True)
    says = f"the run is {status}: `./kafka-chaos collect {run_dir}` makes it from the journals"
    with pytest.raises(NoData, match=says):
        read_run(run_dir)


def test_a_run_without_journals_has_to_be_repeated(tmp_path: Path) -> None:
    run_dir = unfinished(tmp_path, "void", journals=False)
    with pytest.raises(NoData, match=r"no journals to make it from, so run the experiment again"):
        read_run(run_dir)
