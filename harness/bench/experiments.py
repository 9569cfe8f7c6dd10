"""What an experiment costs beyond the time that its own timers make it wait."""

import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Final

from harness.base.errors import Exit
from harness.bench.measure import Figure, median
from harness.history import manifest

LIMIT_S: Final = 30
# From steady state until all is well again, the schedule and Kafka's own timers rule.
_FORCED: Final = ("steady", "faults", "recover")


def bench(rounds: int) -> list[Figure]:
    """Wall time of `experiment broker-kill`, warm, less its time from steady state to recovery."""
    walls, beyond = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            wall_s = play("broker-kill", "embedded", Path(folder))
            walls.append(wall_s)
            beyond.append(wall_s - _forced_s(Path(folder) / "broker-kill" / "latest"))
    name = "experiment broker-kill, warm"
    return [
        Figure(name, "wall", median(walls), "s", rounds),
        Figure(name, "wall beyond its own timers", median(beyond), "s", rounds, LIMIT_S),
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


def _forced_s(run_dir: Path) -> float:
    phases = manifest.read(run_dir)["phases"]
    return sum(
        (
            datetime.fromisoformat(phase["to"]) - datetime.fromisoformat(phase["from"])
        ).total_seconds()
        for phase in phases
        if phase["name"] in _FORCED
    )
