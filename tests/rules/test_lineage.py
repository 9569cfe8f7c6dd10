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

# What is judged of a program: a change of it is meant, or a mistake.
JUDGED = """
    R01 R02 R03-members R04 R08-members R20e R21 R27-growth X01-two X02 X02-epoch X05-unreleased
    X08-members X20-alone X26 X29 X32c X35 X36 X37 X39 X53 X63 X67 P1 P2 P3 P4 P5 P6 P7 P8
    P9 P10 P11 P12 P13 P14 E01 E02 E04 E05
"""
# Of these, whoever looks at journals where there are some, and does without where there are none;
# P6 looks at what the harness notes of a program's processes.
WITHOUT_JOURNALS = {"E01", "E02", "E05", "P6"}


def test_what_a_program_is_judged_by_is_this() -> None:
    listed, judged = set(JUDGED.split()), set(judged_of_an_app())
    assert listed == judged, (
        f"of programs {sorted(judged - listed)} are judged too, and {sorted(listed - judged)} no "
        "more: change JUDGED in this file, or in the header of a rule `clients`"
    )


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
