"""Our own members, judged as if they were somebody else's, get the same verdicts.

Method: each recorded run is judged twice by every rule that can be judged of a program which tells
nothing: as it is, and without its journals, by the tables that stand in for them. Verdicts have to
be the same, and so has each row but for the moments at which members held partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

import pyarrow as pa
import pytest

from harness.check.judge import Asked, Outcome, examine, verdict_of
from harness.experiment import APP
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.rules.lineage import JOURNALED, judged_of_an_app
from harness.tables.engines.contract import Engine, tables_in
from harness.tables.many_runs import Many, One
from harness.tables.source import Sources, read_run
from harness.tables.vocabulary import text_of
from tests.recorded.keep import RUNS

KEPT: Final = sorted(path.name for path in RUNS.iterdir())
# Those about the evidence look at the journals that are taken away.
RULES_OF_BOTH: Final = [name for name in judged_of_an_app() if name[0] in "RX"]


Judged = dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]  # by rule: verdict and rows


@pytest.fixture(scope="module")
def as_an_app(duckdb_engine: Engine, sources: list[Sources]) -> Iterator[Callable[[str], One]]:
    """The tables of a kept run without its journals, as those of a program, by its name."""
    runs = [read_run(RUNS / name) for name in KEPT]

    def history(file: str, run: int) -> pa.Table:
        empty = HISTORY[file].empty_table()
        return empty if file in JOURNALED else sources[run].frames[file].toArrow()

    with closing(Many(duckdb_engine, runs, history, client=APP)) as many:
        yield lambda name: One(many, KEPT.index(name))


def judged(tables: One, rules: list[str]) -> Judged:
    outcome: Outcome = examine(tables, rules)
    assert not outcome.unknown
    return {rule: (verdict_of(Asked(rule), outcome, tables), outcome.rows[rule]) for rule in rules}


@pytest.mark.parametrize("run", KEPT)
def test_a_run_without_its_journals_is_judged_as_with_them(
    run: str, kept: Callable[[str], One], as_an_app: Callable[[str], One]
) -> None:
    about = read_run(RUNS / run)
    rules = [rule for rule in RULES_OF_BOTH if RULES[rule].speaks_of(about.client, about.protocol)]

    with_journals, without = (judged(of(run), rules) for of in (kept, as_an_app))

    for rule in rules:
        if "ownership" in tables_in(text_of(RULES[rule].examine)):
            # Brokers give and take a partition some milliseconds before and after the callbacks.
            assert told(with_journals[rule]) == told(without[rule]), rule
        else:
            assert with_journals[rule] == without[rule]


def told(found: tuple[dict[str, Any], list[dict[str, Any]]]) -> tuple[str, list[Any]]:
    """The verdict, and of each thing examined what it came to."""
    verdict, rows = found
    return verdict["verdict"], sorted((row["subject"], row["ok"]) for row in rows)


@pytest.mark.parametrize("run", KEPT)
def test_every_rebalance_of_a_recorded_run_has_a_cause(
    run: str, as_an_app: Callable[[str], One]
) -> None:
    verdict, rows = judged(as_an_app(run), ["P5"])["P5"]

    assert [] == [(row["subject"], row["why"]) for row in rows if row["ok"] is False]
    assert verdict["verdict"] in ("HOLDS", "UNKNOWN")  # many end with the group they began with
