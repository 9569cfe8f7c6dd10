"""How a run waits for the scripts of probes, each a real process with a real journal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumers.journal import Journal
from harness.base.errors import VoidRun
from harness.base.wait import wait_until
from harness.run import beside
from harness.run.scene import Scene

# Ends with the exit code that it is heard.
WAITS = "import sys; sys.exit(int(sys.stdin.readline()))"


def scene_of(process: subprocess.Popen[bytes], journal: Path) -> Scene:
    """A scene whose fleet has one probe."""

    def wait(what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        wait_until(what, condition, timeout_s=timeout_s)

    fleet = SimpleNamespace(
        start_probe=lambda _name: (process, journal), last_words=lambda _name: "its last words"
    )
    return cast(Scene, SimpleNamespace(fleet=fleet, wait=wait))


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A script that goes on until it is ended."""
    with subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def end(process: subprocess.Popen[bytes], code: int) -> None:
    """Have it end with this exit code, and wait until it has."""
    process.communicate(f"{code}\n".encode())


def test_a_script_that_is_ready_is_waited_for_no_longer(process: Any, tmp_path: Path) -> None:
    scene = scene_of(process, tmp_path / "journal")
    playing = beside.start(scene, "any")
    with closing(Journal(tmp_path / "journal", "probe-any")) as journal:
        playing.follow()
        before = playing.ready
        journal.write("ready")
        beside.await_ready(scene, playing)

    assert [False, True] == [before, playing.ready]
    assert not playing.ended


def test_a_script_that_fails_before_it_is_ready_makes_the_run_void(
    process: Any, tmp_path: Path
) -> None:
    scene = scene_of(process, tmp_path / "journal")
    playing = beside.start(scene, "any")
    end(process, 3)

    with pytest.raises(VoidRun, match=r"^the probe any ended with exit code 3: its last words$"):
        beside.await_ready(scene, playing)


def test_a_script_that_has_nothing_to_prepare_may_end(process: Any, tmp_path: Path) -> None:
    scene = scene_of(process, tmp_path / "journal")
    playing = beside.start(scene, "any")
    end(process, 0)

    beside.await_ready(scene, playing)
    beside.await_end(scene, playing)
