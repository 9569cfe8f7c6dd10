"""A run is held to what was promised of it, whoever its members are.

Method: recorded runs are judged with limits in their manifests, as a run writes them there.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import Exit
from harness.check.check import check
from harness.cli.main import main
from harness.experiment import Verdict
from harness.experiment.limits import Limits
from harness.history import seals, store
from harness.history.schema import HISTORY
from harness.report import exit_code, report
from harness.tables.engines.contract import Engine
from tests.recorded.keep import PROGRAMS, RUNS
from tests.recorded.test_recorded_runs import copied

OURS = RUNS / "consumer-crash.librdkafka.eager.3.9.2"
A_PROGRAM = PROGRAMS / "everyday.kafkajs.4.3.1"
NOT_KEPT = {"promises/standstill-of-members-is-short", "promises/standstill-is-short"}


def promised(run: Path, run_dir: Path, limits: Limits) -> Path:
    """A copy of a recorded run of which this was promised."""
    path = copied(run, run_dir) / "manifest.json"
    content = json.loads(path.read_text())
    declared = content["declared"]
    (declared.get("app") or declared)["limits"] = vars(limits)
    path.write_text(json.dumps(content))
    return run_dir


def verdicts_of(found: list[dict[str, Any]]) -> dict[str, str]:
    return {row["rule"]: row["verdict"] for row in found}


@pytest.mark.parametrize(
    ("run", "rules"),
    [(OURS, ("L1", "L2", "L3", "L4")), (A_PROGRAM, ("P1", "P4", "P10", "P11"))],
)
def test_each_limit_is_a_verdict(
    run: Path, rules: tuple[str, ...], tmp_path: Path, duckdb_engine: Engine
) -> None:
    kept = Limits(standstill_s=600, repeats=100_000, lost=0, drained_s=60)
    found = check(promised(run, tmp_path / "run", kept), duckdb_engine).verdicts

    assert dict.fromkeys(rules, "HOLDS") == {
        rule: verdict for rule, verdict in verdicts_of(found).items() if rule in rules
    }
    assert set(rules) == {row["rule"] for row in found[: len(rules)]}  # what was asked comes first


@pytest.mark.parametrize("run", [OURS, A_PROGRAM])
def test_a_promise_that_is_not_kept_fails_the_run(
    run: Path, tmp_path: Path, duckdb_engine: Engine
) -> None:
    run_dir = promised(run, tmp_path / "run", Limits(standstill_s=0.5, drained_s=60))
    check(run_dir, duckdb_engine)
    report(run_dir)

    assert Exit.DIFFERS == exit_code(run_dir)
    failed = ET.parse(run_dir / "junit.xml").findall(".//failure/..")
    assert 1 == len({case.get("name") for case in failed} & NOT_KEPT)
    assert "had a standstill longer than promised" in (run_dir / "report.html").read_text()


@pytest.mark.parametrize("run", [OURS, A_PROGRAM])
def test_nothing_is_judged_that_nobody_promised(
    run: Path, tmp_path: Path, duckdb_engine: Engine
) -> None:
    found = verdicts_of(check(copied(run, tmp_path / "run"), duckdb_engine).verdicts)
    assert not {rule for rule in found if rule.startswith("L")} | ({"P11"} & set(found))


def test_a_program_that_shows_nothing_keeps_no_promise_of_order(
    tmp_path: Path, duckdb_engine: Engine
) -> None:
    run_dir = promised(A_PROGRAM, tmp_path / "run", Limits(out_of_order=0))
    empty = HISTORY["effects"].empty_table()
    store.write(run_dir / "history" / "effects.parquet", [empty], empty.schema)
    seals.renew(run_dir)

    assert str(Verdict.UNKNOWN) == verdicts_of(check(run_dir, duckdb_engine).verdicts)["P12"]


@pytest.mark.parametrize(
    ("limits", "code"),
    [(["standstill_s=30", "lost=0"], Exit.AS_EXPECTED), (["standstill_s=0.5"], Exit.DIFFERS)],
)
def test_a_stored_run_can_be_held_to_other_limits(
    limits: list[str], code: Exit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = copied(OURS, tmp_path / "run")
    before = (run_dir / "manifest.json").read_bytes()
    options = [word for limit in limits for word in ("--limit", limit)]

    assert code == main(["check", str(run_dir), "--engine", "duckdb", *options])

    said = capsys.readouterr().out
    assert "promises/standstill-of-members-is-short" in said
    assert "Not stored: " in said
    assert before == (run_dir / "manifest.json").read_bytes()
    assert not (run_dir / "verdicts.parquet").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rule", "L1"], " judges what is promised of our own members, and this run has no"),
        (["--limit", "out_of_order=0"], "the members here are our own: leave it out\n"),
        (["--limit", "lost"], "--limit 'lost' is not of the form NAME=VALUE"),
    ],
)
def test_a_stored_run_is_not_held_to_what_cannot_be(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.BAD_ARGUMENTS == main(["check", str(OURS), "--engine", "duckdb", *options])
    assert says in capsys.readouterr().err
