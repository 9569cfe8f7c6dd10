"""Brings this machine's 1-minute load to a figure, and holds it there.

It is a process of its own (`python -m tests.loaded.load_makers FIGURE KIND SECONDS PARENT`), with
one process for each thing that is busy. All of them end with the process PARENT, which started it,
however that ends, and after SECONDS in any case. Nothing is left on the disk, since what is written
has no name there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.base import processes
from harness.base.wait import wait_until

PROCESSOR: Final = "processor"
DISK: Final = "disk"
BOTH: Final = "both"
KINDS: Final = (PROCESSOR, DISK, BOTH)

MOST: Final = 120  # processes, whatever the figure
_LOOK_S: Final = 1.0
_BLOCK_BYTES: Final = 4 << 20
_BLOCKS: Final = 8  # of each process that writes, so that a hundred of them take 3 GB
_PR_SET_PDEATHSIG: Final = 1  # prctl(2)
_READY_S: Final = 300.0  # until a load of 40 is there, with twice as many processes at first


def load_now() -> float:
    """The machine's 1-minute load."""
    return os.getloadavg()[0]


def wanted(figure: float, load: float) -> int:
    """How many processes are to be busy now, so that a load becomes the figure.

    The load follows the number of processes as a mean of a minute does: twice as many as the figure
    bring it there in 40 s. What else is busy on this machine counts as well.
    """
    return max(0, min(MOST, round(2 * figure - load)))


@contextmanager
def loaded(figure: float, kind: str, longest_s: float) -> Iterator[None]:
    """Hold the machine at a load of `figure` inside the context; it begins once that is reached.

    Raises WaitTimeout where the load does not come.
    """
    command = [sys.executable, "-m", __name__, str(figure), kind, str(longest_s), str(os.getpid())]
    marks = {processes.RUN_MARK: "load", processes.OWNER_MARK: processes.owner_token()}
    with subprocess.Popen(command, env={**os.environ, **marks}, start_new_session=True) as maker:
        try:
            wait_until(
                f"load of {figure:g}",
                lambda: load_now() >= 0.9 * figure or maker.poll() is not None,
                timeout_s=_READY_S,
                saw=lambda: f"a load of {load_now():.1f}",
                every_s=_LOOK_S,
            )
            yield
        finally:
            maker.kill()  # what it started ends with it


def main(arguments: Sequence[str]) -> int:
    """Hold the load until the time is over, or its parent has ended."""
    figure, kind, longest_s = float(arguments[0]), arguments[1], float(arguments[2])
    _end_with(int(arguments[3]))
    until = time.monotonic() + longest_s
    busy: list[int] = []
    while time.monotonic() < until:
        number = wanted(figure, load_now())
        while len(busy) < number:
            busy.append(_started(kind, len(busy), until))
        for pid in busy[number:]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        del busy[number:]
        time.sleep(_LOOK_S)
    return 0


def _started(kind: str, number: int, until: float) -> int:
    """The pid of one more busy process; every second one writes where it is to be both."""
    maker = os.getpid()
    if pid := os.fork():
        return pid
    try:
        _end_with(maker)
        os.setsid()  # where sessions share the processors, it has a share of its own
        if kind == DISK or (kind == BOTH and number % 2):
            _write(until)
        while time.monotonic() < until:
            pass
    finally:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its parent has ended, or end it if that has already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _write(until: float) -> None:
    block = os.urandom(_BLOCK_BYTES)
    with tempfile.TemporaryFile(dir=Path.cwd(), buffering=0) as file:  # it has no name
        while time.monotonic() < until:
            for place in range(_BLOCKS):
                os.pwrite(file.fileno(), block, place * _BLOCK_BYTES)
                os.fdatasync(file.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
