"""Processor time that a process gets only where no other process wants it."""

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

IDLE: Final = getattr(os, "SCHED_IDLE", None)  # null on a system without such a class
_AUTOGROUP: Final = Path("/proc/self/autogroup")
_ENABLED: Final = Path("/proc/sys/kernel/sched_autogroup_enabled")
_CGROUPS: Final = Path("/proc/self/cgroup")
_MOUNTED: Final = Path("/sys/fs/cgroup")
_LEAST: Final = "19"  # the nice value of a session: 15 parts of processor time
_USUAL: Final = "0"  # 1,024 parts
_AGAIN_S: Final = 0.1  # a user that is not root may change one share in this time


def give_way() -> None:
    """Have this process, and what it starts, get only processor time that is left over.

    SCHED_IDLE says so among the processes of a session. Where the kernel has autogroups, each
    session gets as much as any other, whatever its processes are: so the share of this one is made
    as small as it can be too (nice 19 is 15 parts to the 1,024 of others), unless it is a user's
    terminal. A system without such a class changes nothing.
    """
    if IDLE is None:
        return
    os.sched_setscheduler(0, IDLE, os.sched_param(0))
    SHARES.lower()  # each session that is started has a share of its own
    if os.getsid(0) == os.getpid():
        SHARES.started(os.getpid())


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
        """Whether this system has shares of sessions, and they count."""
        try:
            enabled = _ENABLED.read_text().strip() == "1" and os.access(_AUTOGROUP, os.W_OK)
            return enabled and not overruled()
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


def overruled(cgroups: Path = _CGROUPS, mounted: Path = _MOUNTED) -> bool:
    """Whether this process shares processors by its control group, whatever its session is.

    Source: sched(7), *The autogroup feature*: placing processes in other CPU control groups than
    the root overrides it. systemd mostly does so, and so do engines of containers. `cgroups` has
    the process's groups (cgroups(7)): version 1 names that of the processors; in version 2 each
    group but the root has a `cpu.weight` where processors are shared by groups.
    """
    for line in cgroups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return path != "/"
        if not controllers:
            group = mounted / path.lstrip("/")
            ours = [each for each in (group, *group.parents) if each.is_relative_to(mounted)]
            if any((each / "cpu.weight").exists() for each in ours):
                return True
    return False


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
    return len(os.sched_getaffinity(0))
