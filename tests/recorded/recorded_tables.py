"""Tables of recorded runs as an engine derives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.tables.base import Tables
from harness.tables.engines.contract import Engine
from harness.tables.many_runs import Many, One
from harness.tables.source import Run, load, read_run
from tests.in_memory import tables_of_run

Row = dict[str, Any]


def derived(run: Path, engine: Engine, *tables: str) -> dict[str, list[Row]]:
    """The rows of these tables, in an order that is the same for both engines."""
    sources = load(run, engine)
    found = tables_of_run(engine, read_run(run), sources)
    with closing(found):
        return rows_of(found, *tables)


def rows_of(run: Tables | One, *tables: str) -> dict[str, list[Row]]:
    """The same of the tables of a run."""
    return {name: sorted(run.table(name).toArrow().to_pylist(), key=as_text) for name in tables}


def as_text(row: Row) -> str:
    """A row as one text, in whatever order its columns are: there engines may differ."""
    return repr(sorted(row.items()))


def many_kept(
    runs: Sequence[Path],
    engine: Engine,
    changed: Callable[[str, Run, pa.Table], pa.Table] = lambda name, run, rows: rows,
) -> Many:
    """These runs as one dataset; `changed` gives other rows of a file of a run, by its name."""
    frames = [load(run, engine).frames for run in runs]
    about = [read_run(run) for run in runs]

    def history(name: str, number: int) -> pa.Table:
        return changed(name, about[number], frames[number][name].toArrow())

    return Many(engine, about, history)
