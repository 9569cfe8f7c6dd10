"""No table about the group under test has a row, or a value, of another group's.

Method: all that brokers logged of the group in a recorded run is there once more, 7 ms later, as
that of a group whose members have the same names and other ids. Every derived table is as before.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from harness.history.schema import HISTORY
from harness.tables.engines.base import Engine
from harness.tables.recipes import recipes_of
from harness.tables.source import load, read_run
from tests.agreements import Queries
from tests.in_memory import tables_of_run
from tests.recorded.derived import queries_of
from tests.recorded.keep import PROGRAMS, RUNS

KEPT: Final = (
    RUNS / "bad-day.java.cooperative.4.3.1",
    RUNS / "coordinator-isolated.librdkafka.consumer.4.3.1",
    RUNS / "static-day.librdkafka.eager.4.3.1",
    RUNS / "static-epochs.librdkafka.consumer.4.3.1",
    PROGRAMS / "rough-day.kafka-python.4.3.1",
)
_LATER: Final = timedelta(milliseconds=7)
# Tables about whatever the brokers' logs have.
_OF_ALL: Final = frozenset({"record_of_logs"})


@pytest.mark.long(40)
@pytest.mark.parametrize("run", KEPT, ids=lambda run: run.name)
def test_another_group_changes_no_table(
    run: Path, engines_for: Callable[[Callable[[], Queries]], list[Engine]]
) -> None:
    for engine in engines_for(lambda: _queries_of(run)):
        alone, beside = _tables(run, engine, beside=False), _tables(run, engine, beside=True)
        assert [] == [name for name in alone if alone[name] != beside[name]]
        assert any(alone.values())


def _queries_of(run: Path) -> Queries:
    """What derives its tables."""
    names = recipes_of(read_run(run).client)
    return queries_of(run, *names, comparing=_tables)


def _tables(run: Path, engine: Engine, *, beside: bool) -> dict[str, list[str]]:
    about, sources = read_run(run), load(run, engine, 40_000)
    if beside:
        for file in ("requests", "coordinator_events"):
            own = sources.frames[file].toArrow().to_pylist()
            more = [_another_groups(row) for row in own if row["group"] == about.settings["group"]]
            assert more
            sources.frames[file] = engine.rows(pa.Table.from_pylist(own + more, HISTORY[file]))
    tables = tables_of_run(engine, about, sources)
    try:
        return {
            name: sorted(map(repr, tables.table(name).toArrow().to_pylist()))
            for name in recipes_of(about.client)
            if name not in _OF_ALL
        }
    finally:
        tables.close()


def _another_groups(row: dict[str, Any]) -> dict[str, Any]:
    changed = {
        name: value + _LATER for name, value in row.items() if name == "at" or name.endswith("_at")
        if value is not None
    }  # fmt: skip
    named = None if row["member_id"] is None else row["member_id"][::-1]
    return {**row, **changed, "group": "payments", "member_id": named}
