"""Rows of a table that grows with a run: the same whether they fit into memory or not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from harness.history import store
from harness.history.column_types import AT, LONG, schema_of

SCHEMA = schema_of([("at", AT), ("number", LONG)])


def rows(count: int, keys: int) -> list[dict[str, Any]]:
    """Rows of few different times, so that many are of one, and some of none."""
    randomness = random.Random(count)
    times = [None, *range(1_000, 1_000 + keys)]
    return [{"at": randomness.choice(times), "number": number} for number in range(count)]


def held(folder: Path, given: list[dict[str, Any]], order: str | None) -> list[dict[str, Any]]:
    packed = store.Packed(SCHEMA, folder, order)
    half = len(given) // 2
    packed.extend(given[:half])
    packed.extend(iter(given[half:]))
    return list(pa.concat_tables(packed.tables()).to_pylist())


@pytest.mark.parametrize("count", [0, 1, 7, 8, 100, 1_001])
@pytest.mark.parametrize("keys", [1, 3, 500])
@pytest.mark.parametrize("order", [None, "at"])
def test_rows_in_files_are_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, keys: int, order: str | None
) -> None:
    given = rows(count, keys)
    in_memory = held(tmp_path / "none", given, order)
    monkeypatch.setattr(store, "PIECE", 4)
    monkeypatch.setattr(store, "MOST_ROWS", 8)

    assert in_memory == held(tmp_path / "files", given, order)
    assert not (tmp_path / "none").exists()
    assert (count >= 8) == (tmp_path / "files").exists()
    due = sorted(given, key=lambda row: (row["at"] is None, row["at"] or 0)) if order else given
    assert [row["number"] for row in due] == [row["number"] for row in in_memory]


def test_no_table_of_many_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PIECE", 4)
    monkeypatch.setattr(store, "MOST_ROWS", 8)
    packed = store.Packed(SCHEMA, tmp_path / "files", "at")
    packed.extend(rows(1_000, 100_000))

    assert max(map(len, packed.tables())) <= 4 * len(list((tmp_path / "files").iterdir()))
