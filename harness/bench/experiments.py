"""What an experiment costs beyond the time that its own timers make it wait."""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from harness.base.errors import Exit, HarnessError
from harness.bench.measure import Figure, cost_of
from harness.history import manifest
from harness.provision.tools import Tools

_EXPERIMENT: Final = "broker-kill"
# From steady state until all is well again, the schedule and Kafka's own timers rule.
_FORCED: Final = ("steady", "faults", "recover")
# The figures, with their limits in seconds.
_FIGURES: Final = {
    "wall beyond its own timers": 10.0,
    "last record to verdict and page": 7.0,
}


def bench(_tools: Tools, rounds: int) -> list[Figure]:
    """Wall time of `experiment broker-kill`, warm, less its time from steady state to recovery.

    And how long verdict and page take from the last record that a consumer reads.
    """
    name = f"experiment {_EXPERIMENT}, warm"
    measured = [_play() for _ in range(rounds)]
    return [
        Figure(name, figure, median(values), "s", rounds, limit)
        for (figure, limit), values in zip(
            _FIGURES.items(), zip(*measured, strict=True), strict=True
        )
    ]


def _play() -> tuple[float, ...]:
    """The figures of one run: played, judged and reported.

    A verdict may be withheld. Raises HarnessError for a run that was not judged.
    """
    with tempfile.TemporaryDirectory() as folder:
        began_at = datetime.now(UTC)
        command = [sys.executable, "-m", "harness", "experiment", _EXPERIMENT]
        cost = cost_of([*command, "--results", folder])
        if cost.exit_code not in (Exit.AS_EXPECTED, Exit.DIFFERS):
            raise HarnessError(f"{_EXPERIMENT} was not judged: exit code {cost.exit_code}")
        phases = manifest.read(Path(folder) / _EXPERIMENT / "latest")["phases"]
    from_to = {
        phase["name"]: (datetime.fromisoformat(phase["from"]), datetime.fromisoformat(phase["to"]))
        for phase in phases
    }
    forced_s = sum(_lasted_s(*from_to[name]) for name in _FORCED)
    read_s = _lasted_s(began_at, from_to["drain"][1])
    return cost.wall_s - forced_s, cost.wall_s - read_s


def _lasted_s(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()
