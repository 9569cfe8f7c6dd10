"""What a suite tells the process that plays one of its runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.run import build
from harness.run.order import Order

UP: Final = "steady"  # the phase of a run in which all that it needs has been started
ENDED: Final = "ended"  # in the last that a process tells


@dataclass(frozen=True)
class Task:
    """A run that is to be played, and how it is to be told of.

    `built` are the programs that need no building any more. `columns` is the width of the terminal
    to draw for, null without one.
    """

    order: Order
    built: frozenset[build.Built]
    columns: int | None
    own_experiments: Path | None
    own_rules: Path | None
