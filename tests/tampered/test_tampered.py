"""What is put into the histories of kept runs is noticed, and what changes nothing is not.

Method: each change is done to a copy of a kept run's history, and judged by all rules that have to
notice it, declared or not; a neutral one by every rule that there is. What the rules said of the
run before does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet

from harness.check.judge import Outcome
from harness.rules import RULES
from harness.tables.engines.contract import Engine
from tests.tampered import language
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

CHANGES: Final = Path(__file__).with_name("changes")
READ: Final = [change for path in sorted(CHANGES.iterdir()) for change in language.read(path)]
VIOLATIONS: Final = tuple(change for change in READ if change.notices)
NEUTRAL: Final = tuple(change for change in READ if not change.notices)

AsItWas = Callable[[str, str], Outcome]
_CASE_S: Final = 0.4


def _cases(changes: tuple[Change, ...], every: int) -> list[ParameterSet]:
    """Each change with each of its runs; all but every so-manyth in the full test only."""
    cases: list[ParameterSet] = []
    for change in changes:
        for run in names_of(change.runs):
            marks = () if len(cases) % every == 0 else (pytest.mark.long(_CASE_S),)
            cases.append(pytest.param(change, run, marks=marks, id=f"{change.name} in {run}"))
    return cases


def test_every_change_is_about_rules_and_runs_that_there_are() -> None:
    for change in READ:
        assert names_of(change.runs), change.name
        assert set(change.notices) <= RULES.keys(), change.name


@pytest.fixture(scope="module")
def as_it_was(duckdb_engine: Engine) -> AsItWas:
    """What a rule says of a run that was not changed."""
    return cache(lambda run, rule: judged(kept(run), duckdb_engine, [rule]))


@pytest.mark.parametrize(("change", "run"), _cases(VIOLATIONS, 8))
def test_a_violation_is_noticed(
    change: Change, run: str, duckdb_engine: Engine, as_it_was: AsItWas
) -> None:
    changed = _changed(change, run)
    outcome = judged(changed, duckdb_engine, change.notices)
    before = {rule: as_it_was(run, rule) for rule in change.notices}

    found = accusations(outcome)
    fewer = withheld(outcome)
    new = {
        rule: found.get(rule, set()) - accusations(before[rule]).get(rule, set())
        for rule in change.notices
    }
    doubts = [
        rule for rule in change.notices if fewer.get(rule, 0) != withheld(before[rule]).get(rule, 0)
    ]
    assert any(new.values()) or (change.or_withholds and doubts), (
        f"no rule of {change.notices} notices it; not judged: {outcome.unknown}"
    )


@pytest.mark.parametrize(("change", "run"), _cases(NEUTRAL, 8))
def test_what_changes_nothing_is_not_noticed(
    change: Change, run: str, duckdb_engine: Engine, as_it_was: AsItWas
) -> None:
    changed = _changed(change, run)
    names = rules_of(changed.run)
    outcome = judged(changed, duckdb_engine, names)

    found = accusations(outcome)
    assert {} == {
        rule: found[rule] for rule in found if not accusations(as_it_was(run, rule)).get(rule)
    }


def _changed(change: Change, run: str) -> Kept:
    changed = kept(run)
    try:
        change.edit(changed)
    except NotThere as lack:
        pytest.skip(f"{run} has {lack}")
    return changed
