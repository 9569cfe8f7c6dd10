"""A log of somebody's broker: what is known of it, and why it may be of no use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.history.foreign.clock import Clock

NO_INFO: Final = "has no INFO lines of the group coordinator"
_EXAMPLES: Final = 3  # of lines that are not known
_SHOWN: Final = 300  # characters of one


@dataclass
class Log:
    """A file that was read, and what of it is known."""

    path: Path
    lines: int = 0
    marked: int = 0  # lines of a coordinator
    told: int = 0  # those that are understood, each once
    twice: int = 0  # those that another file has too
    clients: int = 0  # of whom it says who they are, as a request log
    unread: int = 0  # of a coordinator, and cut off or without a time
    unknown: int = 0  # of a coordinator, in words that are not known
    examples: list[str] = field(default_factory=list)  # of those
    first_at: int | None = None
    last_at: int | None = None
    clock: Clock = field(default_factory=Clock)
    brokers: set[int] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    kafka: bool = False
    broker: bool = False
    damage: list[str] = field(default_factory=list)

    @property
    def lacks(self) -> str | None:
        """Why it is of no use, as the end of a sentence; None if it is."""
        if self.told or self.twice or self.clients:
            return None
        if not self.lines:
            return "is empty" if not self.damage else self.damage[0]
        if self.unread and not self.kafka:
            return "has lines of a coordinator without a time, or none that is whole"
        if self.unknown:
            return (
                f"has lines of the group coordinator in words that are not known here{self.whose}"
            )
        if self.broker or self.marked:
            return NO_INFO
        return (
            "is no broker's log, but a controller's or client's"
            if self.kafka
            else "is no broker's log"
        )

    @property
    def whose(self) -> str:
        """The version of Kafka that the log shows, in brackets."""
        return f" (Kafka {', '.join(sorted(self.versions))})" if self.versions else ""

    def wonder_at(self, message: str) -> None:
        """Count a line of a coordinator in words that are not known."""
        self.unknown += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(message[:_SHOWN])
