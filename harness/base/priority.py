"""Processor time that a process gets only where nobody else wants it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

IDLE: Final = getattr(os, "SCHED_IDLE", None)  # null on a system without such a class
_AUTOGROUP: Final = Path("/proc/self/autogroup")


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
        with suppress(OSError):  # there are no autogroups
            _AUTOGROUP.write_text("19")
