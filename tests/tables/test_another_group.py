"""No table about the group under test has a row, or a value, of another group's.

Method: all that brokers logged of the group in a recorded run is there once more, 7 ms later, as
that of a group whose members have the same names and other ids. Every derived table is as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from harness.tables.engines.contract import Engine
from harness.tables.lift import RUN
from harness.tables.many_runs import Many
from harness.tables.recipes import recipes_of
from harness.tables.source import Run
from tests.recorded.keep import PROGRAMS, RUNS
from tests.recorded.recorded_tables import as_text, many_kept

pytestmark = pytest.mark.long(6)

OURS: Final = (
    RUNS / "bad-day.java.cooperative.4.3.1",
    RUNS / "coordinator-isolated.librdkafka.consumer.4.3.1",
    RUNS / "static-day.librdkafka.eager.4.3.1",
    RUNS / "static-epochs.librdkafka.consumer.4.3.1",
)
OF_PROGRAMS: Final = (PROGRAMS / "rough-day.kafka-python.4.3.1",)
_LATER: Final = timedelta(milliseconds=7)
# Tables about whatever the brokers' logs have.
_OF_ALL: Final = frozenset({"record_of_logs"})


@pytest.mark.parametrize("kept", [OURS, OF_PROGRAMS], ids=["ours", "of programs"])
def test_another_group_changes_no_table(kept: Sequence[Path], duckdb_engine: Engine) -> None:
    alone, beside = many_kept(kept, duckdb_engine), many_kept(kept, duckdb_engine, _with_another)

    with closing(alone), closing(beside):
        names = recipes_of(alone.runs[0].client).keys() - _OF_ALL
        rows = {name: [_rows(many, name) for many in (alone, beside)] for name in sorted(names)}
    assert [] == [name for name, (before, after) in rows.items() if _lines(before) != _lines(after)]
    assert set(range(len(kept))) == {row[RUN] for before, _ in rows.values() for row in before}


def _with_another(name: str, run: Run, rows: pa.Table) -> pa.Table:
    """The rows of a file, with those of the other group."""
    if name not in ("requests", "coordinator_events"):
        return rows
    own = rows.to_pylist()
    more = [_another_groups(row) for row in own if row["group"] == run.settings["group"]]
    assert more
    return pa.Table.from_pylist(own + more, rows.schema)


def _rows(many: Many, table: str) -> list[dict[str, Any]]:
    return many.rows(f"SELECT * FROM {{{table}}}").to_pylist()


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(as_text, rows))


def _another_groups(row: dict[str, Any]) -> dict[str, Any]:
    changed = {
        name: value + _LATER for name, value in row.items() if name == "at" or name.endswith("_at")
        if value is not None
    }  # fmt: skip
    named = None if row["member_id"] is None else row["member_id"][::-1]
    return {**row, **changed, "group": "payments", "member_id": named}
