"""Each violation that an experiment expects has limits, and kept runs are within them.

Method: a kept run is judged by the rules that its experiment, as it is declared now, expects it to
violate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from experiments import ANY_RUN
from harness.catalogue import registry
from harness.check.expected import Hit, beyond, whom_faults_hit
from harness.check.judge import examine
from harness.check.rows import Row
from harness.experiment import Expect, Verdict
from harness.history import manifest
from harness.tables.engines.contract import Engine
from harness.tables.source import load, read_run
from tests.in_memory import tables_of_run
from tests.recorded.keep import FOUND, RUNS

KEPT: Final = sorted([*RUNS.iterdir(), *FOUND.glob("*/*")])
_KEEPS: Final = "every member keeps what does not move, in each rebalance"
_GIVES_UP: Final = "every member gives up, and again whenever its session ends"
_CHANCE: Final = "which partitions the first member gives up at once, and who gets them, is chance"
# Why no limit is known of these, by their experiments and rules.
UNLIMITED: Final = {
    ("any run", "X01-kept"): "a rebalance waits as long as what the experiment does to it",
    ("bad-day", "R15-all"): _KEEPS,
    ("callback-stall", "R15-all"): _KEEPS,
    ("consumer-join", "R15-all"): _KEEPS,
    ("cooperative-join", "R15-all"): _KEEPS,
    ("broker-kill-short-session", "R06"): _GIVES_UP,
    ("coordinator-kill-short-session", "R06"): _GIVES_UP,
    ("coordinator-silent", "R06"): _GIVES_UP,
    (
        "coordinator-silent",
        "X32c",
    ): "whose commit is on its way, and how old it is, is chance",
    ("offsets-unwritable", "X32c"): "whose commit times out, and how old it is, is chance",
    ("listener-none", "R15-repeats"): "X32d says how many records may come twice",
    ("saboteur-keep-processing", "R21-stop"): "every member does it, at each of its revocations",
    ("saboteur-keep-processing", "X60"): "every member does it, at each of its revocations",
    ("saboteur-never-commit", "X32d"): "all records since the start come again to every next owner",
    ("saboteur-stopped", "R10"): "it is about the crashed member's partitions alone, each once",
    **{
        ("join-together", rule): _CHANCE
        for rule in ("R21", "R21-delivery", "R15", "X18", "X32b", "X32c")
    },
    **{
        ("join-together", rule): "every heartbeat takes longer than the interval"
        for rule in ("R14", "X69")
    },
}


def expected_violations() -> Iterator[tuple[str, Expect]]:
    declared = {name: found.rules for name, found in registry.every()[0].items()}
    for name, rules in {"any run": ANY_RUN, **declared}.items():
        yield from ((name, each) for each in rules if each.verdict is Verdict.VIOLATED)


def test_each_expected_violation_has_limits_or_a_reason_why_not() -> None:
    unlimited = {(name, each.rule) for name, each in expected_violations() if not each.within}
    assert unlimited == set(UNLIMITED)


def violated_by(run: Path) -> list[Expect]:
    """What its experiment expects a run to violate, as it is declared now."""
    facts = manifest.read(run)
    declared, name = facts["declared"], facts["experiment"]
    experiment = registry.variant(
        registry.load(name), declared["group"]["client"], declared["group"]["protocol"]
    )
    release = declared["cluster"]["kafka_version"]
    experiment = replace(experiment, cluster=replace(experiment.cluster, kafka_version=release))
    rules = registry.resolved(experiment).rules
    return [each for each in rules if each.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("run", KEPT, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_no_kept_run_goes_beyond_them(run: Path, duckdb_engine: Engine) -> None:
    expected = violated_by(run)
    rows, hit = judged(run, [each.rule for each in expected], duckdb_engine)

    assert {} == {
        each.rule: found
        for each in expected
        if (found := beyond(each.within, rows[each.rule], hit))
    }


def judged(run: Path, rules: list[str], engine: Engine) -> tuple[dict[str, list[Row]], Hit]:
    """The rows of these rules, and whom faults hit."""
    sources = load(run, engine)
    tables = tables_of_run(engine, read_run(run), sources)
    try:
        outcome = examine(tables, rules)
        return {rule: outcome.rows.get(rule, []) for rule in rules}, whom_faults_hit(tables)
    finally:
        tables.close()


def test_a_partition_that_another_member_held_on_to_is_beyond_them(duckdb_engine: Engine) -> None:
    run = RUNS / "consumer-freeze.librdkafka.eager.4.3.1"  # member-2 is frozen
    [expected] = [each for each in violated_by(run) if each.rule == "R21-delivery"]
    rows, hit = judged(run, ["R21-delivery"], duckdb_engine)
    first, second = (row for row in rows["R21-delivery"] if row["ok"] is False)
    other = {
        **second,
        "why": second["why"].replace("member-2 still held it", "member-1 still held it"),
    }

    assert [other] == beyond(expected.within, [first, other], hit)
