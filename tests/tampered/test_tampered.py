"""What is put into the histories of kept runs is noticed, and what changes nothing is not.

Method: each change is done to a copy of a kept run's history, and judged by all rules that have to
notice it, declared or not; a neutral one by every rule that there is. What the rules said of the
run before does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from _pytest.mark import ParameterSet

from harness.check.judge import Outcome
from harness.tables.engines.duckdb import DuckDb
from tests.tampered import clocks, heartbeating, reading, rebalancing
from tests.tampered.history import (
    Change,
    Kept,
    NotThere,
    accusations,
    judged,
    kept,
    names_of,
    rules_of,
    withheld,
)

VIOLATIONS = (
    *rebalancing.CHANGES,
    *reading.CHANGES,
    *heartbeating.CHANGES,
    *clocks.VIOLATIONS,
)
NEUTRAL = clocks.CHANGES


def _cases(changes: tuple[Change, ...], every: int) -> list[ParameterSet]:
    """Each change with each of its runs; all but every so-manyth in the full test only."""
    cases: list[ParameterSet] = []
    for change in changes:
        for run in names_of(change.runs):
            marks = () if len(cases) % every == 0 else (pytest.mark.long,)
            cases.append(pytest.param(change, run, marks=marks, id=f"{change.name} in {run}"))
    return cases


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDb]:
    made = DuckDb()
    yield made
    made.close()


@cache
def _as_it_was(run: str, rule: str) -> Outcome:
    engine = DuckDb()
    try:
        return judged(kept(run), engine, [rule])
    finally:
        engine.close()


@pytest.mark.parametrize(("change", "run"), _cases(VIOLATIONS, 8))
def test_a_violation_is_noticed(change: Change, run: str, engine: DuckDb) -> None:
    changed = _changed(change, run)
    outcome = judged(changed, engine, change.notices)

    found = accusations(outcome)
    fewer = withheld(outcome)
    new = {
        rule: found.get(rule, set()) - accusations(_as_it_was(run, rule)).get(rule, set())
        for rule in change.notices
    }
    doubts = [
        rule
        for rule in change.notices
        if fewer.get(rule, 0) != withheld(_as_it_was(run, rule)).get(rule, 0)
    ]
    assert any(new.values()) or (change.or_withholds and doubts), (
        f"no rule of {change.notices} notices it; not judged: {outcome.unknown}"
    )


@pytest.mark.parametrize(("change", "run"), _cases(NEUTRAL, 8))
def test_what_changes_nothing_is_not_noticed(change: Change, run: str, engine: DuckDb) -> None:
    changed = _changed(change, run)
    names = rules_of(changed.run)
    outcome = judged(changed, engine, names)

    found = accusations(outcome)
    assert {} == {
        rule: found[rule] for rule in found if not accusations(_as_it_was(run, rule)).get(rule)
    }


def _changed(change: Change, run: str) -> Kept:
    changed = kept(run)
    try:
        change.edit(changed)
    except NotThere as lack:
        pytest.skip(f"{run} has {lack}")
    return changed
