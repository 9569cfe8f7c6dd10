"""How long the processes of a run waited for a processor, by the kernel's own count.

The observer may be awake on time while a thread of a broker waits in the queue of a processor: it
sleeps most of the time, and who has slept goes first. So Linux is asked how long each thread of the
run has waited (`/proc/PID/task/TID/schedstat`, its second number, in nanoseconds). Where that is
not to be had nothing is noted, and nothing excused by it.
"""

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.base.processes import Mark, mark_of

# A process that was just forked still has the environment of its parent.
_LOOKS: Final = 3
_CONFIGS: Final = (".json", ".properties")
_TOTAL: Final = re.compile(r"^(some|full) .*\btotal=(\d+)$", re.MULTILINE)  # in microseconds


class Waits:
    """The threads of one run's processes, and how long each had waited when it was last seen."""

    def __init__(
        self, run: str, proc: Path = Path("/proc"), mark_of: Callable[[int], Mark | None] = mark_of
    ) -> None:
        self._run = run
        self._proc = proc
        self._mark_of = mark_of
        self._names: dict[str, str] = {}  # of the run's processes, by pid
        self._strangers: dict[str, int] = {}  # by pid, and how often it was looked at
        self._waited_ns: dict[str, dict[str, int]] = {}  # by process and thread

    def sample(self) -> dict[str, float]:
        """The longest that a thread of each process has waited since the last sample, in ms.

        Its waits are added up, and those of a thread that is new count from its beginning. One that
        a look missed is no new one at the next; of one that has waited for less than before only
        the number is the same.
        """
        self._look_for_processes()
        self._waited_ns = {pid: self._waited_ns.get(pid, {}) for pid in self._names}
        longest: dict[str, float] = {}
        for pid, name in self._names.items():
            known = self._waited_ns[pid]
            for thread, waited_ns in self._threads(pid):
                before_ns = known.get(thread, 0)
                known[thread] = waited_ns
                since_ns = waited_ns - before_ns if waited_ns >= before_ns else waited_ns
                longest[name] = max(longest.get(name, 0.0), since_ns / 1e6)
        return longest

    def _look_for_processes(self) -> None:
        own = str(os.getpid())  # it only watches, and nothing waits for it
        names = (each.name for each in self._proc.iterdir())
        living = [name for name in names if name.isdecimal() and name != own]
        self._names = {pid: self._names[pid] for pid in living if pid in self._names}
        self._strangers = {pid: self._strangers[pid] for pid in living if pid in self._strangers}
        for pid in living:
            if pid in self._names or self._strangers.get(pid, 0) == _LOOKS:
                continue
            if name := self._name_of(pid):
                self._names[pid] = name
            else:
                self._strangers[pid] = self._strangers.get(pid, 0) + 1

    def _name_of(self, pid: str) -> str:
        """What a process of this run is called; nothing for one that is not of it, or is gone."""
        mark = self._mark_of(int(pid))
        if mark is None or mark.run != self._run:
            return ""
        if mark.member:
            return mark.member
        try:
            arguments = (self._proc / pid / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return ""
        named = [Path(each) for each in arguments.split("\0") if each]
        configs = [path.stem for path in named if path.suffix in _CONFIGS]
        return configs[-1] if configs else "".join(path.name for path in named[:1])

    def _threads(self, pid: str) -> list[tuple[str, int]]:
        """Each thread of a process, and how long it has waited in all, in nanoseconds."""
        found = []
        with suppress(OSError):  # the process is gone
            for thread in (self._proc / pid / "task").iterdir():
                with suppress(OSError, IndexError, ValueError):
                    counts = (thread / "schedstat").read_bytes()
                    found.append((thread.name, int(counts.split()[1])))
        return found


class Pressure:
    """For how much of the time this machine, or our container, kept anything waiting (PSI)."""

    def __init__(
        self,
        totals: Path = Path("/proc/pressure/cpu"),
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._totals = totals
        self._clock_ns = clock_ns
        self._before_us, self._begun_ns = self._totals_us(), clock_ns()

    def shares(self) -> dict[str, float]:
        """In which part of the time since `some` thread waited, and all did (`full`), if known."""
        passed_us = (self._clock_ns() - self._begun_ns) / 1e3
        return {
            name: round(min(1.0, (total_us - self._before_us[name]) / passed_us), 3)
            for name, total_us in self._totals_us().items()
            if name in self._before_us and passed_us > 0
        }

    def _totals_us(self) -> dict[str, int]:
        try:
            text = self._totals.read_text()
        except OSError:  # an older kernel, one that was built or started without it, or no Linux
            return {}
        return {name: int(total) for name, total in _TOTAL.findall(text)}
