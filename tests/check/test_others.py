"""Rules that an experiment does not declare: its run has to keep them all the same.

DuckDB judges, and Spark too what is a verdict in the end.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.catalogue import registry
from harness.check import judge, others
from harness.check.check import as_expected, check, look_at_others
from harness.experiment import APP, Verdict
from harness.rules import RULES
from harness.tables.engines.base import Engine
from harness.tables.source import Run, read_run
from tests.check.evicted import ON_TIME, TOO_EARLY, write_evicted


def evicted(tmp_path: Path, at_ms: float, *declared: str, **changes: Any) -> Path:
    """A run whose member is evicted at this time, with these rules declared."""
    rules = [{"rule": rule, "verdict": "HOLDS", "because": ""} for rule in declared]
    return write_evicted(tmp_path / "run", at_ms, rules, **changes)


def verdicts_of(run_dir: Path, engine: Engine) -> dict[str, dict[str, Any]]:
    rows = check(run_dir, engine, looked=others.look_at)
    assert rows == pq.read_table(run_dir / "verdicts.parquet").to_pylist()
    return {row["rule"]: row for row in rows}


def other_rules(run_dir: Path) -> dict[str, dict[str, Any]]:
    rows = pq.read_table(run_dir / "tables" / "other_rules.parquet").to_pylist()
    return {row["rule"]: row for row in rows}


def test_a_violation_of_a_rule_that_nobody_declared_differs(engine: Engine, tmp_path: Path) -> None:
    run_dir = evicted(tmp_path, TOO_EARLY, "R33")
    verdict = verdicts_of(run_dir, engine)["R01"]

    assert ("HOLDS", "VIOLATED") == (verdict["expected"], verdict["verdict"])
    assert not as_expected([verdict])
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
    assert ("UNKNOWN", "history/deliveries.parquet is missing") == (
        found["verdict"],
        found["reason"],
    )


def test_nothing_but_the_named_rules_is_judged_where_some_are_named(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = evicted(tmp_path, TOO_EARLY)
    rows = check(run_dir, duckdb_engine, keep=False, rules=["R33"], looked=others.look_at)
    assert ["R33"] == [row["rule"] for row in rows]


def test_a_run_that_shows_nothing_is_not_looked_at(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = evicted(tmp_path, TOO_EARLY, "R33", status="void", status_reason="a broker died")
    assert "R01" not in verdicts_of(run_dir, duckdb_engine)
    assert {} == other_rules(run_dir)
    assert [] == look_at_others(run_dir, duckdb_engine)


def test_another_engine_finds_the_same_from_the_folder(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = evicted(tmp_path, TOO_EARLY, "R33")
    verdicts_of(run_dir, duckdb_engine)
    found = {row["rule"]: row for row in look_at_others(run_dir, duckdb_engine)}
    assert other_rules(run_dir) == {
        rule: row for rule, row in found.items() if not RULES[rule].always
    }


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


# What is judged then, and kept.


def found(rule: str, verdict: str) -> dict[str, Any]:
    return {"rule": rule, "verdict": verdict, "examined": 1, "reason": f"of {rule}"}


def test_what_is_judged_in_every_run_is_left_out_where_nothing_was_found() -> None:
    asked = [
        judge.Asked("R33"),
        judge.Asked("X07", if_seen=True, undeclared=True),
        judge.Asked("R30", if_seen=True, undeclared=True),
        judge.Asked("E04"),
    ]
    seen = [found("X07", "HOLDS"), found("R01", "VIOLATED"), found("R02", "HOLDS")]
    names = [each.rule for each in others.asked_besides(asked, seen)]
    assert ["R33", "X07", "E04", "R01"] == names


def test_a_violation_that_the_second_engine_does_not_find_is_none() -> None:
    seen = [found("R01", "VIOLATED"), found("R02", "VIOLATED"), found("X07", "HOLDS")]
    verdicts = [found("R33", "HOLDS"), found("R01", "VIOLATED"), found("R02", "HOLDS")]

    rows, kept = others.settled(seen, verdicts)

    assert [("R01", "VIOLATED"), ("R02", "UNKNOWN")] == [
        (row["rule"], row["verdict"]) for row in rows
    ]
    assert "Spark does not find the violation that DuckDB finds: of R02" == rows[1]["reason"]
    assert ["R33", "R01"] == [verdict["rule"] for verdict in kept]


def test_a_violation_that_the_second_engine_cannot_judge_is_not_taken_for_none() -> None:
    rows, kept = others.settled([found("R01", "VIOLATED")], [found("R01", "UNKNOWN")])

    [row] = rows
    assert ("UNKNOWN", "Spark cannot judge the violation that DuckDB finds: of R01") == (
        row["verdict"],
        row["reason"],
    )
    assert ["R01"] == [verdict["rule"] for verdict in kept]
