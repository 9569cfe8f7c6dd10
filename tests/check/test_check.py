"""What `check` makes of a run's folder, whole or not.

DuckDB judges, and Spark too where the work is the engine's: it reads and writes files, looks at
large histories, and fails.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness.base.errors import NoData
from harness.bench.synthetic import write_synthetic
from harness.check import judge, others
from harness.check.check import check
from harness.history import store
from harness.history.derived import TABLES, VERDICTS
from harness.history.schema import HISTORY, SCHEMA_VERSION
from harness.rules import RULES, Rule
from harness.tables.engines.contract import Engine
from harness.tables.engines.duckdb import DuckDb
from harness.tables.engines.spark import Spark
from harness.tables.recipes import RECIPES
from tests.check.evicted import ON_TIME, write_evicted
from tests.histories import History, at, member_id

RECORDS = 20_000

# Of our own members; of an app there is one more. One has what undeclared rules find, if asked.
WRITTEN: Final = {
    name: schema
    for name, schema in TABLES.items()
    if name not in ("reads", "other_rules", "answers")
}


@pytest.fixture(scope="module")
def judged_run(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = write_synthetic(tmp_path_factory.mktemp("synthetic") / "run", RECORDS)
    checked(run_dir, engine)
    return run_dir


def checked(run_dir: Path, engine: Engine) -> list[dict[str, Any]]:
    """The verdicts; Spark's as of a large history: with files, and by the declared rules alone."""
    with ExitStack() as stack:
        if isinstance(engine, Spark):
            stack.enter_context(patch.object(others, "others_of", return_value=[]))
            engine = Spark(engine.session)
        return check(run_dir, engine).verdicts


def small(tmp_path: Path, *rules: str, **changes: Any) -> Path:
    """A run of one member that is evicted, as it should be."""
    return write_evicted(tmp_path / "run", ON_TIME, holding(*rules), **changes)


def holding(*rules: str) -> list[dict[str, Any]]:
    """These rules as an experiment declares them."""
    return [{"rule": rule, "verdict": "HOLDS", "because": ""} for rule in rules]


def contents(run_dir: Path) -> dict[str, bytes]:
    paths = [path for path in run_dir.rglob("*") if path.is_file()]
    return {path.relative_to(run_dir).as_posix(): path.read_bytes() for path in paths}


def verdicts(run_dir: Path, engine: Engine, **how: Any) -> dict[str, dict[str, Any]]:
    """By their rules."""
    return {row["rule"]: row for row in check(run_dir, engine, **how).verdicts}


def test_every_rule_holds_for_a_healthy_made_up_run(judged_run: Path) -> None:
    found = pq.read_table(judged_run / "verdicts.parquet").to_pylist()
    assert [] == [row for row in found if row["verdict"] != row["expected"]]
    judged = {row["rule"] for row in found}
    assert {"E02", "E03", "E04", "E05", "X07", "X08-members"} < judged
    assert "E01" not in judged  # there were no faults
    assert "R03-members" not in judged  # no member waited that long, and no rule was asked for


