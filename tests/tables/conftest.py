"""What the tests of derived tables share."""

from __future__ import annotations

import pytest

from harness.tables.engines.contract import Engine
from tests.histories import History
from tests.tables.table_rows import Row, Rows, derived


@pytest.fixture
def rows(first_engine: Engine) -> Rows:
    """Derives one table of a hand-written history: its rows, in the order of `as_text`."""

    def found(history: History, table: str) -> list[Row]:
        return derived(history, first_engine, table)

    return found
