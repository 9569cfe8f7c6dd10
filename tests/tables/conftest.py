"""What the tests of derived tables share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.tables.engines.base import Engine
from tests.agreements import Queries
from tests.histories import History
from tests.tables.rows import Row, Rows, derived, queries_of


@pytest.fixture
def rows(engines_for: Callable[[Callable[[], Queries]], list[Engine]]) -> Rows:
    """Derives one table of a hand-written history: its rows, of which both engines give the same.

    They are in the order of `as_text`.
    """

    def by_all(history: History, table: str) -> list[Row]:
        engines = engines_for(lambda: queries_of(history, table))
        found = [derived(history, engine, table) for engine in engines]
        assert found[:1] * len(found) == found
        return found[0]

    return by_all
