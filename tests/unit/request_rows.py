"""Rows of one table that a broker's request log has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.history import request_log


def read_rows(table: str, log: Path, topics: Mapping[str, str] | None = None) -> list[Any]:
    """Its `requests`, `fetches` or `writes`, as broker 1 logged them."""
    return [row for each, row in request_log.read_log(log, 1, topics or {}) if each == table]
