"""Tables of a recorded run as each engine derives them, and what decides whether these agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


def digest_of(
    run: Path, *tables: str, comparing: Callable[..., object] = derived, more: Iterable[object] = ()
) -> agreements.Digest:
    """Of all that decides what an engine makes of these tables, `more` of it among that."""
    about = read_run(run)
    files = [path.read_bytes() for path in sorted((run / "history").glob("*.parquet"))]
    rows = [sorted(about.settings.items()), *more, *files]
    return agreements.digest_of_tables(tables, about.client, rows, comparing)
