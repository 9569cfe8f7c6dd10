"""Processor time that a process gets only where nobody else wants it."""

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

IDLE: Final = getattr(os, "SCHED_IDLE", None)  # null on a system without such a class
_AUTOGROUP: Final = Path("/proc/self/autogroup")
_ENABLED: Final = Path("/proc/sys/kernel/sched_autogroup_enabled")
_LEAST: Final = "19"  # the nice value of a session: 15 parts of processor time
_USUAL: Final = "0"  # 1,024 parts
_AGAIN_S: Final = 0.1  # whoever is not root may change one share in this time


def give_way() -> None:
    """Have this process, and what it starts, get only processor time that nobody else wants.

    SCHED_IDLE says so among the processes of a session. Where the kernel has autogroups, each
    session gets as much as any other, whatever its processes are: so the share of this one is made
    as small as it can be too (nice 19 is 15 parts to the 1,024 of others), unless it is somebody's
    terminal. A system without such a class changes nothing.
    """
    if IDLE is None:
        return
    os.sched_setscheduler(0, IDLE, os.sched_param(0))
    if os.getsid(0) == os.getpid():
        _set_share(os.getpid(), _LEAST)


class Shares:
    """The least share of processor time for sessions that this process starts, until it is lifted.

    That can be lifted again by anybody, which SCHED_IDLE cannot: for that one has to be root, or to
    be allowed it by RLIMIT_NICE.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.least = False

    @staticmethod
    def there() -> bool:
        """Whether this system has shares of sessions."""
        try:
            return _ENABLED.read_text().strip() == "1" and os.access(_AUTOGROUP, os.W_OK)
        except OSError:
            return False

    def lower(self) -> None:
        """Give the least to each session that is started from now on (`started`)."""
        with self._lock:
            self.least = True

    def started(self, pid: int) -> None:
        """A process has been started, in a session of its own."""
        with self._lock:
            if self.least:
                _set_share(pid, _LEAST)

    def lift(self, pids: Iterable[int]) -> None:
        """Give the usual share to these, and to what is started from now on."""
        with self._lock:
            self.least = False
            for pid in pids:
                _set_share(pid, _USUAL)


SHARES: Final = Shares()


def _set_share(pid: int, nice: str) -> None:
    """Set the share of the session of a process; one that is gone needs none."""
    for _ in range(20):
        try:
            Path(f"/proc/{pid}/autogroup").write_text(nice)
        except BlockingIOError:
            time.sleep(_AGAIN_S)
        except OSError:
            return
        else:
            return


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
