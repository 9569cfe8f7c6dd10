"""Every rule and every kind of fault, on real brokers: verdicts come out as experiments expect.

Method: the command itself plays the experiments as a night, as a user would: each is warmed up
while the one before is measured, and judged aside. Saboteurs are experiments too: their runs prove
that each rule can fail.

Played are the fewest runs (least time per rule that is new) that show every rule and inject every
kind of fault that no other test does, and some for each client and protocol; the night plays all
the rest. Without those that are marked `long`, it is a few runs of each sort. What needs containers
is played by tests/docker, and what needs users by test_secured.
"""

import subprocess
import sys
from collections.abc import Iterable
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
from harness.experiment import PLAINTEXT
from harness.history import manifest, suites
from harness.report import exit_code
from harness.rules.catalogue import RULES
from tests.cluster import test_cluster_by_hand, test_sweep
from tests.verdicts import differing, read_verdicts, told

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

LONGEST_S: Final = 240  # of one run; the slowest takes 60 s on a quiet machine


def on_kafka(kafka: str, command: list[str]) -> list[str]:
    """Python's arguments for a command on another Kafka, set up first as `make … KAFKA=` does it.

    On the usual one where none is named.
    """
    if not kafka:
        return command
    return ["-m", "harness.provision", "exec", "--kafka", kafka, "--", *command, "--kafka", kafka]


def run_experiment(name: str, results: Path, *options: str) -> Path:
    """Run an experiment by the command, without judging it; its folder."""
    command = ["-m", "harness", "run", name, "--results", str(results), *options]
    done = ended(command, LONGEST_S)
    assert 0 == done.returncode, done.stderr
    return Path(done.stdout.strip())


