"""When a program that ended by itself is started again, as its supervisor would do it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MOST: Final = 30  # in a run
# Before the group was steady once, and without a pause: what cannot work at all is refused soon.
MOST_AT_FIRST: Final = 5
# A process that ran for so long had come up, and the next one is started at once, as by Docker.
CAME_UP_S: Final = 10.0
# Else after a pause that doubles from the first to the longest: Docker's begins with 0.1 s,
# Kubernetes' with 10 s. Without one, a client that gives up while a broker is missing used up all
# starts in 0.3 s, where the controller takes 9 s to miss that broker.
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 10.0


@dataclass
class Restarts:
    """Those of one run. Times are in seconds, of any clock that does not go back."""

    first_pause_s: float = FIRST_PAUSE_S
    done: int = 0
    # From when on another is to take a place, which instance id it gets, and its number there.
    _waiting: list[tuple[float, str | None, int]] = field(default_factory=list)
    # By process: how many in a row before it, each in the place of the other, ended soon.
    _soon: dict[str, int] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        return bool(self._waiting)

    def exhausted(self, *, settled: bool) -> bool:
        return self.done + len(self._waiting) >= (MOST if settled else MOST_AT_FIRST)

    def ended(
        self, name: str, instance_id: str | None, lived_s: float, now_s: float, *, settled: bool
    ) -> None:
        soon = 0 if lived_s >= CAME_UP_S else self._soon.get(name, 0) + 1
        # The first that ends soon is started again at once, as all that ran for longer.
        pause_s = self.first_pause_s * 2.0 ** (soon - 2) if settled and soon > 1 else 0.0
        self._waiting.append((now_s + min(pause_s, LONGEST_PAUSE_S), instance_id, soon))

    def due(self, now_s: float) -> Iterator[tuple[str | None, int]]:
        """What is to be started now: instance ids, each with what `started` is to be told."""
        due = [each for each in self._waiting if each[0] <= now_s]
        self._waiting = [each for each in self._waiting if each[0] > now_s]
        for _, instance_id, soon in due:
            self.done += 1
            yield instance_id, soon

    def started(self, name: str, soon: int) -> None:
        self._soon[name] = soon

    def forget(self) -> None:
        self._waiting.clear()
