"""An experiment and a rule of somebody's own, and what they promise, on real brokers.

Method: the command plays the experiment as its owner would, by the project file. The history is
judged by DuckDB, which finds what Spark does.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from harness.catalogue import own_modules
from harness.check.check import check
from harness.history import manifest
from harness.report import exit_code, report
from harness.tables.engines.duckdb import DuckDb
from tests.cluster.test_experiments import run_experiment

pytestmark = [pytest.mark.cluster, pytest.mark.long]

PROJECT = """
experiments = "experiments"
rules = "rules"
[limits]
standstill_s = 0.5
lost = 0
drained_s = 60
"""
EXPERIMENT = '''"""One of two consumers crashes.

Why: ours do.
"""

from harness.experiment import Expect, Experiment, Fault, Group, Verdict, holds

experiment = Experiment(
    claim="A crash is missed for a session.",
    group=Group(members=2),
    faults=(Fault(kind="kill-consumer", target="any member"),),
    rules=(
        *holds("R02"),
        Expect(
            rule="orders-no-rebalance",
            verdict=Verdict.VIOLATED,
            because="a member that is missed starts one",
        ),
    ),
)
'''
RULE = '''from harness.rules import Rule


@Rule(
    "orders-no-rebalance",
    title="No rebalance",
    statement="A group that has gathered does not rebalance.",
    source="our wishes",
    unit="members",
    things="rebalances",
)
def no_rebalance() -> str:
    """Those of a group that had members."""
    return """
        SELECT concat('generation ', generation) AS subject, started_at AS at,
               members_before AS measured, 0 AS bound_high
        FROM {rebalances}
    """
'''


@pytest.mark.long(27)
def test_a_run_of_their_own_is_held_to_what_they_say(tmp_path: Path) -> None:
    for name, text in (
        ("kafka-chaos.toml", PROJECT),
        ("experiments/our_crash.py", EXPERIMENT),
        ("rules/wishes.py", RULE),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    project = str(tmp_path / "kafka-chaos.toml")
    run_dir = run_experiment("our-crash", tmp_path / "results", "--project", project)

    content = manifest.read(run_dir)
    assert {"own/experiments/our_crash.py", "own/rules/wishes.py"} == set(content["own"])
    assert RULE == (run_dir / "own" / "rules" / "wishes.py").read_text()
    with own_modules.used(None, run_dir / "own" / "rules"), closing(DuckDb()) as engine:
        found = {row["rule"]: row for row in check(run_dir, engine).verdicts}
        report(run_dir)

    assert "VIOLATED" == found["orders-no-rebalance"]["verdict"]
    assert "changed" not in found["orders-no-rebalance"]["reason"]
    # The session alone is longer than what they promise.
    assert {"L1": "VIOLATED", "L3": "HOLDS", "L4": "HOLDS"} == {
        rule: row["verdict"] for rule, row in found.items() if rule.startswith("L")
    }
    assert 1 == exit_code(run_dir)
