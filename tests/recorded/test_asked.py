"""Any rule can be asked of any kept run: it is judged, or refused by one sentence.

Method: each rule of the catalogue is asked of each kept run of a program, and of some of our own
members, as `check --rule` asks it. What is not refused may name only what the run has.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import BadInput
from harness.catalogue.promises import check_asked
from harness.check.judge import examine
from harness.experiment import APP
from harness.history import manifest
from harness.rules import RULES
from harness.rules.lineage import behind, judged_of_an_app
from harness.rules.rule_names import name_of
from harness.tables.engines.contract import Engine
from harness.tables.source import load, read_run
from tests.in_memory import tables_of_run
from tests.recorded.keep import PROGRAMS, RUNS

OF_PROGRAMS = sorted(PROGRAMS.iterdir())
OF_OUR_OWN = sorted(RUNS.iterdir())[::8]
PROMISED = ("standstill_s", "repeats", "lost", "drained_s")


def refusal(rule: str, run: Path, limits: tuple[str, ...] | None = None) -> str:
    """Why a rule is not asked of a run; empty where it is."""
    try:
        check_asked([rule], manifest.read(run)["declared"], limits)
    except BadInput as reason:
        return str(reason)
    return ""


@pytest.mark.parametrize("run", [*OF_PROGRAMS, *OF_OUR_OWN], ids=lambda run: run.name)
def test_what_a_rule_names_a_run_has_or_the_rule_is_refused(run: Path) -> None:
    about = read_run(run)
    known = {*about.settings, *(f"limit_{name.replace('_s', '_ms')}" for name in PROMISED)}
    limits = None if about.client == APP else PROMISED
    for rule in RULES:
        _, settings = behind(RULES[rule].examine, about.client)
        named = {name for name in settings if name.islower()}  # the others are error codes
        assert named <= known or refusal(rule, run, limits), rule


@pytest.mark.parametrize("rule", judged_of_an_app())
def test_what_speaks_of_programs_is_never_refused_of_one(rule: str) -> None:
    assert "" == refusal(rule, OF_PROGRAMS[0])


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("X34", " is made from what is declared of our own members (cadence_ms, client, "),
        ("X36", ""),  # left out of those that judge every program, and asked by hand
        ("L1", " is about our own members alone, and this run is of a program: leave it out"),
        ("R06-client", " is made from what is declared of our own members"),
    ],
)
def test_the_sentence_says_what_a_program_lacks(rule: str, sentence: str) -> None:
    found = refusal(rule, OF_PROGRAMS[0])
    assert found.startswith(f"{name_of(rule)}{sentence}" if sentence else "")
    assert bool(sentence) == bool(found)


def test_what_is_about_programs_is_not_asked_of_our_own_members() -> None:
    assert " is about programs of users" in refusal("P6", OF_OUR_OWN[0])
    assert "add --limit lost=10" in refusal("L3", OF_OUR_OWN[0])


@pytest.mark.long(60)
@pytest.mark.parametrize("run", OF_PROGRAMS[:2], ids=lambda run: run.name)
def test_no_rule_that_is_asked_of_a_program_fails(run: Path, duckdb_engine: Engine) -> None:
    tables = tables_of_run(duckdb_engine, read_run(run), load(run, duckdb_engine))
    try:
        outcome = examine(tables, [rule for rule in RULES if not refusal(rule, run)])
    finally:
        tables.close()
    assert {} == outcome.unknown
