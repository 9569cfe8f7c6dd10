"""Every table that is derived of a recorded run is as before: each row and each value.

Method: all tables of some kept runs are derived, and compared with what they were when they were
pinned: of each the number of rows, and a digest. A change that is meant is
looked at by `make diff-recorded`, and kept by `make pin`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from harness.tables.engines.contract import Engine
from harness.tables.many_runs import One
from harness.tables.recipes import recipes_of
from harness.tables.source import read_run
from tests.recorded import digests
from tests.recorded.keep import PROGRAMS, RUNS
from tests.recorded.recorded_tables import Row, derived, rows_of

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

# Together they have rows of every table that real runs give any of.
PINNED: Final = (
    *(
        RUNS / name
        for name in (
            "acl-revoked.librdkafka.eager.4.4.0",
            "bad-day.java.cooperative.4.3.1",
            "callback-stall.librdkafka.eager.4.3.1",
            "consumer-crash.librdkafka.eager.3.9.2",
            "consumer-leave.java.consumer.4.3.1",
            "coordinator-isolated.librdkafka.consumer.4.3.1",
            "coordinator-silent.librdkafka.eager.4.3.1",
            "group-states.librdkafka.eager.4.3.1",
            "member-epochs.librdkafka.consumer.4.3.1",
            "offset-apis.librdkafka.eager.4.3.1",
            "offsets-unwritable.librdkafka.eager.4.3.1",
            "protocol-upgrade.librdkafka.eager.4.3.1",
            "revocation-stalled.librdkafka.consumer.4.3.1",
            "saboteur-members.librdkafka.eager.4.3.1",
            "static-day.librdkafka.eager.4.3.1",
            "static-duplicate.librdkafka.eager.4.3.1",
            "transactions.librdkafka.eager.4.3.1",
        )
    ),
    *(PROGRAMS / name for name in ("everyday.kafkajs.4.3.1", "rough-day.kafka-python.4.3.1")),
)
_UUID: Final = re.compile(r"([0-9a-f]{4})[0-9a-f]{4}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


@pytest.mark.parametrize("run", PINNED, ids=lambda run: run.name)
def test_the_tables_of_a_recorded_run_are_as_before(
    run: Path,
    duckdb_engine: Engine,
    kept: Callable[[str], One],
    snapshot: SnapshotAssertion,
) -> None:
    names, ours = names_of(run), run.parent == RUNS
    tables = rows_of(kept(run.name), *names) if ours else derived(run, duckdb_engine, *names)

    counts = [f"{name} {len(lines)} {digests.digest(lines)}" for name, lines in shown(run, tables)]
    assert "\n".join(digests.paragraphs({"TABLES": counts})) == snapshot, digests.differ(run.name)


def names_of(run: Path) -> list[str]:
    """The tables that are derived of a run."""
    return sorted(recipes_of(read_run(run).client))


def shown(run: Path, tables: dict[str, list[Row]]) -> list[tuple[str, list[str]]]:
    """Every table that has rows, by name, a line each: times in ms after the run's start."""
    start = cast("datetime", read_run(run).settings["started_at"])
    return [
        (name, sorted(_line(row, start) for row in rows)) for name, rows in tables.items() if rows
    ]


def _line(row: Row, start: datetime) -> str:
    said = (f"{name} {_value(value, start)}" for name, value in row.items() if value is not None)
    return ", ".join(said)


def _value(value: Any, start: datetime) -> str:
    match value:
        case datetime():
            return f"{(value - start) / timedelta(milliseconds=1):.3f}"
        case float():
            return f"{value:.3f}"
        case list():
            return f"[{'; '.join(_value(each, start) for each in value)}]"
        case dict():
            return f"({_line(value, start)})"
        case _:
            return _UUID.sub(r"\1", str(value))
