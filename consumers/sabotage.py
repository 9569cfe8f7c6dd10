"""Consumers that break a rule on purpose, so that the judge is proven on a real cluster.

The loop asks its `Conduct` when to commit, what to work off and what to drop; the honest answers
are below, and each saboteur gives another answer to one of these questions.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from consumers.client import Partition, Position, Range
from harness.errors import BadInput

# Batches in hand when a revocation comes: enough that they are certainly not done yet.
HELD_BATCHES: Final = 3


When = Literal["after", "before", "never"]


class Batch(NamedTuple):
    """The records of one poll, `poll` being its number."""

    poll: int
    ranges: Sequence[Range]

    @property
    def records(self) -> int:
        """How many are in it."""
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


class Conduct:
    """An honest consumer: each batch at once, committed after the work, nothing kept back."""

    commits: When = "after"  # when a batch is committed: around the work on it, or never
    drops_revoked = True  # whether records of partitions given up are left to their new owner

    def ready(self, batch: Batch | None) -> list[Batch]:
        """Batches to work off now; `batch` is the one just delivered, None if there is none."""
        return [batch] if batch else []

    def revoked(self) -> None:
        """Partitions were given up, or the consumer is about to close."""


class _CommitBeforeProcessing(Conduct):
    commits: When = "before"


class _KeepProcessingAfterRevocation(Conduct):
    drops_revoked = False

    def __init__(self) -> None:
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


class _NeverCommit(Conduct):
    commits: When = "never"


_CONDUCTS: Final[dict[str, type[Conduct]]] = {
    "commit-before-processing": _CommitBeforeProcessing,
    "keep-processing-after-revocation": _KeepProcessingAfterRevocation,
    "never-commit": _NeverCommit,
}


def conduct_of(sabotage: str | None) -> Conduct:
    """The conduct with that name, the honest one for None; BadInput if there is none."""
    if sabotage is None:
        return Conduct()
    if sabotage not in _CONDUCTS:
        raise BadInput(f"sabotage {sabotage!r} is unknown: choose {' or '.join(_CONDUCTS)}")
    return _CONDUCTS[sabotage]()
