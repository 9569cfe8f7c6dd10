"""Datasets of verdicts as many nights leave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.history import store
from harness.trend import dataset

FIRST = datetime(2026, 10, 1, 1, 30, tzinfo=UTC)


def write_series(
    root: Path, rule: str, values: Sequence[float | None], *, shift: int = 0, **more: Any
) -> None:
    """A night per value, each with one verdict of this rule; `more` are its other columns."""
    for row in _rows(rule, values, shift, 1, more):
        folder = root / f"experiment={row.pop('experiment')}" / f"date={row['started_at']:%Y-%m-%d}"
        path = folder / f"run={row.pop('run')}" / f"{rule}.parquet"
        columns = {name: row.get(name) for name in dataset.SCHEMA.names}
        store.write(path, [pa.Table.from_pylist([columns], dataset.SCHEMA)], dataset.SCHEMA)


def write_quickly(
    root: Path,
    rule: str,
    values: Sequence[float | None],
    *,
    shift: int = 0,
    a_day: int = 1,
    **more: Any,
) -> None:
    """The same as one file, with the columns that a partition's name has otherwise.

    `a_day` runs are of one day, ten minutes apart.
    """
    schema = pa.schema([("experiment", pa.string()), ("run", pa.string()), *dataset.SCHEMA])
    rows = [
        {name: row.get(name) for name in schema.names}
        for row in _rows(rule, values, shift, a_day, more)
    ]
    path = root / f"{len(list(root.glob('*')))}.parquet"
    store.write(path, [pa.Table.from_pylist(rows, schema)], schema)


def _rows(
    rule: str, values: Sequence[float | None], shift: int, a_day: int, more: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(values):
        day, place = divmod(number, a_day)
        at = FIRST + timedelta(days=day + shift, minutes=10 * place)
        yield {
            "experiment": "consumer-crash",
            "run": f"{at:%Y%m%dT%H%M%S}-{number:04x}",
            "started_at": at,
            "kafka": "4.3.1",
            "backend": "embedded",
            "client": "librdkafka",
            "protocol": "eager",
            "rule": rule,
            "verdict": "HOLDS",
            "expected": "HOLDS",
            "unit": "ms",
            **dict.fromkeys(("measured_min", "measured_p50", "measured_max"), value),
            **more,
        }
