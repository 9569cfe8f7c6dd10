"""The rows of a derived table, of a hand-written history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.tables.engines.contract import Engine
from tests.histories import History, tables_of
from tests.recorded.recorded_tables import as_text

Row = dict[str, Any]
Rows = Callable[[History, str], list[Row]]  # the fixture `rows`


def derived(history: History, engine: Engine, table: str) -> list[Row]:
    """All rows of a table, in the order of `as_text`."""
    tables = tables_of(history, engine)
    try:
        return sorted(tables.table(table).toArrow().to_pylist(), key=as_text)
    finally:
        tables.close()


def in_order(found: list[Row], *columns: str) -> list[Row]:
    """In the order of these columns, none of which is null."""
    return sorted(found, key=lambda row: [row[each] for each in columns])
