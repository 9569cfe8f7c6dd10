"""Every experiment, on real brokers: the verdicts come out as each of them expects.

Method: the command itself runs each experiment, as a user would; one Spark session then judges all
of the histories. Saboteurs are experiments too: their runs prove that each rule can fail.

One thing no test can promise is a machine that never stands still. Where it did at a judged moment,
the judge withholds that judgement (UNKNOWN, with how long): such a verdict is neither demanded nor
taken for a pass, and the test's output says which were withheld. All else must be as expected.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness import manifest, processes, registry
from harness.check.check import check
from harness.errors import Exit
from harness.report import exit_code, report

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

STOOD_STILL = ("this machine stood still", "near 1 judged timing", "judged timings")
LONGEST_S = 240  # the slowest takes 60 s on a quiet machine


def run_experiment(name: str, results: Path, *options: str) -> Path:
    """Run an experiment by the command, without judging it; its folder."""
    done = subprocess.run(
        [sys.executable, "-m", "harness", "run", name, "--results", str(results), *options],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return Path(done.stdout.strip())


def told(verdicts: list[dict[str, Any]]) -> str:
    """Every verdict in a line, for the message of a failed test."""
    return "\n".join(
        f"{row['rule']}: {row['verdict']} (expected {row['expected']}): {row['reason']}"
        for row in verdicts
    )


@pytest.mark.parametrize("name", registry.names())
def test_every_verdict_is_as_expected(name: str, tmp_path: Path, spark: SparkSession) -> None:
    run_dir = run_experiment(name, tmp_path)
    verdicts = check(run_dir, spark)
    withheld = withheld_by_the_machine(run_dir)
    differing = [row["rule"] for row in verdicts if row["verdict"] != row["expected"]]
    print(f"{name}: withheld {withheld or 'nothing'}\n{told(verdicts)}")

    assert [] == [rule for rule in differing if rule not in withheld], told(verdicts)
    assert all(row["examined"] > 0 for row in verdicts), told(verdicts)
    report(run_dir)
    assert (Exit.DIFFERS if differing else Exit.AS_EXPECTED) == exit_code(run_dir)
    assert_whole(run_dir)
    assert [] == processes.marked(run_dir.name)


def withheld_by_the_machine(run_dir: Path) -> set[str]:
    """Rules with nothing violated, and nothing unknown but where this machine stood still."""
    judged: dict[str, list[dict[str, Any]]] = {}
    for row in pq.read_table(run_dir / "tables" / "judgements.parquet").to_pylist():
        if row["ok"] is not True:
            judged.setdefault(row["rule"], []).append(row)
    return {
        rule
        for rule, rows in judged.items()
        if all(row["ok"] is None and said_to_stand_still(row["why"]) for row in rows)
    }


def said_to_stand_still(why: str | None) -> bool:
    """Whether a judgement was withheld because of the machine, by its own words."""
    return any(words in (why or "") for words in STOOD_STILL)


def assert_whole(run_dir: Path) -> None:
    """What must be true of every complete run, whatever was broken in it."""
    assert "complete" == manifest.read(run_dir)["status"]
    assert not (run_dir / "scratch").exists()
    assert_every_generation_is_a_rebalance(run_dir)


def assert_every_generation_is_a_rebalance(run_dir: Path) -> None:
    """Every generation in the coordinator's own log appears in `rebalances`, and no other."""
    events = pq.read_table(run_dir / "history" / "coordinator_events.parquet")
    ended = events.filter(pc.is_in(events["event"], pq_strings("stabilized", "emptied")))
    rebalances = pq.read_table(run_dir / "tables" / "rebalances.parquet")

    assert set(ended["generation"].to_pylist()) == set(rebalances["generation"].to_pylist())
    assert len(ended) > 0


def pq_strings(*values: str) -> Any:
    """A value set for `is_in`."""
    import pyarrow as pa

    return pa.array(values)
