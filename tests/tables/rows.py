"""The rows of a derived table, of a hand-written history."""

from __future__ import annotations

from typing import Any

from harness.tables.engines.base import Engine
from tests.histories import History, tables_of

Row = dict[str, Any]


def rows(history: History, engine: Engine, table: str) -> list[Row]:
    """All of them, as the engine gives them."""
    tables = tables_of(history, engine)
    try:
        found: list[Row] = tables.table(table).toArrow().to_pylist()
    finally:
        tables.close()
    return found


def by_time(found: list[Row]) -> list[Row]:
    """In the order of `at`."""
    return sorted(found, key=lambda row: row["at"])
