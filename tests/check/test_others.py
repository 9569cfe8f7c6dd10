"""Rules that an experiment does not declare: its run has to keep them all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.catalogue import registry
from harness.check import others
from harness.check.check import check
from harness.experiment import APP, Verdict
from harness.rules import RULES
from harness.tables.engines.contract import Engine
from harness.tables.source import Run, read_run
from tests.check.evicted import ON_TIME, TOO_EARLY, write_evicted


def evicted(tmp_path: Path, at_ms: float, *declared: str, **changes: Any) -> Path:
    """A run whose member is evicted at this time, with these rules declared."""
    rules = [{"rule": rule, "verdict": "HOLDS", "because": ""} for rule in declared]
    return write_evicted(tmp_path / "run", at_ms, rules, **changes)


def verdicts_of(run_dir: Path, engine: Engine) -> dict[str, dict[str, Any]]:
    rows = check(run_dir, engine).verdicts
    assert rows == pq.read_table(run_dir / "verdicts.parquet").to_pylist()
    return {row["rule"]: row for row in rows}


def other_rules(run_dir: Path) -> dict[str, dict[str, Any]]:
    rows = pq.read_table(run_dir / "tables" / "other_rules.parquet").to_pylist()
    return {row["rule"]: row for row in rows}


def test_a_violation_of_an_undeclared_rule_differs(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = evicted(tmp_path, TOO_EARLY, "R33")
    verdict = verdicts_of(run_dir, duckdb_engine)["R01"]

    assert ("HOLDS", "VIOLATED") == (verdict["expected"], verdict["verdict"])
    assert "was evicted too early" in verdict["reason"]
    assert "VIOLATED" == other_rules(run_dir)["R01"]["verdict"]
    assert (run_dir / "violations" / "R01.parquet").is_file()


def test_what_holds_is_counted_and_has_no_verdict(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = evicted(tmp_path, ON_TIME, "R33")
    verdicts = verdicts_of(run_dir, duckdb_engine)
    found = other_rules(run_dir)

    assert ("HOLDS", 1) == (found["R01"]["verdict"], found["R01"]["examined"])
    assert "R01" not in verdicts
    assert "R33" in verdicts


def test_what_finds_nothing_to_examine_says_nothing(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = evicted(tmp_path, ON_TIME)
    assert "R04" not in verdicts_of(run_dir, duckdb_engine).keys() | other_rules(run_dir).keys()


def test_what_cannot_be_judged_is_shown_and_changes_no_exit_code(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = evicted(tmp_path, ON_TIME, "R01")
    (run_dir / "history" / "deliveries.parquet").unlink()
    verdicts = verdicts_of(run_dir, duckdb_engine)

    assert "X32a" not in verdicts
    found = other_rules(run_dir)["X32a"]
    assert "UNKNOWN" == found["verdict"]
    assert "history/deliveries.parquet is missing" == found["reason"]


def test_a_run_that_shows_nothing_is_not_looked_at(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = evicted(tmp_path, TOO_EARLY, "R33", status="void", status_reason="a broker died")
    assert "R01" not in verdicts_of(run_dir, duckdb_engine)
    assert {} == other_rules(run_dir)


def test_what_is_judged_in_every_run_has_a_verdict_only_where_it_finds_something(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = evicted(tmp_path, ON_TIME, "R33")
    always = {rule.id for rule in RULES.values() if rule.always}
    verdicts = verdicts_of(run_dir, duckdb_engine)
    judged = verdicts.keys() & always
    assert set() < judged < always
    assert all(verdicts[rule]["examined"] for rule in judged)
    assert not always & other_rules(run_dir).keys()


# Which rules.


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return read_run(evicted(tmp_path, ON_TIME, "R01"))


def test_every_rule_about_the_client_and_protocol_is_looked_at(run: Run) -> None:
    found = others.others_of(run)
    assert {"R02", "R13", "R33", "R35", "X07"} < set(found)
    assert "R01" not in found  # declared
    assert not [rule for rule in found if RULES[rule].evidence]
    assert not [rule for rule in found if not RULES[rule].speaks_of("librdkafka", "eager")]


def test_where_a_statement_is_known_not_to_hold_only_experiments_that_declare_it_judge_it(
    run: Run,
) -> None:
    assert "R15-all" in others.others_of(run)
    assert "R15-all" not in others.others_of(replace(run, protocol="cooperative"))
    assert "R06" in others.others_of(replace(run, client="java"))
    assert "R06" not in others.others_of(run)
    assert "R20b" in others.others_of(run)
    assert "R20b" not in others.others_of(replace(run, static=True))


def test_of_a_program_all_that_can_be_judged_is_declared(run: Run) -> None:
    assert [] == others.others_of(replace(run, client=APP))


def test_members_that_break_a_rule_on_purpose_are_judged_by_what_brokers_keep(run: Run) -> None:
    found = others.others_of(replace(run, sabotaged=True))
    assert found
    assert all(RULES[rule].broker for rule in found)


def test_a_statement_is_known_not_to_hold_because_an_experiment_shows_it() -> None:
    shown = {
        (expect.rule, client, protocol, experiment.group.static)
        for experiment in registry.every()[0].values()
        for expect in experiment.rules
        if expect.verdict is Verdict.VIOLATED and not expect.sometimes
        for client in expect.clients or experiment.clients
        for protocol in expect.protocols or experiment.protocols
    }
    for rule in RULES.values():
        for groups in rule.contradicted:
            assert any(
                rule.id == found and groups.include(client, protocol, static=static)
                for found, client, protocol, static in shown
            ), f"no experiment shows that {rule.id} does not hold for {groups}"
