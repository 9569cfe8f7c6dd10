"""What an experiment costs beyond the time that its own timers make it wait."""

import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.base.errors import Exit, HarnessError
from harness.bench.measure import FIRST_VERDICT, Figure, median
from harness.history import manifest

LIMIT_S: Final = 10
VERDICT_LIMIT_S: Final = 4
# From steady state until all is well again, the schedule and Kafka's own timers rule.
_FORCED: Final = ("steady", "faults", "recover")


def bench(rounds: int) -> list[Figure]:
    """Wall time of `experiment broker-kill`, warm, less its time from steady state to recovery.

    And the same to the first verdict on the terminal, which is DuckDB's; and how long each takes
    from the last record that a consumer reads.
    """
    walls, beyond, beyond_first, first, kept = [], [], [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            wall_s, told_at = play("broker-kill", "embedded", Path(folder))
            ended_at = datetime.now(UTC)
            phases = _phases(Path(folder) / "broker-kill" / "latest")
            walls.append(wall_s)
            beyond.append(wall_s - sum(_lasted_s(*phases[name]) for name in _FORCED))
            beyond_first.append(beyond[-1] - _lasted_s(told_at, ended_at))
            read_at = phases["drain"][1]
            first.append(_lasted_s(read_at, told_at))
            kept.append(_lasted_s(read_at, ended_at))
    name = "experiment broker-kill, warm"
    return [
        Figure(name, "wall", median(walls), "s", rounds),
        Figure(name, "wall beyond its own timers", median(beyond), "s", rounds, LIMIT_S),
        Figure(name, "the same, to the first verdict", median(beyond_first), "s", rounds),
        Figure(name, "last record to first verdict", median(first), "s", rounds, VERDICT_LIMIT_S),
        Figure(name, "last record to kept verdict", median(kept), "s", rounds),
    ]


def play(name: str, backend: str, results: Path) -> tuple[float, datetime]:
    """Seconds that the command takes for one experiment: run, judge and report.

    And when it told its first verdict. A verdict may be withheld, on a machine that stood still.
    Raises HarnessError for a run that was not judged.
    """
    command = [sys.executable, "-m", "harness", "experiment", name, "--backend", backend]
    command += ["--results", str(results)]
    began = time.monotonic()
    told_at = None
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as played:
        assert played.stderr is not None
        for line in played.stderr:
            if FIRST_VERDICT in line:
                told_at = datetime.now(UTC)
    if played.returncode not in (Exit.AS_EXPECTED, Exit.DIFFERS) or told_at is None:
        raise HarnessError(f"{name} was not judged: exit code {played.returncode}")
    return time.monotonic() - began, told_at


def _phases(run_dir: Path) -> dict[str, tuple[datetime, datetime]]:
    """When each phase of a run began and ended."""
    return {
        phase["name"]: (datetime.fromisoformat(phase["from"]), datetime.fromisoformat(phase["to"]))
        for phase in manifest.read(run_dir)["phases"]
    }


def _lasted_s(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()
