"""A sweep on real clusters: the same freeze with a session that ends before it, and one after it.

Method: the command plays both, as a person would, and what its record says is held against what
the two values are: 12 s of silence are past a session of 6 s, and within one of 20 s.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from harness.base import processes
from harness.history import manifest

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.spark]

LONGEST_S: Final = 300
ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "consumer-freeze"  # whose faults no other run has to inject (test_experiments)
OVER: Final = "session_timeout_ms=20000,6000"


@pytest.mark.long(57)
def test_a_sweep_shows_what_a_session_timeout_buys_and_costs(tmp_path: Path) -> None:
    options = [NAME, "--over", OVER, "--repeat", "1", "--results", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "harness", "sweep", *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=LONGEST_S,
        check=False,
    )
    folder = (tmp_path / "sweep" / "latest").resolve()
    runs = [path for path in (tmp_path / NAME).iterdir() if not path.is_symlink()]

    assert done.returncode in (0, 1), done.stderr  # a busy machine withholds timings
    for run_dir in runs:
        assert [] == processes.marked(run_dir.name)
        assert "complete" == manifest.read(run_dir)["status"]
        faults = pq.read_table(run_dir / "history" / "faults.parquet").to_pylist()
        injected = [row for row in faults if row["phase"] == "injected"]
        assert [True] == [row["took_effect"] for row in injected]
    record = json.loads((folder / "sweep.json").read_text())
    short, long = record["points"]
    assert [{"session_timeout_ms": "6000"}, {"session_timeout_ms": "20000"}] == [
        short["settings"],
        long["settings"],
    ]
    assert [1, 0] == [each["false_evictions"]["median"] for each in (short, long)]
    assert 0 == long["came_twice"]["max"]
    # Nobody takes over from a member that keeps its place, so its partitions wait for it.
    assert short["standstill_ms"]["median"] + 2_000 < long["standstill_ms"]["median"]
    (sentence,) = record["sentences"]
    assert sentence.startswith("session_timeout_ms from 20,000 to 6,000 buys a shorter standstill")
    assert "in consumer-freeze in 0 of 1 run at 20,000, in 1 of 1 run at 6,000" in sentence
    assert f"sweep {folder.name}: " in done.stdout
    assert "2 runs, about 1 min, into " in done.stderr
    for name in ("sweep.html", "sweep.md", "suite.json"):
        assert (folder / name).is_file()