def ended(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """A command of ours, once it has ended."""
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def play(runs: Iterable[str], results: Path) -> dict[str, Path]:
    """Play these runs as nights, one for each version of Kafka; their folders by their labels.

    A run's label has its Kafka where that is not the usual one: `baseline:java/eager on 3.9.2`.
    """
    versions: dict[str, list[str]] = {}
    for run in runs:
        label, _, kafka = run.partition(" on ")
        versions.setdefault(kafka, []).append(label)
    played: dict[str, Path] = {}
    for kafka, labels in versions.items():
        command = ["-m", "harness", "nightly", "--results", str(results)]
        command += ["--jobs", "1", "--only", ",".join(labels)]
        done = ended(on_kafka(kafka, command), LONGEST_S * len(labels))
        # That a run is whole and all verdicts are as expected is for its own tests to say.
        told = (Exit.AS_EXPECTED, Exit.BUSY, Exit.DIFFERS, Exit.FAILED)
        assert done.returncode in told, done.stdout + done.stderr
        night = suites.load_suite((results / "nightly" / "latest").resolve())
        for entry in night.entries:
            if entry.state is suites.State.SPOILT:  # by this machine, and played again
                continue
            folder = night.run_dir(entry)
            assert folder is not None, f"{entry.label}: {entry.state}, {entry.reason}"
            label = entry.label.removesuffix(suites.AGAIN)
            played[f"{label} on {kafka}" if kafka else label] = folder
    return played


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The folders of the runs that the chosen tests of this module are about."""
    chosen = [
        item.callspec.params["run"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    return play(dict.fromkeys(chosen), tmp_path_factory.mktemp("results"))


# Clients and protocols of each sort, and a saboteur.
SORTS: Final = (
    "baseline:librdkafka/eager",
    "consumer-crash:java/eager",
    "consumer-join:java/cooperative",
    "consumer-join:librdkafka/consumer",
    "consumer-leave:java/consumer",
    "cooperative-join:librdkafka/cooperative",
    "saboteur-members:librdkafka/eager",
)
# `make test` plays these alone, and CI those whose turn it is beside them.
ALWAYS: Final = (
    "consumer-crash:java/eager",
    "consumer-join:librdkafka/consumer",
    "saboteur-members:librdkafka/eager",
)


# Kinds of faults that other tests inject, see to take effect, and heal. Experiments of them show no
# rule that others do not, and their histories are judged in tests/recorded.
ELSEWHERE: Final = {
    *test_cluster_by_hand.FAULTS,
    *(fault.kind for fault in registry.load(test_sweep.NAME).faults),
}


EVERY: Final = {name: registry.load(name) for name in registry.names()}


def shown(candidate: Candidate) -> set[str]:
    """Rules that a run of it judges, and kinds of fault that it alone injects."""
    rules = {goal.rule for goal in candidate.shows if not RULES[goal.rule].evidence}
    kinds = {fault.kind for fault in candidate.experiment.faults} - ELSEWHERE
    return rules | {f"fault {kind}" for kind in kinds}


def chosen() -> list[str]:
    """Labels of the runs: SORTS, then greedily what shows the most that is new for its time."""
    experiments = {name: each for name, each in EVERY.items() if "embedded" in each.backends}
    every = [
        each
        for each in candidates(experiments)
        if not each.experiment.long and each.experiment.cluster.security == PLAINTEXT
    ]
    labels = {each.label: each for each in every}
    runs = [labels[label] for label in SORTS]
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


# What a protocol or a client shows that the others, which `chosen` is content with, do not.
APART: Final = (
    # A member hands out what it keeps while a rebalance is pending, as an eager group must not.
    "java-poll:java/cooperative",
    # A client that gives up ends its member, and no run.
    "static-late:librdkafka/eager",
)
# What only nights play, and whose histories are kept (tests/recorded).
BY_NIGHT: Final = (
    "connections-reset:librdkafka/eager",
    "consumer-freeze:librdkafka/eager",
    "java-poll:java/consumer",  # another of Java's clients; ours is the same, and so are the rules
    "network-bandwidth:librdkafka/eager",
    "network-latency:librdkafka/eager",
    "rolling-restart:librdkafka/eager",
)
OTHER_KAFKAS: Final = (
    "consumer-crash:librdkafka/eager on 3.9.2",
    "consumer-leave:java/consumer on 4.3.1",
    "broker-upgrade:librdkafka/eager",  # from the release before the usual one
)
RUNS: Final = list(dict.fromkeys([*chosen(), *APART, *OTHER_KAFKAS]))
LENGTHS_S: Final = {each.label: each.estimate_s for each in candidates(EVERY)}
PARAMETERS: Final = [
    pytest.param(
        run,
        marks=() if run in ALWAYS else pytest.mark.long(LENGTHS_S[run.partition(" on ")[0]]),
        id=run,
    )
    for run in RUNS
]


@pytest.mark.parametrize("run", PARAMETERS)
def test_a_run_is_whole_and_leaves_nothing_running(run: str, runs: dict[str, Path]) -> None:
    run_dir = runs[run]
    about = manifest.read(run_dir)
    assert "complete" == about["status"], about["status_reason"]
    assert not (run_dir / "scratch").exists()
    assert [] == processes.marked(run_dir.name)


@pytest.mark.parametrize("run", PARAMETERS)
def test_every_verdict_is_as_expected(run: str, runs: dict[str, Path]) -> None:
    run_dir = runs[run]
    verdicts = read_verdicts(run_dir)
    as_expected = all(row["verdict"] == row["expected"] for row in verdicts)

    assert [] == differing(run_dir), told(verdicts)
    assert all(row["examined"] > 0 for row in verdicts), told(verdicts)
    assert (Exit.AS_EXPECTED if as_expected else Exit.BUSY) == exit_code(run_dir)
    assert_every_generation_is_a_rebalance(run_dir)


@pytest.mark.parametrize("run", ["consumer-crash:java/eager"])
def test_the_first_members_join_when_the_last_of_them_is_ready(
    run: str, runs: dict[str, Path]
) -> None:
    """Java members, which take a second more or less to be ready."""
    run_dir = runs[run]
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
