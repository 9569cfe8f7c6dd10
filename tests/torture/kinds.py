"""What a round is: one thing that is done to the harness, and what was wrong afterwards."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

KILLS: Final = "kills"
DAMAGE: Final = "damage"
SHORTAGES: Final = "shortages"
NIGHTS: Final = "nights"
COMMANDS: Final = "commands"
CHECKS: Final = "checks"
CLOCKS: Final = "clocks"
MEMORY: Final = "memory"
KINDS: Final = (KILLS, NIGHTS, COMMANDS, CHECKS, DAMAGE, SHORTAGES, CLOCKS, MEMORY)


@dataclass(frozen=True)
class Round:
    """One round of a campaign, by its kind and number."""

    seed: int
    kind: str
    number: int

    @property
    def name(self) -> str:
        """As `ROUND=` names it."""
        return f"{self.kind}-{self.number}"

    @property
    def randomness(self) -> random.Random:
        """What this round is drawn from, the same each time."""
        return random.Random(f"{self.seed} {self.name}")


@dataclass(frozen=True)
class Outcome:
    """What a round did (`what`, `where` in general), how that ended, and what was wrong with it."""

    round: Round
    what: str
    where: str
    ended: str
    problems: Sequence[str] = field(default=())
    took_s: float = 0.0
