"""What a rule is made from decides whether a program without a journal is judged by it."""

from __future__ import annotations

import pytest

from harness.experiment import APP
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.rules.lineage import JOURNALED, READS, behind, judged_of_an_app, left_out_of_an_app
from harness.tables.engines.contract import tables_in
from harness.tables.recipes import VIEWS, recipes_of
from harness.tables.settings import DECLARED_OF_CLIENTS
from harness.tables.vocabulary import Query, expand, text_of

# Judged of programs, though they look at journals where there are some. P6 looks at what the
# harness notes of a program's processes.
WITHOUT_JOURNALS = {"E01", "E02", "E05", "P6"}


def files_of(query: Query, seen: set[str]) -> set[str]:
    """The history files behind a query of an app's run: another way than that of `behind`."""
    recipes = {**VIEWS, **recipes_of(APP)}
    for table in tables_in(expand(text_of(query))):
        if table not in seen:
            seen.add(table)
            if table in recipes:
                files_of(recipes[table], seen)
    return seen & HISTORY.keys()


@pytest.mark.parametrize("name", judged_of_an_app())
def test_no_rule_that_a_program_is_judged_by_reads_what_only_ours_write(name: str) -> None:
    files, settings = behind(RULES[name].examine, APP)

    assert files_of(RULES[name].examine, set()) == files & HISTORY.keys()
    if name not in WITHOUT_JOURNALS:
        assert not files & JOURNALED & HISTORY.keys()
    # What it showed or fetched stands for what it read in rules that are about such programs alone.
    if RULES[name].clients != (APP,) and name not in WITHOUT_JOURNALS:
        assert READS not in files
    assert not settings & DECLARED_OF_CLIENTS


def test_rules_that_stand_without_journals_are_few_and_named() -> None:
    declared = {name for name in judged_of_an_app() if RULES[name].without_journals}

    assert WITHOUT_JOURNALS == declared


def test_every_rule_is_judged_of_a_program_or_left_out_with_the_reason() -> None:
    left_out = left_out_of_an_app()

    assert RULES.keys() == {*judged_of_an_app(), *left_out}
    assert not set(judged_of_an_app()) & left_out.keys()
    assert all(left_out.values())
    assert "needs client_events" in left_out["R05"]


def test_what_stands_behind_a_table_stands_behind_its_query() -> None:
    def rule() -> str:
        return "SELECT 1 FROM {ownership} WHERE x > :heartbeat_ms"

    ours, settings = behind(rule)
    of_an_app, _ = behind(rule, APP)

    assert "client_events" in ours
    assert not of_an_app & JOURNALED
    assert "heartbeat_ms" in settings
