"""One member of the group: what it runs as, and what is known of it.

It runs as a process with all that it starts, or as a container; both have one interface. Our own
consumer writes a journal and takes orders on its standard input. Of a program under test only the
brokers' logs are known, and signals go to all its processes, or to its container.
"""

import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import psutil

from consumers.consumer import ClientGaveUp
from consumers.journal import tail_journal
from harness.base import processes

if TYPE_CHECKING:  # it imports the engine's SDK, which programs without an image do without
    from harness.cluster.images import ProgramContainer

Partition = int
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
        """Null: the kernel does not record when a process ended."""
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


@dataclass(frozen=True)
class Ending:
    """How a process ended that was asked to."""

    signal: str  # that it was asked by
    after_s: float
    killed: bool  # it did not end in time, and SIGKILL had to follow
    exit_code: int | None
    at_us: int  # when it was seen to be gone

    def __str__(self) -> str:
        forced = ", by SIGKILL" if self.killed else ""
        return f"{self.after_s:.2f} s after {self.signal}{forced}, with exit code {self.exit_code}"


@dataclass
class Member:
    """One process of the group, and how far it is."""

    name: str
    instance: Instance
    journal: Path | None  # null: a program under test
    lane: str = "members"
    started_at: int = 0  # epoch microseconds, of a program under test
    asked_at: int = 0  # likewise, when it asked to join the group first; 0: it never did
    instance_id: str | None = None  # of a static member: kept by the process that takes its place
    stop_signal: str = "SIGTERM"
    journal_read: int = 0
    started: bool = False
    assigned: set[Partition] = field(default_factory=set)
    ever_assigned: bool = False
    generation: int | None = None
    heard_at: float = 0.0  # of a foreign one: monotonic, when its coordinator last took its word
    polls: int = 0
    records: int = 0
    position: dict[Partition, int] = field(default_factory=dict)  # next offset to process
    in_hand: dict[int, list[Any]] = field(default_factory=dict)  # poll to ranges, not processed yet
    stalls_ended: int = 0
    in_transaction: bool = False  # and stays there until it is killed
    fatal_error: str = ""  # of its client library, which can do nothing any more
    closed: bool = False  # it has left its group, and only its process has still to end
    expected_end: bool = False  # a fault or the harness ended it
    ending: Ending | None = None  # of one that was asked by a signal

    @property
    def running(self) -> bool:
        return self.instance.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self.instance.poll()

    @property
    def foreign(self) -> bool:
        """Whether it is a program under test and none of our own consumers."""
        return self.journal is None

    def send(self, command: str) -> None:
        processes.tell(self._ours.process, command)

    def close(self) -> None:
        self.expected_end = True
        processes.tell_last(self._ours.process, "close")

    @property
    def _ours(self) -> ProcessTree:
        """The process of a consumer of ours, the only one that understands orders."""
        assert isinstance(self.instance, ProcessTree)
        return self.instance

    def terminate(self) -> None:
        """Ask it to end by the signal that its supervisor would send, with all that it started."""
        self.expected_end = True
        self.instance.send_signal(signal.Signals[self.stop_signal])

    def ended(self, after_s: float, *, killed: bool) -> None:
        at_us = self.instance.ended_at or time.time_ns() // 1_000
        self.ending = Ending(self.stop_signal, after_s, killed, self.exit_code, at_us)

    def kill(self) -> None:
        self.expected_end = True
        self.instance.kill()

    @property
    def gone(self) -> bool:
        return self.instance.gone

    @property
    def gave_up(self) -> bool:
        """Whether it has ended because its client library reported a fatal error."""
        code = self.exit_code
        if code is not None:
            self.follow()  # what it wrote before its end
        return code == ClientGaveUp.exit_code and bool(self.fatal_error)

    def follow(self) -> None:
        if self.journal is None:
            return
        frames, self.journal_read = tail_journal(self.journal, self.journal_read)
        for frame in frames:
            self._take(frame)

    def _take(self, frame: dict[str, Any]) -> None:
        match frame["kind"]:
            case "started":
                self.started = True
            case "assigned":
                self.assigned |= {number for _, number in frame["partitions"]}
                self.ever_assigned = True
                self.generation = frame["generation"]
            case "revoked":
                self.assigned -= {number for _, number in frame["partitions"]}
            case "lost" | "closed":  # all of it: Java in KIP-848 may leave one out when it says so
                self.assigned = set()
                self.closed = frame["kind"] == "closed"
            case "delivered":
                self.polls += 1
                self.in_hand[frame["poll"]] = frame["ranges"]
            case "processed":
                for _, number, _first, last, count in self.in_hand.pop(frame["poll"], ()):
                    self.position[number] = max(self.position.get(number, 0), last + 1)
                    self.records += count
            case "error" if frame.get("fatal"):
                self.fatal_error = f"{frame['name']}: {frame['text']}"
            case "transaction_held":
                self.in_transaction = True
            case "stall_ended" | "callback_stall_ended":
                self.stalls_ended += 1


def has_left(member: Member) -> bool:
    member.follow()
    return member.closed or not member.running
