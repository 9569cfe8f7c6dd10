"""Scripts that ask brokers what no consumer would, as a part of an experiment."""

from dataclasses import dataclass
from typing import Final

from harness.base.errors import BadInput

# Members that have just reached steady state still send what belongs to their join.
AT_S: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A script that asks brokers, over the wire, what no consumer would (`consumers/probes/`).

    `name` is the script's. It is played in a process and over a lane of its own, from `at_s` after
    steady state; the run goes on when it has ended. What it asked and was answered is in `calls`.
    Faults that one is played `beside` begin when it is ready, and its end is awaited after them.
    Raises BadInput for a time before steady state, or one that faults would not wait for.
    """

    name: str
    at_s: float = AT_S
    beside: bool = False

    def __post_init__(self) -> None:
        if self.at_s < 0:
            raise BadInput(f"probe {self.name} has at_s={self.at_s:g}: use 0 or more")
        if self.beside and self.at_s != AT_S:
            raise BadInput(
                f"probe {self.name} is played beside faults, which begin when it is ready: leave "
                "out at_s, or beside=True"
            )
