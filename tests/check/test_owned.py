"""A rule of somebody's own judges a recorded run like ours, and is seen to have changed since."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.base.errors import Exit
from harness.catalogue import own_modules, registry
from harness.check.check import check
from harness.cli.main import main
from harness.experiment import Experiment, holds
from harness.report import report
from harness.run.record import keep_sources
from harness.suite.background import BackgroundJudge
from harness.tables.engines.contract import Engine
from tests.recorded.keep import PROGRAMS, RUNS
from tests.recorded.test_recorded_runs import copied

OURS = RUNS / "consumer-crash.librdkafka.eager.3.9.2"
A_PROGRAM = PROGRAMS / "everyday.kafkajs.4.3.1"
ID = "orders-few-rebalances"
COMMON = "MOST = 1\n"
RULE = '''from harness.rules import Rule

from ._common import MOST  # a query names it


@Rule(
    "orders-few-rebalances",
    title="Few rebalances",
    statement="A group of ours rebalances once at most.",
    source="our runbook",
    unit="rebalances",
    things="groups",
    without_journals=True,
)
def few_rebalances() -> str:
    """All of the run."""
    return """
        SELECT :group AS subject, count(*) AS measured, :MOST AS bound_high
        FROM {rebalances} HAVING count(*) > 0
    """
'''


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A folder with a rule of somebody's own."""
    folder = tmp_path / "chaos" / "rules"
    folder.mkdir(parents=True)
    (folder / "rebalances.py").write_text(RULE)
    (folder / "_common.py").write_text(COMMON)
    return folder


def played(run: Path, run_dir: Path, rules: Path) -> Path:
    """A recorded run as if its experiment had declared the rule, with all that a run keeps."""
    path = copied(run, run_dir) / "manifest.json"
    with own_modules.used(None, rules):
        experiment = registry.load("baseline")
    keep_sources(run_dir, experiment)
    content = json.loads(path.read_text())
    content["own"] = {source.path: source.digest for source in experiment.sources}
    content["declared"]["rules"].append({"rule": ID, "verdict": "HOLDS", "because": ""})
    path.write_text(json.dumps(content))
    return run_dir


def verdict_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    (verdict,) = (row for row in found if row["rule"] == ID)
    return verdict


@pytest.mark.parametrize("run", [OURS, A_PROGRAM])
def test_it_is_judged_and_shown_like_ours(
    run: Path, tmp_path: Path, rules: Path, duckdb_engine: Engine
) -> None:
    run_dir = played(run, tmp_path / "run", rules)
    with own_modules.used(None, rules):
        verdict = verdict_of(check(run_dir, duckdb_engine).verdicts)
        report(run_dir)

    assert ("VIOLATED", 1, "our runbook") == tuple(
        verdict[name] for name in ("verdict", "bound_high", "source")
    )
    assert "changed" not in verdict["reason"]
    cases = ET.parse(run_dir / "junit.xml").findall(".//failure/..")
    assert ID in {case.get("name") for case in cases}
    for page in ("report.html", "summary.md"):
        assert ID in (run_dir / page).read_text()
    assert "Few rebalances" in (run_dir / "report.html").read_text()


@pytest.mark.parametrize("changed", ["rebalances.py", "_common.py"])
def test_that_it_has_changed_since_the_run_is_said(
    changed: str, tmp_path: Path, rules: Path, duckdb_engine: Engine
) -> None:
    run_dir = played(OURS, tmp_path / "run", rules)
    file = rules / changed
    file.write_text(file.read_text().replace("MOST = 1", "MOST = 9") + "\n# newer\n")

    with own_modules.used(None, rules):
        verdict = verdict_of(check(run_dir, duckdb_engine).verdicts)

    expected = "VIOLATED" if changed == "rebalances.py" else "HOLDS"
    assert expected == verdict["verdict"]
    assert verdict["reason"].endswith("; the rule is not the one that the run was played with: it "
                                      "has changed since")  # fmt: skip


@pytest.mark.parametrize("run", [OURS, A_PROGRAM])
def test_where_it_is_not_it_is_unknown(
    run: Path, tmp_path: Path, rules: Path, duckdb_engine: Engine
) -> None:
    verdict = verdict_of(check(played(run, tmp_path / "run", rules), duckdb_engine).verdicts)

    assert "UNKNOWN" == verdict["verdict"]
    assert "the rule is the owner's own, and not here: check the run in" in verdict["reason"]


def test_a_run_has_the_rules_to_judge_it_by(
    tmp_path: Path,
    rules: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_dir = played(OURS, tmp_path / "elsewhere" / "run", rules)
    monkeypatch.chdir(run_dir)
    asked = ["check", str(run_dir), "--engine", "duckdb", "--rule", ID]

    assert Exit.BAD_ARGUMENTS == main(asked)
    assert Exit.DIFFERS == main([*asked, "--own-rules", "own/rules"])

    said = capsys.readouterr()
    assert f"there is no rule '{ID}'" in said.err
    assert ID in said.out


def test_one_that_no_experiment_declares_is_looked_at(
    tmp_path: Path, rules: Path, duckdb_engine: Engine
) -> None:
    run_dir = copied(OURS, tmp_path / "run")
    with own_modules.used(None, rules):
        verdict = verdict_of(check(run_dir, duckdb_engine).verdicts)

    assert "VIOLATED" == verdict["verdict"]


def test_a_run_of_ours_alone_keeps_nothing(tmp_path: Path) -> None:
    keep_sources(tmp_path, Experiment(claim="x.", rules=holds("R21")))
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_sources_are_kept_as_they_were(encoding: str, tmp_path: Path, rules: Path) -> None:
    data = f"# coding: {encoding}\r\nWORD = 'ä'\n".encode(encoding)
    (rules / "_common.py").write_bytes(data + COMMON.encode())
    with own_modules.used(None, rules):
        keep_sources(tmp_path, registry.load("baseline"))

    assert (rules / "_common.py").read_bytes() == (tmp_path / "own/rules/_common.py").read_bytes()


@pytest.mark.long(80)
@pytest.mark.spark
def test_it_is_judged_by_spark_in_the_background_too(tmp_path: Path, rules: Path) -> None:
    run_dir = played(OURS, tmp_path / "run", rules)
    with own_modules.used(None, rules), closing(BackgroundJudge(tmp_path / "judging.log")) as aside:
        aside.submit(run_dir)
        assert [(run_dir, "")] == list(aside.finished(wait=True))

    verdict = verdict_of(pq.read_table(run_dir / "verdicts.parquet").to_pylist())
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["bound_high"]), verdict["reason"]
