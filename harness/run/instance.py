"""What a member runs as: a process with all that it starts, or a container.

Both have one interface.
"""

import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import psutil

from harness.base import processes

if TYPE_CHECKING:  # it imports the engine's SDK, which programs without an image do without
    from harness.cluster.images import ProgramContainer


# One process of a member's program with all that belongs to it, or its container. Its text says how
# it is, in the words of the kernel, or of the engine.
Instance: TypeAlias = "ProcessTree | ProgramContainer"


@dataclass(frozen=True)
class ProcessTree:
    """A process, and with `member` all that carry the mark of that member of the run."""

    process: subprocess.Popen[bytes]
    run: str = ""
    member: str = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; null while it runs or its log is not whole."""
        return self.process.poll()

    @property
    def ended_at(self) -> None:
        """When it ended, in epoch microseconds; the kernel keeps no time of an end."""
        return None

    def send_signal(self, number: signal.Signals) -> None:
        """The main process first: finding the others takes time."""
        if self.poll() is None:
            self.process.send_signal(number)
        for each in self.processes() if self.member else []:
            if each.pid != self.pid:
                with suppress(psutil.NoSuchProcess):
                    each.send_signal(number)

    def kill(self) -> None:
        for _ in range(2 if self.member else 1):  # what was just being started is found then
            self.send_signal(signal.SIGKILL)

    def freeze(self) -> None:
        self.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send_signal(signal.SIGCONT)

    @property
    def state(self) -> str:
        """The kernel's word for its process: "running", "stopped", "gone", …"""
        try:
            return psutil.Process(self.pid).status() if self.poll() is None else "gone"
        except psutil.NoSuchProcess:
            return "gone"

    @property
    def frozen(self) -> bool:
        return bool(self.state == psutil.STATUS_STOPPED)

    def processes(self) -> list[psutil.Process]:
        """Every living process of it."""
        found = processes.of_member(self.run, self.member) if self.member else []
        if self.poll() is None and all(each.pid != self.pid for each in found):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(self.pid))
        return found

    @property
    def gone(self) -> bool:
        return self.poll() is not None and not psutil.pid_exists(self.pid) and not self.left

    @property
    def left(self) -> int:
        """How many processes of it are there, once its first one has ended."""
        return len(self.processes())

    def __str__(self) -> str:
        if self.poll() is None:
            return f"the kernel says {self.state} of pid {self.pid}"
        return f"pid {self.pid} {'still exists' if psutil.pid_exists(self.pid) else 'is gone'}"

    def drops(self, number: signal.Signals) -> bool:
        """Whether the kernel drops this signal: that of a namespace's first process alone."""
        return False

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code, or null if it still runs after so long."""
        return processes.wait_exit(self.process, timeout_s)
