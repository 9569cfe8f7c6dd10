"""Consumers that break a rule on purpose, so that the judge is proven on a real cluster.

The loop asks its `Conduct` when to commit, what to work off and what to drop; the honest answers
are below, and each saboteur gives another answer to one of these questions.
"""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from consumers.client import Partition, Position, Range
from harness.base.errors import BadInput

# What skips or repeats batches does so every so many, and not more often than so: the start of a
# run shows it, and its end can be reached.
EVERY_BATCHES: Final = 5
TIMES: Final = 3
# Batches in hand when a revocation comes: enough that they are certainly not done yet.
HELD_BATCHES: Final = 3
# From the start of a long batch until the process is stopped, and for how long: past the
# max.poll.interval.ms of a test, and within the session of another one.
STOPS_AFTER_S: Final = 2.0
STOPPED_S: Final = 8.0
# A stopped process cannot wake itself, so another one does; it ends with its parent.
_STOP_PARENT: Final = """
import os, signal, sys, time
parent, after_s, for_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
for pause_s, number in ((after_s, signal.SIGSTOP), (for_s, signal.SIGCONT)):
    time.sleep(pause_s)
    if os.getppid() != parent:
        break
    os.kill(parent, number)
"""


class Batch(NamedTuple):
    """The records of one poll, `poll` being its number."""

    poll: int
    ranges: Sequence[Range]

    @property
    def records(self) -> int:
        return sum(r.records for r in self.ranges)

    @property
    def positions(self) -> list[Position]:
        """Behind its last record of each partition, in the order of the partitions."""
        last = {(r.topic, r.partition): r.last + 1 for r in self.ranges}
        return [Position(topic, partition, at) for (topic, partition), at in sorted(last.items())]

    def only(self, owned: set[Partition]) -> "Batch":
        """The part of it that is of `owned` partitions."""
        # A range starts with its topic and partition, and tuples compare by value.
        for found in self.ranges:
            if found[:2] not in owned:
                return Batch(self.poll, [r for r in self.ranges if r[:2] in owned])
        return self


@dataclass
class Conduct:
    """An honest consumer: each batch at once, committed after the work, nothing kept back.

    `commits` is when a batch is committed, around the work on it or never; `closes`, whether it
    leaves the group before it ends; `drops_revoked`, whether records of partitions given up are
    left to their new owner. `skips` is asked before each batch whether it is left out, and `again`
    after it whether it is worked off once more.
    """

    commits: Literal["after", "before", "never"] = "after"
    closes: bool = True
    drops_revoked: bool = True
    skips: Callable[[], bool] = lambda: False
    again: Callable[[], bool] = lambda: False

    def ready(self, batch: Batch | None) -> list[Batch]:
        """Batches to work off now; `batch` is the one just delivered, None if there is none."""
        return [batch] if batch and not self.skips() else []

    def positions(self, batch: Batch) -> list[Position]:
        return batch.positions

    def revoked(self) -> None:
        """Partitions were given up, or the consumer is about to close."""

    def stalls(self) -> None:
        """A batch begins that takes very long."""


class _KeepProcessingAfterRevocation(Conduct):
    def __init__(self) -> None:
        super().__init__(drops_revoked=False)
        self._held: deque[Batch] = deque()
        self._finish = False

    def ready(self, batch: Batch | None) -> list[Batch]:
        if batch:
            self._held.append(batch)
        # Nothing new to come: what is held is worked off too, or the end would never be reached.
        keep = 0 if self._finish or batch is None else HELD_BATCHES
        self._finish = False
        return [self._held.popleft() for _ in range(len(self._held) - keep)]

    def revoked(self) -> None:
        self._finish = True


class _CommitBackwards(Conduct):
    """Every second commit names a position before the batch, which was committed already."""

    def __init__(self) -> None:
        super().__init__()
        self._back = True

    def positions(self, batch: Batch) -> list[Position]:
        self._back = not self._back
        if not self._back:
            return batch.positions
        first: dict[tuple[str, int], int] = {}
        for found in batch.ranges:
            first.setdefault((found.topic, found.partition), found.first)
        return [Position(*partition, max(0, at - 1)) for partition, at in sorted(first.items())]


class _Sometimes:
    """True every EVERY_BATCHES times it is asked, at most TIMES times."""

    def __init__(self) -> None:
        self._asked = 0

    def __call__(self) -> bool:
        self._asked += 1
        return self._asked % EVERY_BATCHES == 0 and self._asked <= EVERY_BATCHES * TIMES


class _StopInStall(Conduct):
    """The whole process is stopped in the midst of a long batch, and no fault says so."""

    def stalls(self) -> None:
        command = [sys.executable, "-c", _STOP_PARENT]
        command += [str(os.getpid()), str(STOPS_AFTER_S), str(STOPPED_S)]
        # Kept: Python warns of one that is thrown away while it runs.
        self._waker = subprocess.Popen(command, stdin=subprocess.DEVNULL)


_CONDUCTS: Final[dict[str, Callable[[], Conduct]]] = {
    "commit-backwards": _CommitBackwards,
    "commit-before-processing": partial(Conduct, commits="before"),
    "keep-processing-after-revocation": _KeepProcessingAfterRevocation,
    "leave-without-close": partial(Conduct, closes=False),
    "never-commit": partial(Conduct, commits="never"),
    "skip-batches": lambda: Conduct(skips=_Sometimes()),
    "stop-in-stall": _StopInStall,
    "work-twice": lambda: Conduct(again=_Sometimes()),
}


def conduct_of(sabotage: str | None) -> Conduct:
    """The conduct with that name, the honest one for None; BadInput if there is none."""
    if sabotage is None:
        return Conduct()
    if sabotage not in _CONDUCTS:
        raise BadInput(f"sabotage {sabotage!r} is unknown: choose {' or '.join(_CONDUCTS)}")
    return _CONDUCTS[sabotage]()
