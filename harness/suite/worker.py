"""What a Python worker of Spark does: judge the run whose files it is sent, and send its verdict.

The same without Spark is `check` with the engine DuckDB.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from harness.catalogue import own
from harness.check.check import check
from harness.provision.cache import translations
from harness.suite.job import NOTHING, OWN_RULES, PROBLEM, Files, table_of
from harness.tables.engines.duckdb import DuckDb


def answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The files of a verdict, one batch each, on a run whose files the batches have.

    Of nothing there are none: everything is imported that judging needs, and that is all.
    """
    files: Files = {}
    for batch in batches:
        rows = batch.to_pydict()
        files.update(zip(rows["path"], rows["content"], strict=True))
    if NOTHING in files:
        return
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    with TemporaryDirectory(prefix="judging-", dir=local) as folder:
        try:
            found = _judged(files, Path(folder))
        except Exception as error:  # noqa: BLE001 (whatever it is, the run was not judged)
            said = " ".join(f"{type(error).__name__}: {error}".split())
            found = [(PROBLEM, said.encode())]
        for each in found:
            yield from table_of([each]).to_batches()


def _judged(files: Files, folder: Path) -> Iterable[tuple[str, bytes]]:
    run_dir, into = folder / "run", folder / "judged"
    for path, content in files.items():
        (run_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (run_dir / path).write_bytes(content)
    for made in (into, folder / "scratch"):
        made.mkdir()
    rules = run_dir / OWN_RULES
    engine = DuckDb(translations(), folder / "scratch")
    with own.used(None, rules if rules.is_dir() else None), closing(engine):
        check(run_dir, engine, into=into)
    return [
        (str(path.relative_to(into)), path.read_bytes()) for path in sorted(into.rglob("*.parquet"))
    ]