def test_every_rule_holds_for_a_made_up_run_of_the_size_that_is_measured(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    found = check(write_synthetic(tmp_path / "run", 1_000_000), duckdb_engine).verdicts
    assert found
    assert [] == [row for row in found if row["verdict"] != row["expected"]]


def test_a_run_whose_faults_are_drawn_is_asked_whether_they_took_effect(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = History(faults=2, at_random=True).write(tmp_path / "run")

    assert "E01" in verdicts(run_dir, duckdb_engine)


def test_every_table_has_its_schema_its_version_and_page_checksums(judged_run: Path) -> None:
    for name, schema in {**WRITTEN, "../verdicts": VERDICTS}.items():
        with pq.ParquetFile(
            judged_run / "tables" / f"{name}.parquet", page_checksum_verification=True
        ) as file:
            assert file.schema_arrow.equals(schema), name
            assert str(SCHEMA_VERSION).encode() == file.schema_arrow.metadata[b"schema_version"]
            file.read()
            assert "ZSTD" == file.metadata.row_group(0).column(0).compression


def test_nothing_but_results_is_left_behind(judged_run: Path) -> None:
    left = {path.relative_to(judged_run).as_posix() for path in judged_run.rglob("*")}
    expected = {"manifest.json", "history", "tables", "violations", "verdicts.parquet"}
    expected |= {f"history/{name}.parquet" for name in HISTORY}
    expected |= {f"tables/{name}.parquet" for name in (*WRITTEN, "other_rules", "answers")}
    assert expected | {"violations/R21-delivery.parquet"} == left


def test_violations_are_the_rows_that_are_not_ok(judged_run: Path) -> None:
    rows = pq.read_table(judged_run / "violations" / "R21-delivery.parquet").to_pylist()
    assert rows
    assert {False} == {row["ok"] for row in rows}


def test_the_rebalances_of_a_made_up_run_are_all_there(judged_run: Path) -> None:
    rows = pq.read_table(judged_run / "tables" / "rebalances.parquet").to_pylist()
    assert ["join", "expiry", "join", "expiry", "join", "leave"] == [row["trigger"] for row in rows]
    assert [1, 2, 3, 4, 5, 6] == [row["generation"] for row in rows]
    assert [0, 3, 2, 3, 2, 3] == [row["members_before"] for row in rows]
    eviction = rows[1]
    assert ("member-2", "member-1", "range") == (
        eviction["trigger_member"], eviction["leader"], eviction["assignor"]
    )  # fmt: skip
    assert 20 == eviction["duration_ms"]
    assert 6 == len(eviction["standstills"])
    # What the silent member held stood still for longer than its session.
    assert 6_000 < eviction["longest_standstill_ms"] < 6_200


def test_both_engines_write_the_same(
    judged_run: Path, duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = write_synthetic(tmp_path / "run", RECORDS)
    check(run_dir, duckdb_engine)
    for name in ("verdicts.parquet", *(f"tables/{name}.parquet" for name in WRITTEN)):
        one, other = (pq.read_table(folder / name) for folder in (run_dir, judged_run))
        assert sorted(map(str, one.to_pylist())) == sorted(map(str, other.to_pylist())), name


@pytest.mark.long(15)
def test_a_folder_may_be_called_what_spark_takes_for_a_pattern(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark reads all that matches: here the deliveries of two runs would be one's."""
    write_synthetic(tmp_path / "[a] b_c" / "run", RECORDS // 2)
    run_dir = write_synthetic(tmp_path / "[a]{1} b?c*\\" / "run", RECORDS)

    found, right = (
        {row["rule"]: row["verdict"] for row in checked(run_dir, each)}
        for each in (Spark(spark), DuckDb())
    )
    assert right == found


def test_a_judgement_that_is_interrupted_leaves_the_older_one(
    duckdb_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = small(tmp_path, "R01")
    check(run_dir, duckdb_engine)
    before = contents(run_dir)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.check.check._write_results", killed)
    with pytest.raises(KeyboardInterrupt):
        check(run_dir, duckdb_engine)

    assert before == contents(run_dir)


def test_two_judgements_of_a_run_come_one_after_the_other(
    tmp_path: Path, duckdb_engine: Engine
) -> None:
    """They would remove each other's files."""
    run_dir = small(tmp_path, "R01")
    waits, done = threading.Event(), threading.Event()
    folder = os.open(run_dir, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)

    def judge_too() -> None:
        waits.set()
        check(run_dir, duckdb_engine)
        done.set()

    second = threading.Thread(target=judge_too)
    second.start()
    assert waits.wait(10)
    assert not done.wait(0.5)
    assert not (run_dir / "verdicts.parquet").exists()
    os.close(folder)
    second.join(60)

    assert (run_dir / "verdicts.parquet").is_file()


def test_a_run_is_judged_again_by_newer_rules(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = small(tmp_path, "R01")
    assert "HOLDS" == verdicts(run_dir, duckdb_engine)["R01"]["verdict"]
    manifest = json.loads((run_dir / "manifest.json").read_text())
    manifest["declared"]["rules"] = holding("R33")
    (run_dir / "manifest.json").write_text(json.dumps(manifest))
    second = verdicts(run_dir, duckdb_engine)
    assert "HOLDS" == second["R33"]["verdict"]
    assert "R01" not in second


# What can be wrong with a run's folder.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "is not the folder of a run"),
        ('{"schema_version": 1', "cannot be read"),
        ('{"schema_version": 1, "run": "x"}', "declared"),
    ],
    ids=["none", "cut", "no declaration"],
)
def test_a_folder_without_a_manifest_that_can_be_read_is_no_data(
    duckdb_engine: Engine, tmp_path: Path, text: str | None, says: str
) -> None:
    run_dir = small(tmp_path)
    (run_dir / "manifest.json").unlink()
    if text is not None:
        (run_dir / "manifest.json").write_text(text)

    with pytest.raises(NoData, match=says):
        check(run_dir, duckdb_engine)


def test_no_folder_is_no_data(duckdb_engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(NoData, match="there is no run folder"):
        check(tmp_path / "nothing", duckdb_engine)


def test_a_void_run_judges_nothing(duckdb_engine: Engine, tmp_path: Path) -> None:
    run_dir = small(tmp_path, "R01", status="void", status_reason="broker-2 died by itself")
    void = ("UNKNOWN", "the run is void: broker-2 died by itself")
    found = check(run_dir, duckdb_engine).verdicts
    assert {void} == {(row["verdict"], row["reason"]) for row in found}


def foreign(path: Path) -> None:
    pq.write_table(pa.table({"whatever": [1]}), path)


def newer(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata({"schema_version": "99"}), path)


def without_column(path: Path) -> None:
    pq.write_table(pq.read_table(path).drop_columns(["processed_at"]), path)


def flip_bit(path: Path, column: str) -> None:
    """Towards the end of the first part of a column."""
    with pq.ParquetFile(path) as file:
        chunk = file.metadata.row_group(0).column(HISTORY["requests"].names.index(column))
    content = bytearray(path.read_bytes())
    begins = chunk.dictionary_page_offset or chunk.data_page_offset
    content[begins + chunk.total_compressed_size - 3] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (Path.unlink, "history/requests.parquet is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "requests.parquet is damaged"),
        *(
            (partial(flip_bit, column=column), "history/requests.parquet is damaged")
            for column in ("api", "processed_at", "error_code")
        ),
        (foreign, "carries no schema version"),
        (newer, "schema version 99"),
        (without_column, "history/requests.parquet lacks the columns processed_at"),
    ],
)
def test_a_file_that_cannot_be_read_makes_the_rules_that_need_it_unknown(
    duckdb_engine: Engine, tmp_path: Path, spoil: Callable[[Path], object], reason: str
) -> None:
    run_dir = small(tmp_path, "R01")
    spoil(run_dir / "history" / "requests.parquet")
    verdict = verdicts(run_dir, duckdb_engine)["R01"]

    assert "UNKNOWN" == verdict["verdict"]
    assert reason in verdict["reason"]


def test_a_missing_file_leaves_rules_alone_that_do_not_need_it(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    run_dir = small(tmp_path, "R01", "X32a")
    (run_dir / "history" / "deliveries.parquet").unlink()
    found = verdicts(run_dir, duckdb_engine)

    assert "UNKNOWN" == found["X32a"]["verdict"]
    assert "history/deliveries.parquet is missing" == found["X32a"]["reason"]
    assert "HOLDS" == found["R01"]["verdict"]


def test_a_torn_journal_leaves_what_consumers_saw_unknown(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    history = History().member("member-1", journal_torn=True).acknowledged(0, 0, 9)
    history.delivered("member-1", 0, 0, 9, 100).rebalance(0, 1, 1).rebalance(5, 2, 1)
    history.heartbeats("member-1", 100)
    found = verdicts(history.write(tmp_path / "run", holding("X32a", "R33")), duckdb_engine)
    reason = "the journal of member-1 is torn, although its process was not killed"
    assert reason == found["X32a"]["reason"]
    assert "HOLDS" == found["R33"]["verdict"]


def test_a_rule_that_is_not_in_the_catalogue_is_unknown(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    verdict = verdicts(small(tmp_path, "R99"), duckdb_engine)["R99"]
    assert "UNKNOWN" == verdict["verdict"]
    assert "there is no rule R99" in verdict["reason"]


@pytest.mark.parametrize("query", ["SELECT nonsense FROM {requests}", "SELECT 1 DIV 0 AS measured"])
def test_a_rule_that_crashes_is_unknown_and_takes_no_other_down(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    holds = RULES["R01"]
    broken = Rule(
        id="R98", title="", statement="", source="", unit="", things="", measures="",
        examine=lambda: query,
    )  # fmt: skip
    monkeypatch.setitem(RULES, "R98", broken)
    rules = ["R98", holds.id]
    found = verdicts(small(tmp_path), engine, rules=rules)
    assert "UNKNOWN" == found["R98"]["verdict"]
    assert "could not be judged" in found["R98"]["reason"]
    assert "HOLDS" == found["R01"]["verdict"]


# Verdicts.


@pytest.mark.parametrize(
    ("oks", "verdict"),
    [
        ([], "UNKNOWN"),
        ([True, True], "HOLDS"),
        ([True, None], "UNKNOWN"),
        ([None, False, True], "VIOLATED"),
    ],
)
def test_the_worst_row_decides(oks: list[bool | None], verdict: str) -> None:
    assert verdict == judge._worst([{"ok": ok} for ok in oks])


def test_percentiles_are_numbers_that_were_measured() -> None:
    values = [float(value) for value in range(1, 201)]
    assert (100.0, 198.0) == (judge._rank(values, 0.5), judge._rank(values, 0.99))
    assert judge._rank([], 0.5) is None


def test_a_table_says_whose_member_id_it_was_though_no_request_was_logged(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    history = History().says("member_added", 0, "member-7").says("evicted", 9_000, "member-7")
    run_dir = history.write(tmp_path / "run")
    check(run_dir, duckdb_engine)
    (eviction,) = pq.read_table(run_dir / "tables" / "evictions.parquet").to_pylist()
    assert ("member-7", member_id("member-7")) == (eviction["member"], eviction["member_id"])


def test_a_table_that_cannot_be_derived_leaves_its_rules_unknown(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "evictions", lambda: "SELECT nonsense FROM {requests}")
    found = verdicts(small(tmp_path), engine, rules=["R01", "R33"])
    assert "the table evictions cannot be derived" in found["R01"]["reason"]
    assert "HOLDS" == found["R33"]["verdict"]
    assert not (tmp_path / "run" / "tables" / "evictions.parquet").exists()


# A record that is not whole.


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("host", "it is not known whether this machine kept time: the observer noted no tick"),
        ("requests", "the request log has no request of the group"),
        ("coordinator_events", "the coordinator log has no line of the group"),
    ],
)
def test_an_empty_file_is_no_silence(
    duckdb_engine: Engine, tmp_path: Path, name: str, reason: str
) -> None:
    run_dir = small(tmp_path, "R01", "X07", "R20d")
    path = run_dir / "history" / f"{name}.parquet"
    store.write(path, [HISTORY[name].empty_table()], HISTORY[name])
    found = verdicts(run_dir, duckdb_engine)

    assert reason in found["R01"]["reason"]
    unknown = {
        rule for rule in ("R01", "X07", "R20d", "E05") if found[rule]["verdict"] == "UNKNOWN"
    }
    assert "R01" in unknown
    assert not any("VIOLATED" == found[rule]["verdict"] for rule in ("X07", "R20d"))
    assert name == "host" or {"R01", "X07", "R20d", "E05"} == unknown


@pytest.mark.parametrize(
    ("damaged", "verdict", "reason"),
    [
        (True, "UNKNOWN", "history/waits.parquet is"),
        (False, "VIOLATED", "1 violates it"),
    ],
)
def test_a_time_out_of_bounds_is_in_doubt_where_it_is_not_known_who_waited(
    duckdb_engine: Engine, tmp_path: Path, damaged: bool, verdict: str, reason: str
) -> None:
    run_dir = write_evicted(tmp_path / "run", 10_200, holding("R01"))
    if damaged:
        path = run_dir / "history" / "waits.parquet"
        path.write_bytes(path.read_bytes()[:-9])
    found = verdicts(run_dir, duckdb_engine)["R01"]

    assert verdict == found["verdict"]
    assert reason in found["reason"]


def test_rules_that_read_what_a_torn_journal_tells_are_unknown_and_no_others(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    history = History().member("member-1").says("member_added", 0, "member-1").rebalance(1, 1, 1)
    history.rebalance(20, 2, 1).tick(100).acknowledged(0, 0, 9)
    history.join("member-1", 5).heartbeats("member-1", 2_000)
    history.delivered("member-1", 0, 0, 9, 100)
    for name, role in (("producer-1", "producer"), ("observer", "observer")):
        history.add(
            "journals", journal=name, role=role, frames=9, torn=name == "producer-1", cut=False,
            gaps=0, ending="closed", first_at=at(0), last_at=at(9),
        )  # fmt: skip
    found = verdicts(history.write(tmp_path / "run", holding("X32a", "R33")), duckdb_engine)

    assert "the journal of producer-1 is torn behind frame 9" == found["X32a"]["reason"]
    assert {"X32a": "UNKNOWN", "R33": "HOLDS", "E05": "UNKNOWN"} == {
        rule: found[rule]["verdict"] for rule in ("X32a", "R33", "E05")
    }
