"""Runs of one machine that are measured one after the other, each warmed up while another is.

Starting brokers and consumers takes all the processors there are, and measuring takes little of
them. So a run that waits for its turn starts its own with the least share of processor time, which
makes nothing late that is timed, and is ready when its turn comes.

Method: KAFKA_CHAOS_TURNS names a folder with a file for each run that may be measured at one time.
A turn is a lock on one of them: it ends with the process that has it, however that ends. Without
such a folder, a run is measured at once.
"""

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

from harness.base import processes
from harness.base.priority import SHARES, cores

TURNS: Final = "KAFKA_CHAOS_TURNS"
# That other runs take; a suite has one ahead at most. A soak may take days, and who waits costs
# nothing: this only ends what hangs.
LONGEST_S: Final = 7 * 86_400.0
_LOOK_S: Final = 0.05
_CORES_OF_A_RUN: Final = 4  # three brokers, the members, and the judge beside them
_GB_OF_A_RUN: Final = 4

Wait = Callable[[str, Callable[[], bool], float], None]  # for what, until when, seconds at most


class Turn:
    """The turn of one run: `warm_up`, then `take`, and `close` when it has been measured.

    `gently` says whether what the run starts can be kept from disturbing others: containers are
    started by an engine, and are not.
    """

    def __init__(self, run: str, *, gently: bool = True) -> None:
        self._run = run
        self._gently = gently and SHARES.there()
        self._lock: int | None = None  # the open file whose lock is the turn
        self._there = threading.Event()
        self._over = threading.Event()
        self._taking = threading.Lock()

    def warm_up(self) -> None:
        """Begin to wait for the turn. What is started until it comes gets the least share."""
        folder = os.environ.get(TURNS)
        if not folder:
            self._there.set()
            return
        if self._gently:
            SHARES.lower()
        threading.Thread(target=self._wait, args=(Path(folder),), name="turn", daemon=True).start()
        if not self._gently:
            while not self._there.wait(_LOOK_S):  # which a signal can interrupt
                pass

    def take(self, wait: Wait) -> None:
        if not self._there.is_set():
            wait("turn of this run to be measured", self._there.is_set, LONGEST_S)

    def close(self) -> None:
        """It has been measured, or will not be: the next one may be."""
        with self._taking:
            self._over.set()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _wait(self, folder: Path) -> None:
        while not self._taken(folder):
            if self._over.wait(_LOOK_S):
                return
        if self._gently:
            SHARES.lift([process.pid for process, _, _ in processes.marked(self._run)])
        self._there.set()

    def _taken(self, folder: Path) -> bool:
        for file in sorted(folder.iterdir()):
            with self._taking:
                if self._over.is_set():
                    return False
                try:
                    lock = os.open(file, os.O_RDWR)
                except FileNotFoundError:  # the suite measures fewer at one time from now on
                    continue
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(lock)
                    continue
                self._lock = lock
                return True
        return False


def turns(folder: Path, at_once: int) -> dict[str, str]:
    """Make a folder of turns for so many runs at one time; the variable that names it."""
    for number in range(1, at_once + 1):
        (folder / f"turn-{number}").touch()
    return {TURNS: str(folder)}


def usual_jobs() -> int:
    """How many runs may be measured at once, with room: only one on two cores was tried."""
    gb = psutil.virtual_memory().total // 10**9
    return max(1, min(cores() // _CORES_OF_A_RUN, gb // _GB_OF_A_RUN))
