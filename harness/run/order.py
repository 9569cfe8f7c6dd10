"""A run that is asked for, as a value."""

from dataclasses import dataclass
from pathlib import Path

from harness.experiment import Experiment


@dataclass(frozen=True)
class Order:
    """What is played, and where it is kept.

    Its program, limits and versions are the experiment's. `label` names it on the screen (else
    `name`), and `port_base` is the first port that it takes (else any that are free).
    """

    name: str
    experiment: Experiment
    results: Path  # absolute; the run gets a folder of its own below
    seed: int
    port_base: int | None = None
    label: str = ""
