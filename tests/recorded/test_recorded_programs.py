"""Recorded runs of client libraries are judged as before: each verdict, and each situation.

Method: as for runs of our own consumers. What each fault cost is compared too, for these are the
numbers of the table of client libraries. A rule that a run violates is named here, with what its
record shows of the cause; consumers/apps/README.md says the same to those who use that library.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
import pytest

from harness.check.check import check
from harness.report.load import load
from harness.report.parts.situations import Shown, SignFound, shown
from harness.tables.engines.contract import Engine
from tests.recorded import digests
from tests.recorded.keep import LARGEST, PROGRAMS
from tests.recorded.test_recorded_runs import as_row, as_verdict, copied

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

# Why each run is kept.
SHOWS: Final[dict[str, str]] = {
    "consumer-crash.kafka-streams.4.4.0": "it commits topics of its own, and stays when it closes",
    "everyday.aiokafka.4.3.1": "after a cut link it reads on from where it was, as a zombie",
    "everyday.franz-go.4.3.1": "a connection that ends at its first request ends the program",
    "everyday.kafkajs.4.3.1": "it asks a broker that is no coordinator any more, again and again",
    "rolling-deploy.kafka-go.4.3.1": "each of three orderly ends loses a record",
    "rough-day.java.4.3.1": "a thawed process reads all that came meanwhile before it hears",
    "rough-day.kafka-python.4.3.1": "an error of a dead broker ends the iteration, and the program",
    "store-down-while-scaling.spring-kafka-4.1.0.4.4.0": "what a retry polls is thrown away",
    "store-down-while-scaling.spring-kafka-retried-batches.4.4.0": "with 4.1.2 nothing is lost",
    "stuck-then-join.sarama-retry.4.4.0": "JoinGroups are given up, and nobody is evicted for it",
}
# Rules that a run violates, or that cannot be judged by it: what its record shows.
NOT_HELD: Final[dict[tuple[str, str], str]] = {
    ("consumer-crash.kafka-streams.4.4.0", "P6"): (
        "two processes ended 0.9 s after SIGTERM, and no coordinator has a LeaveGroup of"
        " theirs: Streams stays unless it is told to leave"
    ),
    ("rolling-deploy.kafka-go.4.3.1", "P10"): (
        "487, 577 and 579 of t-0 were committed 2 ms before, 1 ms before and 9 ms after the signal"
        " to the process that had fetched them, and no process showed them"
    ),
    ("rough-day.kafka-python.4.3.1", "P2"): (
        "last commits of two processes that ended were handled when the next ones had their lanes,"
        " and are taken for theirs; a broker had been killed, so nobody is accused"
    ),
    ("store-down-while-scaling.spring-kafka-4.1.0.4.4.0", "P10"): (
        "what members were given in the rebalance was not paused, and the polls of the retries"
        " fetched it and handed it to nobody: 6,957 records of five partitions (#4545)"
    ),
    ("store-down-while-scaling.spring-kafka-4.1.0.4.4.0", "X36"): (
        "when the store took its batch, member-3 committed t-5, which was member-4's since then"
    ),
    ("store-down-while-scaling.spring-kafka-4.1.0.4.4.0", "X32c"): (
        "that commit took the position of t-5 back by 1,385 records"
    ),
    ("store-down-while-scaling.spring-kafka-retried-batches.4.4.0", "X36"): (
        "when the store took its batch, member-3 committed t-5, which was member-4's since then"
    ),
    ("store-down-while-scaling.spring-kafka-retried-batches.4.4.0", "X32c"): (
        "that commit took the position of t-5 back by 1,375 records"
    ),
}

# Of the members and partitions of a run, those with commits of what the member was not given.
STRAYS: Final[dict[str, int]] = {
    # What waited to be committed when a rebalance came is committed in the next generation, whoever
    # has the partition by then: 476 of t-4 by member-3, to whom generation 2 gave t-3 alone, 2 ms
    # after member-4 had been told 475 (kafka-go #1308, open).
    "rolling-deploy.kafka-go.4.3.1": 8,
    "store-down-while-scaling.spring-kafka-4.1.0.4.4.0": 1,
    "store-down-while-scaling.spring-kafka-retried-batches.4.4.0": 1,
}

KEPT: Final = sorted(path.name for path in PROGRAMS.iterdir()) if PROGRAMS.exists() else []


@pytest.mark.parametrize("run", KEPT)
def test_a_recorded_run_of_a_program_is_judged_as_before(
    run: str,
    tmp_path: Path,
    duckdb_engine: Engine,
    snapshot: SnapshotAssertion,
) -> None:
    found = judged(PROGRAMS / run, tmp_path / run, duckdb_engine)

    assert digests.judgements(found) == snapshot, digests.differ(run)


def judged(run: Path, run_dir: Path, engine: Engine) -> str:
    """What the engine makes of a copy of the run: each situation, each verdict, each row."""
    verdicts = check(copied(run, run_dir), engine).verdicts
    rows = pq.read_table(run_dir / "tables" / "judgements.parquet").to_pylist()
    situations = map(as_situation, shown(load(run_dir)))

    not_held = {each["rule"] for each in verdicts if each["verdict"] != "HOLDS"}
    assert not_held == {rule for name, rule in NOT_HELD if name == run.name}
    return "\n".join([*situations, "", *map(as_verdict, verdicts), "", *map(as_row, rows)])


@pytest.mark.parametrize("run", KEPT)
def test_who_commits_what_it_was_not_given_is_named_and_nobody_else(
    run: str, duckdb_engine: Engine
) -> None:
    """Most of these runs were played before X36 was judged of programs."""
    judged = check(PROGRAMS / run, duckdb_engine, keep=False, rules=["X36"])
    (verdict,) = judged.verdicts

    assert STRAYS.get(run, 0) == verdict["violations"]
    assert (run in STRAYS) == (verdict["verdict"] == "VIOLATED")
    assert verdict["examined"]


@pytest.mark.parametrize("run", KEPT)
def test_the_page_of_a_program_lacks_no_table(
    run: str, tmp_path: Path, duckdb_engine: Engine
) -> None:
    """What nobody knows of a program is in none of the queries of its tables."""
    run_dir = copied(PROGRAMS / run, tmp_path / run)
    check(run_dir, duckdb_engine)

    assert () == load(run_dir).problems


def as_situation(each: Shown) -> str:
    signs = [f"{rule} {found}" for rule, found in each.signs.items() if found != SignFound.NOTHING]
    text = f"{each.situation} of {each.who}: {each.standstill_ms} ms, {each.again} came twice"
    return ", ".join([text, *signs]) + (", never again" if each.never_again else "")


def test_each_run_is_kept_for_a_reason() -> None:
    assert set(KEPT) == set(SHOWS)
    assert {name for name, _ in NOT_HELD} <= set(SHOWS)


@pytest.mark.parametrize("run", KEPT)
def test_a_kept_run_is_small_and_names_no_machine(run: str) -> None:
    files = [path for path in (PROGRAMS / run).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= LARGEST

    manifest = (PROGRAMS / run / "manifest.json").read_text()
    assert '"folder":"consumers/apps/' in manifest
