"""Every rule and every kind of fault, on real brokers: verdicts come out as experiments expect.

Method: the command itself runs each experiment, as a user would; one Spark session then judges all
of the histories. Saboteurs are experiments too: their runs prove that each rule can fail.

Played are the fewest runs (least time per rule that is new) that show every rule and inject every
kind of fault there is, and some for each client and protocol; the night plays all the rest.

One thing no test can promise is a machine that never stands still. Where it did at a judged moment,
the judge withholds that judgement (UNKNOWN, with how long): such a verdict is neither demanded nor
taken for a pass, and the test's output says which were withheld. All else must be as expected.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness import manifest, processes, registry
from harness.check.check import check
from harness.cover import Candidate, candidates
from harness.errors import Exit
from harness.history.schema import STOOD_STILL
from harness.report import exit_code, report
from harness.rules.catalogue import RULES

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

LONGEST_S = 240  # the slowest takes 60 s on a quiet machine


def run_experiment(name: str, results: Path, *options: str, kafka: str = "") -> Path:
    """Run an experiment by the command, without judging it; its folder.

    Another Kafka than the usual one is set up first, as `make experiment KAFKA=…` does it.
    """
    command = ["-m", "harness", "run", name, "--results", str(results), *options]
    if kafka:
        command = ["-m", "harness.provision", "exec", "--kafka", kafka, "--", *command]
        command += ["--kafka", kafka]
    done = subprocess.run(
        [sys.executable, *command],
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


# What is played in any case: clients and protocols of each sort, and a saboteur.
ALWAYS: Final = (
    "baseline:librdkafka/eager",
    "consumer-crash:java/eager",
    "consumer-crash:librdkafka/consumer",
    "consumer-join:java/cooperative",
    "consumer-join:librdkafka/cooperative",
    "consumer-leave:java/consumer",
    "saboteur-members:librdkafka/eager",
)


def shown(candidate: Candidate) -> set[str]:
    """Rules that a run of it judges, and kinds of fault that it injects."""
    rules = {goal.rule for goal in candidate.shows if not RULES[goal.rule].evidence}
    return rules | {f"fault {fault.kind}" for fault in candidate.experiment.faults}


def chosen() -> list[str]:
    """Labels of the runs: ALWAYS, then greedily what shows the most that is new for its time."""
    experiments = {name: registry.load(name) for name in registry.names()}
    every = [each for each in candidates(experiments) if not each.experiment.long]
    labels = {each.label: each for each in every}
    runs = [labels[label] for label in ALWAYS]
    missing = set().union(*map(shown, every)).difference(*map(shown, runs))
    while missing:
        best = min(
            (each for each in every if shown(each) & missing),
            key=lambda each: (
                each.estimate_s / len(shown(each) & missing),
                each.experiment.group != experiments[each.name].group,  # as declared, if that does
                each.label,
            ),
        )
        runs.append(best)
        missing -= shown(best)
    return [each.label for each in runs]


@pytest.mark.parametrize("run", [*chosen(), "consumer-crash:librdkafka/eager on 3.9.2"])
def test_every_verdict_is_as_expected(run: str, tmp_path: Path, spark: SparkSession) -> None:
    label, _, kafka = run.partition(" on ")
    name, _, variant = label.partition(":")
    client, _, protocol = variant.partition("/")
    options = ("--client", client, "--protocol", protocol)
    run_dir = run_experiment(name, tmp_path, *options, kafka=kafka)
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
    return STOOD_STILL in (why or "")


def assert_whole(run_dir: Path) -> None:
    """What must be true of every complete run, whatever was broken in it."""
    assert "complete" == manifest.read(run_dir)["status"]
    assert not (run_dir / "scratch").exists()
    assert_every_generation_is_a_rebalance(run_dir)


def assert_every_generation_is_a_rebalance(run_dir: Path) -> None:
    """Every generation in the coordinator's own log appears in `rebalances`, and no other."""
    events = pq.read_table(run_dir / "history" / "coordinator_events.parquet")
    ours = pc.equal(events["group"], manifest.read(run_dir)["group"])  # and not those of probes
    endings = pq_strings("stabilized", "emptied", "target_computed")
    ended = events.filter(pc.and_(ours, pc.is_in(events["event"], endings)))
    rebalances = pq.read_table(run_dir / "tables" / "rebalances.parquet")

    assert set(ended["generation"].to_pylist()) == set(rebalances["generation"].to_pylist())
    assert len(ended) > 0


def pq_strings(*values: str) -> Any:
    """A value set for `is_in`."""
    import pyarrow as pa

    return pa.array(values)
