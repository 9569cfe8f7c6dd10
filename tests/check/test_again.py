"""Stored runs judged again: several in one Spark application, here or on another Spark."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.base import processes
from harness.base.errors import Exit, NoData
from harness.bench.synthetic import write_synthetic
from harness.check.check import check
from harness.cli.main import main
from harness.history import manifest, store
from harness.history.derived import VERDICTS, VERDICTS_FILE
from harness.report import report
from harness.rules.rule_names import name_of
from harness.suite import again
from harness.suite.judging import Judge, duckdb_engine
from harness.suite.verdict_job import Files
from harness.tables.engines.duckdb import DuckDb
from tests.recorded.keep import RUNS
from tests.spark_servers import worked

pytestmark = pytest.mark.long(4)

ROOT = Path(__file__).resolve().parents[2]


class ByDuckDb:
    """Judges and reports as `Judge` does, without a JVM."""

    at_once = 1

    def __init__(self, engine: DuckDb) -> None:
        self.engine = engine

    session = close = lambda _self: None

    def files(self, run_dir: Path) -> Files:
        return {}

    def judge(self, run_dir: Path, *_: object) -> None:
        check(run_dir, self.engine)
        report(run_dir)


@pytest.fixture
def judge() -> Iterator[Judge]:
    with closing(duckdb_engine()) as engine:
        yield cast(Judge, ByDuckDb(engine))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two runs of two experiments, and the second name of one."""
    results, kept = tmp_path / "results", RUNS / "consumer-leave.java.consumer.4.3.1"
    write_synthetic(results / "a" / "20260101T000000-aaaa", 10_000)
    shutil.copytree(kept, results / "b" / "20260102T000000-bbbb")
    (results / "b" / "latest").symlink_to("20260102T000000-bbbb")
    return results


