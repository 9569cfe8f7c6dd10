"""`check`: one run's folder in; tables, judgements and verdicts out, in the same folder.

1. read the manifest; verify every history file
2. derive the tables, each written and read back, so that no query is computed twice
3. judge the declared rules and the evidence rules in one Spark job
4. write judgements, violations and verdicts

Nothing but the run's folder is read, so a run can be judged again at any time, by newer rules too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from harness.check import judge
from harness.check.history import Run, Sources, Unreadable, load, read_run
from harness.check.tables import RECIPES, WRITTEN, Tables
from harness.history.schema import SCHEMA_VERSION, TABLES, VERDICTS

# Named by many queries and small beside the history.
_KEPT: Final = frozenset({"memberships", "group_steps", "generations", "tenures", "assignments"})
# From so many rows of history on, tables are written by Spark and never pass through its driver.
_LARGE_ROWS: Final = 300_000


def check(run_dir: Path, spark: SparkSession) -> list[dict[str, Any]]:
    """Judge one run; the rows of its `verdicts.parquet`.

    Raises NoData where there is no run or nothing recorded. Everything else that is wrong with a
    run becomes a verdict UNKNOWN with the reason.
    """
    run = read_run(run_dir)
    sources = load(run_dir, spark)
    tables = Tables(spark, run, sources, RECIPES, keep=_KEPT)
    try:
        written = _derive(run_dir, tables, large=max(sources.rows.values(), default=0) > _LARGE_ROWS)
        asked = judge.asked_of(tables)
        outcome = judge.examine(tables, [each.rule for each in asked], _torn(run_dir, sources))
        if not run.complete:
            _doubt(run, outcome, [each.rule for each in asked])
        verdicts = [judge.verdict_of(each, outcome, tables) for each in asked]
        _write_results(run_dir, outcome, verdicts, written)
    finally:
        tables.close()
    return verdicts


def _derive(run_dir: Path, tables: Tables, *, large: bool) -> set[str]:
    """Write every table that can be derived; the names of those."""
    written = set()
    for name in WRITTEN:
        path = run_dir / "tables" / f"{name}.parquet"
        try:
            frame = tables.table(name)
        except Unreadable:
            continue  # the verdicts of the rules that need it say why
        (_write_large if large else _write_small)(path, frame, TABLES[name])
        schema = cast(Any, from_arrow_schema)(TABLES[name])
        tables.replace(name, tables.spark.read.schema(schema).parquet(str(path)))
        written.add(name)
    return written


def _write_small(path: Path, frame: DataFrame, schema: pa.Schema) -> None:
    write_parquet(path, [frame.toArrow()], schema)


def _write_large(path: Path, frame: DataFrame, schema: pa.Schema) -> None:
    """By way of a folder of Spark's own, then file by file into one, batch by batch."""
    folder = path.with_suffix(".spark")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        frame.write.mode("overwrite").parquet(str(folder))
        parts = sorted(folder.glob("part-*.parquet"))
        batches = pads.dataset([str(part) for part in parts]).to_batches() if parts else ()
        write_parquet(path, (pa.Table.from_batches([batch]) for batch in batches), schema)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_parquet(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write one file whole or not at all: under another name first, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    marked = schema.with_metadata({b"schema_version": str(SCHEMA_VERSION).encode()})
    with pq.ParquetWriter(
        temporary, marked, compression="zstd", write_page_checksum=True
    ) as writer:
        for table in tables:
            writer.write_table(table.select(marked.names).cast(marked))
    temporary.replace(path)


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
    write_parquet(run_dir / "tables" / "judgements.parquet", [judgements], judge.JUDGEMENTS)
    folder = run_dir / "violations"
    kept = {f"{name}.parquet" for name in (*written, "judgements")}
    stale = [path for path in (run_dir / "tables").glob("*.parquet") if path.name not in kept]
    stale += folder.glob("*.parquet")
    for path in stale:
        path.unlink()
    bad = judgements.filter(pc.invert(pc.fill_null(judgements["ok"], False)))
    for verdict in verdicts:
        if verdict["violations"] or verdict["unknowns"]:
            rows = bad.filter(pc.equal(bad["rule"], verdict["rule"]))
            write_parquet(folder / f"{verdict['rule']}.parquet", [rows], judge.JUDGEMENTS)
    results = pa.Table.from_pylist(verdicts, schema=VERDICTS)
    write_parquet(run_dir / "verdicts.parquet", [results], VERDICTS)


def as_expected(verdicts: Iterable[dict[str, Any]]) -> bool:
    """Whether every verdict is the one that the experiment expects; UNKNOWN is one as well."""
    rows = list(verdicts)
    return bool(rows) and all(row["verdict"] == row["expected"] for row in rows)


__all__ = ["as_expected", "check", "write_parquet"]
