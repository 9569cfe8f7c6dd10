"""Positions kept outside Kafka: one small file per partition, shared by all members of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from consumers.client import Answer, Partition, Position

_WIDTH: Final = 20  # digits of any offset, so that each write replaces the whole of the one before


class PositionStore:
    """The next record to read of each partition, as whoever worked on it last has left it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def write(self, positions: Sequence[Position]) -> list[Answer]:
        """Keep `positions`: they survive the process, not the machine. Answers as Kafka would."""
        for topic, partition, committed in positions:
            # One write of one length: a reader sees the old position or the new one.
            path = self._folder / f"{topic}-{partition}"
            with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
                file.write(b"%0*d" % (_WIDTH, committed))
        return [Answer(*position, 0, None) for position in positions]

    def read(self, partitions: Sequence[Partition]) -> list[Position]:
        """What is known of `partitions`; those that nobody has worked on are left out."""
        found = []
        for topic, partition in partitions:
            path = self._folder / f"{topic}-{partition}"
            if path.exists() and (kept := path.read_bytes()):
                found.append(Position(topic, partition, int(kept)))
        return found