def _change(run_dir: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    path = run_dir / VERDICTS_FILE
    rows = change(pq.read_table(path).to_pylist())
    store.write(path, [pa.Table.from_pylist(rows, schema=VERDICTS)], VERDICTS)


def test_what_changed_is_said_of_each_run(results: Path, judge: Judge) -> None:
    runs = manifest.runs_in(results)
    told: list[tuple[int, again.Again]] = []
    first = again.judge_again(runs, judge, lambda count, each: told.append((count, each)))

    assert [(1, first[0]), (2, first[1])] == told
    assert runs == [each.run_dir for each in first]
    assert [(), ()] == [each.changed for each in first]  # there were no verdicts to compare with
    assert "Every verdict as expected: " in first[0].sentence
    assert "2 runs judged again: 2 as expected, 0 with verdicts that differ; " in again.summary(
        first
    )

    def older(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One rule found something else then, one was unknown, and one is no more."""
        [changed, _new, *rest] = rows
        gone = {**changed, "rule": "R99"}
        return [{**changed, "verdict": "VIOLATED"}, *rest, gone]

    rows = pq.read_table(runs[0] / VERDICTS_FILE).to_pylist()
    _change(runs[0], older)
    [second, same] = again.judge_again(runs, judge, lambda *_: None)

    assert (
        f"{name_of(rows[0]['rule'])} was VIOLATED, is HOLDS",
        f"{name_of(rows[1]['rule'])} was nothing, is HOLDS",
        "R99 was HOLDS, is nothing",
    ) == second.changed
    assert () == same.changed
    assert again.summary([second, same]).endswith("; verdicts changed in 1")


def test_a_run_that_cannot_be_judged_does_not_end_the_rest(results: Path, judge: Judge) -> None:
    runs = manifest.runs_in(results)
    shutil.rmtree(runs[0] / "history")

    found = again.judge_again(runs, judge, lambda *_: None)

    assert [Exit.NO_DATA, Exit.AS_EXPECTED] == [each.code for each in found]
    assert Exit.NO_DATA == again.exit_code(found)
    assert "1 as expected, 0 with verdicts that differ, 1 could not be judged" in again.summary(
        found
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(30, "Read-only file system", "x"), "check that the path exists, is writable"),
        (ConnectionRefusedError(111, "no"), "it could not be judged (ConnectionRefusedError: [Err"),
    ],
)
def test_a_failure_costs_one_run(
    results: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    first, second = manifest.runs_in(results)
    judges = judge.judge

    def fails(run_dir: Path, *_: object) -> None:
        if run_dir == first:
            raise error
        judges(run_dir)

    monkeypatch.setattr(judge, "judge", fails)
    [failed, judged] = again.judge_again([first, second], judge, lambda *_: None)

    assert said in failed.sentence
    assert (Exit.FAILED, Exit.AS_EXPECTED) == (failed.code, judged.code)


def test_a_run_that_goes_on_is_left_alone(results: Path, judge: Judge) -> None:
    runs = manifest.runs_in(results)
    manifest.update(runs[0], status="running")
    with processes.holding(runs[0]):
        [goes_on, _] = again.judge_again(runs, judge, lambda *_: None)

    assert "it still goes on: check it later" == goes_on.sentence
    assert not (runs[0] / VERDICTS_FILE).exists()


def test_a_run_that_another_judges_does_not_go_on(results: Path, judge: Judge) -> None:
    """Nor does one whose judge was killed in a container, which looks alive from outside."""
    runs = manifest.runs_in(results)
    (runs[0] / "owner").write_text(f"1:1@{processes._boot()}#1", encoding="utf-8")
    assert processes.held(runs[0])

    [judged, _] = again.judge_again(runs, judge, lambda *_: None)

    assert Exit.AS_EXPECTED == judged.code
    assert (runs[0] / VERDICTS_FILE).exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rule", "R21"), "--rule, --limit and --engine duckdb print one run, not 2: name one"),
        (("--engine", "duckdb"), "print one run, not 2: name one"),
        (
            ("--engine", "duckdb", "--spark", "sc://h:1"),
            "--engine duckdb uses no Spark: leave out --spark or --engine",
        ),
        (("--spark", "yarn"), "is no address of a Spark: use spark://HOST:PORT or sc://HOST:PORT"),
        (("--spark", "spark://127.0.0.1:9"), "no Spark master answers at spark://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    results: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(results), *options]) in (Exit.BAD_ARGUMENTS, Exit.FAILED)

    *progress, sentence = capsys.readouterr().err.splitlines()
    assert sentence.startswith("kafka-chaos: ")
    assert said in sentence
    assert all("  check: " in line for line in progress)
    assert not list(results.glob(f"*/*/{VERDICTS_FILE}"))


def test_a_folder_without_runs_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="has no runs"):
        manifest.runs_in(tmp_path)


def _found(results: Path, *options: str) -> dict[str, list[dict[str, Any]]]:
    """Check all runs as a person does; what was written about each."""
    done = subprocess.run(
        [sys.executable, "-m", "harness", "check", str(results), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert 0 == done.returncode, done.stderr
    assert "2 runs judged again: 2 as expected, 0 with verdicts that differ" in done.stdout
    assert ["1 of 2", "2 of 2"] == re.findall(r"(\d of \d)  ", done.stderr)
    names = ("verdicts.parquet", "tables/judgements.parquet", "tables/other_rules.parquet")
    return {
        f"{run.name} {name}": sorted(pq.read_table(run / name).to_pylist(), key=str)
        for run in manifest.runs_in(results)
        for name in names
    }


@pytest.mark.long(300)
@pytest.mark.spark
def test_a_cluster_and_a_server_find_what_one_machine_finds(
    tmp_path: Path, results: Path, master: str, connect: str
) -> None:
    here = _found(results)

    assert here == _found(results, "--spark", master)
    assert all(worked(tmp_path)), worked(tmp_path)
    assert here == _found(results, "--spark", connect)
