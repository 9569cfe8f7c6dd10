"""What an experiment costs beyond the time that its own timers make it wait."""

import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.base.errors import Exit
from harness.bench.measure import Figure, median
from harness.history import manifest

LIMIT_S: Final = 10
VERDICT_LIMIT_S: Final = 4
# From steady state until all is well again, the schedule and Kafka's own timers rule.
_FORCED: Final = ("steady", "faults", "recover")


def bench(rounds: int) -> list[Figure]:
    """Wall time of `experiment broker-kill`, warm, less its time from steady state to recovery.

    And how long it takes from the last record that a consumer reads to the verdict and the page.
    """
    walls, beyond, verdicts = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            wall_s = play("broker-kill", "embedded", Path(folder))
            ended_at = datetime.now(UTC)
            phases = _phases(Path(folder) / "broker-kill" / "latest")
            walls.append(wall_s)
            beyond.append(wall_s - sum(_lasted_s(*phases[name]) for name in _FORCED))
            verdicts.append(_lasted_s(phases["drain"][1], ended_at))
    name = "experiment broker-kill, warm"
    return [
        Figure(name, "wall", median(walls), "s", rounds),
        Figure(name, "wall beyond its own timers", median(beyond), "s", rounds, LIMIT_S),
        Figure(name, "last record to verdict", median(verdicts), "s", rounds, VERDICT_LIMIT_S),
    ]


def play(name: str, backend: str, results: Path) -> float:
    """Seconds that the command takes for one experiment: run, judge and report.

    A verdict may be withheld, on a machine that stood still. Raises CalledProcessError for a run
    that was not judged.
    """
    command = [sys.executable, "-m", "harness", "experiment", name, "--backend", backend]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--results", str(results)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode not in (Exit.AS_EXPECTED, Exit.DIFFERS):
        done.check_returncode()
    return time.monotonic() - began


def _phases(run_dir: Path) -> dict[str, tuple[datetime, datetime]]:
    """When each phase of a run began and ended."""
    return {
        phase["name"]: (datetime.fromisoformat(phase["from"]), datetime.fromisoformat(phase["to"]))
        for phase in manifest.read(run_dir)["phases"]
    }


def _lasted_s(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()
