"""`make recorded`: play every run that the tests play on real brokers, and keep their histories.

It takes about as long as these tests. A folder of results as its argument is kept instead.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.test_experiments import RUNS as PLAYED
from tests.cluster.test_experiments import on_kafka
from tests.recorded.keep import RUNS, keep


def play(results: Path) -> None:
    """Play them as nights: one for each version of Kafka."""
    versions: dict[str, list[str]] = {}
    for run in PLAYED:
        label, _, kafka = run.partition(" on ")
        versions.setdefault(kafka, []).append(label)
    for kafka, labels in versions.items():
        command = [
            "-m",
            "harness",
            "nightly",
            "--results",
            str(results),
            "--only",
            ",".join(labels),
        ]
        subprocess.run([sys.executable, *on_kafka(kafka, command)], check=True)


def main() -> int:
    """Keep what was played; the exit code."""
    if len(sys.argv) > 1:
        kept = keep(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            play(Path(folder))
            kept = keep(Path(folder))
    print(f"{len(kept)} runs are kept in {RUNS.relative_to(Path.cwd())}: look at `git diff`, and")
    print("renew what they are judged to be with `make pin`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
