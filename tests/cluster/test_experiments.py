"""Every rule and every kind of fault, on real brokers: verdicts come out as experiments expect.

Method: the command itself plays each experiment, as a user would; its history is judged aside while
the next is played. Saboteurs are experiments too: their runs prove that each rule can fail.

Played are the fewest runs (least time per rule that is new) that show every rule and inject every
kind of fault there is, and some for each client and protocol; the night plays all the rest. Without
those that are marked `long`, it is a few runs of each sort. What needs containers is played by
tests/docker.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from consumers.journal import read_journal
from harness.base import processes
from harness.base.errors import Exit
from harness.catalogue import registry
from harness.catalogue.cover import Candidate, candidates
from harness.history import manifest
from harness.report import exit_code
from harness.rules.catalogue import RULES
from harness.suite.background import BackgroundJudge
from tests.verdicts import differing, read_verdicts, told

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

LONGEST_S = 240  # the slowest takes 60 s on a quiet machine


def on_kafka(kafka: str, command: list[str]) -> list[str]:
    """Python's arguments for a command on another Kafka, set up first as `make … KAFKA=` does it.

    On the usual one where none is named.
    """
    if not kafka:
        return command
    return ["-m", "harness.provision", "exec", "--kafka", kafka, "--", *command, "--kafka", kafka]


def run_experiment(name: str, results: Path, *options: str, kafka: str = "") -> Path:
    """Run an experiment by the command, without judging it; its folder."""
    command = ["-m", "harness", "run", name, "--results", str(results), *options]
    done = subprocess.run(
        [sys.executable, *on_kafka(kafka, command)],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return Path(done.stdout.strip())


class Runs:
    """Runs by their labels, each played when it is first asked for and then judged aside."""

    def __init__(self, results: Path, judge: BackgroundJudge) -> None:
        self._results = results
        self._judge = judge
        self._played: dict[str, Path] = {}
        self._problems: dict[Path, str] = {}

    def played(self, run: str) -> Path:
        """The folder of this run."""
        if run not in self._played:
            label, _, kafka = run.partition(" on ")
            name, _, variant = label.partition(":")
            client, _, protocol = variant.partition("/")
            options = ("--client", client, "--protocol", protocol)
            self._played[run] = run_experiment(name, self._results, *options, kafka=kafka)
            self._judge.submit(self._played[run])
            self._judge.go()
        return self._played[run]

    def judged(self, run: str) -> Path:
        """The folder of this run, when its verdicts are there."""
        run_dir = self.played(run)
        if run_dir not in self._problems:
            self._problems.update(self._judge.finished(wait=True))
        assert "" == self._problems[run_dir]
        return run_dir


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    results = tmp_path_factory.mktemp("results")
    with closing(BackgroundJudge(results / "judging.log")) as judge:
        yield Runs(results, judge)


# Clients and protocols of each sort, and a saboteur: `make test` plays these alone.
ALWAYS: Final = (
    "baseline:librdkafka/eager",
    "consumer-crash:java/eager",
    "consumer-join:java/cooperative",
    "consumer-join:librdkafka/consumer",
    "consumer-leave:java/consumer",
    "cooperative-join:librdkafka/cooperative",
    "saboteur-members:librdkafka/eager",
)


def shown(candidate: Candidate) -> set[str]:
    """Rules that a run of it judges, and kinds of fault that it injects."""
    rules = {goal.rule for goal in candidate.shows if not RULES[goal.rule].evidence}
    return rules | {f"fault {fault.kind}" for fault in candidate.experiment.faults}


def chosen() -> list[str]:
    """Labels of the runs: ALWAYS, then greedily what shows the most that is new for its time."""
    experiments = {name: registry.load(name) for name in registry.names()}
    experiments = {name: each for name, each in experiments.items() if "embedded" in each.backends}
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


# What a protocol shows that the others, which `chosen` is content with, do not.
APART: Final = (
    # A member hands out what it keeps while a rebalance is pending.
    "java-poll:java/cooperative",
    "java-poll:java/consumer",
)
OTHER_KAFKAS: Final = (
    "consumer-crash:librdkafka/eager on 3.9.2",
    "consumer-leave:java/consumer on 4.3.1",
)
RUNS: Final = list(dict.fromkeys([*chosen(), *APART, *OTHER_KAFKAS]))
PARAMETERS: Final = [
    pytest.param(run, marks=() if run in ALWAYS else pytest.mark.long, id=run) for run in RUNS
]


@pytest.mark.parametrize("run", PARAMETERS)
def test_a_run_is_whole_and_leaves_nothing_running(run: str, runs: Runs) -> None:
    run_dir = runs.played(run)
    assert "complete" == manifest.read(run_dir)["status"]
    assert not (run_dir / "scratch").exists()
    assert [] == processes.marked(run_dir.name)


@pytest.mark.parametrize("run", PARAMETERS)
def test_every_verdict_is_as_expected(run: str, runs: Runs) -> None:
    run_dir = runs.judged(run)
    verdicts = read_verdicts(run_dir)
    as_expected = all(row["verdict"] == row["expected"] for row in verdicts)

    assert [] == differing(run_dir), told(verdicts)
    assert all(row["examined"] > 0 for row in verdicts), told(verdicts)
    assert (Exit.AS_EXPECTED if as_expected else Exit.DIFFERS) == exit_code(run_dir)
    assert_every_generation_is_a_rebalance(run_dir)


def test_the_first_members_join_when_the_last_of_them_is_ready(runs: Runs) -> None:
    """Java members, which take a second more or less to be ready."""
    run_dir = runs.played("consumer-crash:java/eager")
    frames = [
        frame
        for journal in (run_dir / "journals").glob("member-*.journal")
        for frame in read_journal(journal).frames
    ]
    ready = [frame["at"] for frame in frames if frame["kind"] == "started"]
    requests = pq.read_table(run_dir / "history" / "requests.parquet")
    joins = requests.filter(pc.is_in(requests["api"], pq_strings("JOIN_GROUP")))

    assert registry.load("consumer-crash").group.members == len(ready)
    assert max(ready) < pc.min(joins["arrived_at"]).cast("int64").as_py()


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
