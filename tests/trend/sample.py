"""Datasets of verdicts as many nights leave them."""

from __future__ import annotations

from collections.abc import Sequence
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
    about = {"experiment": "consumer-crash", **more}
    experiment = about.pop("experiment")
    for number, value in enumerate(values):
        at = FIRST + timedelta(days=number + shift)
        row = {
            "started_at": at,
            "kafka": "4.3.1",
            "backend": "embedded",
            "client": "librdkafka",
            "protocol": "eager",
            "rule": rule,
            "verdict": "HOLDS",
            "expected": "HOLDS",
            "unit": "ms",
            "measured_p50": value,
            **about,
        }
        folder = root / f"experiment={experiment}" / f"date={at:%Y-%m-%d}"
        path = folder / f"run={at:%Y%m%dT%H%M%S}-{number:04x}" / f"{rule}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {name: row.get(name) for name in dataset.SCHEMA.names}
        store.write(path, [pa.Table.from_pylist([columns], dataset.SCHEMA)], dataset.SCHEMA)
