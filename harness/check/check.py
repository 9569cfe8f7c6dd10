"""`check`: one run's folder in; tables, judgements and verdicts out, in the same folder.

1. read the manifest; verify every history file
2. derive the tables, each written and read back, so that no query is computed twice
3. judge the declared rules and those of every run in one Spark job
4. write judgements, violations and verdicts

Nothing but the run's folder is read, so a run can be judged again at any time, by newer rules too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from harness.check import judge
from harness.history import store
from harness.history.schema import TABLES, VERDICTS, VERDICTS_FILE
from harness.tables.base import Tables
from harness.tables.recipes import RECIPES, WRITTEN
from harness.tables.source import Run, Sources, Unreadable, in_memory, load, read_run

# Up to so many rows in the largest file, a history is held in memory and worked on by one task,
# with nothing compiled: that takes half the time for a run of some minutes, and as long as files,
# shuffles and compiled code for one of about 50,000 rows (10^7 records).
SMALL_ROWS: Final = 40_000
SMALL_SETTINGS: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# Derived tables that grow with the history; the others never pass a few thousand rows a day.
_GROWING: Final = frozenset(
    {
        "signs_of_life",
        "silences",
        "progress",
        "gaps",
        "heartbeats",
        "commits_judged",
        "redeliveries",
    }
)


def check(run_dir: Path, spark: SparkSession, small_rows: int = SMALL_ROWS) -> list[dict[str, Any]]:
    """Judge one run; the rows of its `verdicts.parquet`.

    Raises NoData where there is no run or nothing recorded. Everything else that is wrong with a
    run becomes a verdict UNKNOWN with the reason.
    """
    run = read_run(run_dir)
    sources = load(run_dir, spark, small_rows)
    small = max(sources.rows.values(), default=0) <= small_rows
    with _settings(spark, SMALL_SETTINGS if small else {}), _scratch(run_dir) as scratch:
        shelf = _Shelf(run_dir, scratch, spark, small)
        tables = Tables(spark, run, sources, RECIPES, shelf.store)
        try:
            shelf.fill(tables)
            asked = judge.asked_of(tables)
            names = [each.rule for each in asked]
            outcome = judge.examine(tables, names, _torn(run_dir, sources))
            if not run.complete:
                _doubt(run, outcome, names)
            verdicts = [
                judge.verdict_of(each, outcome, tables)
                for each in asked
                if not judge.said_nothing(each, outcome)
            ]
        finally:
            tables.close()
    _write_results(run_dir, outcome, verdicts, shelf.written)
    return verdicts


@dataclass
class _Shelf:
    """Where derived tables are put, and read back from."""

    run_dir: Path
    scratch: Path
    spark: SparkSession
    small: bool
    written: set[str] = field(default_factory=set)

    def fill(self, tables: Tables) -> None:
        """Derive and write every table that can be, two at a time."""

        def derive(name: str) -> None:
            with suppress(Unreadable):  # the verdicts of the rules that need it say why
                tables.table(name)

        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="derive") as workers:
            list(workers.map(derive, WRITTEN))

    def store(self, name: str, frame: DataFrame) -> DataFrame:
        if self.small or name not in _GROWING:
            return self._store_in_memory(name, frame)
        return self._store_by_spark(name, frame)

    def _path(self, name: str) -> Path:
        return self.run_dir / "tables" / f"{name}.parquet"

    def _store_in_memory(self, name: str, frame: DataFrame) -> DataFrame:
        rows = frame.toArrow()
        if name in WRITTEN:
            rows = rows.select(TABLES[name].names).cast(TABLES[name])
            store.write(self._path(name), [rows], TABLES[name])
            self.written.add(name)
        return in_memory(self.spark, rows)

    def _store_by_spark(self, name: str, frame: DataFrame) -> DataFrame:
        """By way of a folder of Spark's own; what is to last goes into one file, part by part."""
        folder = self.scratch / name
        frame.write.parquet(str(folder))
        if name in WRITTEN:
            parts = sorted(folder.glob("part-*.parquet"))
            batches = pads.dataset([str(part) for part in parts]).to_batches()
            pieces = (pa.Table.from_batches([batch]) for batch in batches)
            store.write(self._path(name), pieces, TABLES[name])
            self.written.add(name)
        return self.spark.read.schema(frame.schema).parquet(str(folder))


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            spark.conf.set(key, str(old))


@contextmanager
def _scratch(run_dir: Path) -> Iterator[Path]:
    folder = run_dir / "tables" / ".scratch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _torn(run_dir: Path, sources: Sources) -> list[str]:
    """Members whose journal is cut off although their process was not killed."""
    if "members" in sources.unreadable:
        return []
    columns = ["member", "end", "journal_torn"]
    rows = pq.read_table(run_dir / "history" / "members.parquet", columns=columns).to_pylist()
    return [row["member"] for row in rows if row["journal_torn"] and row["end"] != "killed"]


def _doubt(run: Run, outcome: judge.Outcome, rules: Iterable[str]) -> None:
    """Nothing is judged by a run that did not go through all its phases."""
    reason = f"the run is {run.status or 'without a status'}"
    if run.status_reason:
        reason += f": {run.status_reason}"
    for rule in rules:
        outcome.unknown[rule] = reason


def _write_results(
    run_dir: Path, outcome: judge.Outcome, verdicts: list[dict[str, Any]], written: set[str]
) -> None:
    judgements = judge.to_table(outcome)
    store.write(run_dir / "tables" / "judgements.parquet", [judgements], judge.JUDGEMENTS)
    folder = run_dir / "violations"
    kept = {f"{name}.parquet" for name in (*written, "judgements")}
    stale = [path for path in (run_dir / "tables").glob("*.parquet") if path.name not in kept]
    stale += folder.glob("*.parquet")
    for path in stale:
        path.unlink()
    fine = pads.field("ok") == pa.scalar(True)
    bad = judgements.filter(~fine | pads.field("ok").is_null())
    for verdict in verdicts:
        if verdict["violations"] or verdict["unknowns"]:
            rows = bad.filter(pads.field("rule") == verdict["rule"])
            store.write(folder / f"{verdict['rule']}.parquet", [rows], judge.JUDGEMENTS)
    results = pa.Table.from_pylist(verdicts, schema=VERDICTS)
    store.write(run_dir / VERDICTS_FILE, [results], VERDICTS)


def as_expected(verdicts: Iterable[dict[str, Any]]) -> bool:
    """Whether every verdict is the one that the experiment expects; UNKNOWN is one as well."""
    rows = list(verdicts)
    return bool(rows) and all(row["verdict"] == row["expected"] for row in rows)


__all__ = ["as_expected", "check"]
