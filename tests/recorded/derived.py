"""Tables of a recorded run as each engine derives them, and by which queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.tables.engines.base import Engine
from harness.tables.source import load, read_run
from tests import agreements
from tests.in_memory import tables_of_run

Row = dict[str, Any]


def derived(run: Path, engine: Engine, *tables: str) -> dict[str, list[Row]]:
    """The rows of these tables, in an order that is the same for both engines."""
    sources = load(run, engine, 40_000)
    found = tables_of_run(engine, read_run(run), sources)
    try:
        return {
            name: sorted(found.table(name).toArrow().to_pylist(), key=as_text) for name in tables
        }
    finally:
        found.close()


def as_text(row: Row) -> str:
    """A row as one text, in whatever order its columns are: there engines may differ."""
    return repr(sorted(row.items()))


def queries_of(
    run: Path, *tables: str, comparing: Callable[..., object] = derived
) -> agreements.Queries:
    """What derives these tables of a run."""
    return agreements.queries_of_tables(tables, read_run(run).client, comparing)
