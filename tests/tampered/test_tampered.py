"""What is put into the histories of kept runs is noticed, and what changes nothing is not.

Method: each change is done to a copy of a kept run's history, and judged by the rules that have to
notice it, declared or not; a neutral one by every rule that there is. What the rules said of the
run before does not count. The changes of a file are judged as one dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from harness.check.judge import Outcome
from harness.rules import RULES
from harness.tables.engines.contract import Engine
from tests.tampered import language
from tests.tampered.history import (
    Change,
    Kept,
    NotThere,
    accusations,
    accused_since,
    judged,
    kept,
    names_of,
    rules_of,
    withheld_since,
)

CHANGES: Final = Path(__file__).with_name("changes")
READ: Final = {path.stem: list(language.read(path)) for path in sorted(CHANGES.iterdir())}
Judged = tuple[Change, str, Outcome, Outcome]  # with the run, and what it comes to before and after


@pytest.mark.parametrize("file", READ)
def test_every_violation_is_noticed_and_nothing_else(file: str, duckdb_engine: Engine) -> None:
    changes = READ[file]
    for change in changes:
        assert set(change.notices) <= RULES.keys(), change.name
    found = list(_judged(changes, duckdb_engine))

    assert [] == [each.name for each in changes if each not in [change for change, *_ in found]]
    assert [] == [
        f"{change.name} in {run}: {accused_since(before, after) or 'no rule notices it'}"
        for change, run, before, after in found
        if bool(change.notices) != _noticed(change, before, after)
    ]


def _judged(changes: Iterable[Change], engine: Engine) -> Iterator[Judged]:
    """Each change in each of its runs that has what it needs."""
    made = [
        (change, name, changed)
        for change in changes
        for name in names_of(change.runs)
        for changed in _changed(change, name)
    ]
    names = sorted({name for _, name, _ in made})
    asked = [(run, change.notices or rules_of(run.run)) for change, _, run in made]
    rules = {
        name: {rule for run, each in asked if run.name == name for rule in each} for name in names
    }
    outcomes = judged([*((kept(name), sorted(rules[name])) for name in names), *asked], engine)
    before = dict(zip(names, outcomes, strict=False))
    for (change, name, _), after in zip(made, outcomes[len(names) :], strict=True):
        yield change, name, before[name], after


def _changed(change: Change, name: str) -> Iterator[Kept]:
    run = kept(name)
    try:
        change.edit(run)
    except NotThere:
        return
    yield run


def _noticed(change: Change, before: Outcome, after: Outcome) -> bool:
    """Whether a rule accuses more than before; or, where that will do, judges fewer rows.

    A neutral change is noticed by a rule that accused nothing before.
    """
    new = accused_since(before, after)
    if not change.notices:
        return bool(new.keys() - accusations(before).keys())
    doubts = not withheld_since(before, after).keys().isdisjoint(change.notices)
    return bool(new) or (change.or_withholds and doubts)
