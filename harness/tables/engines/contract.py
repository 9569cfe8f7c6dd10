"""What tables and rules need of an engine, whichever it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

Setting = int | float | str | datetime
# In a query, `{rebalances}` is a table and `:session_ms` a setting.
_WORD: Final = re.compile(r"\{(?P<table>[a-z_]\w*)\}|(?<![:\w]):(?P<setting>[A-Za-z]\w*)")


class Frame(Protocol):
    """Rows with named columns, computed when they are asked for. Spark's data frame is one."""

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        """The rows. Times are UTC, in microseconds."""


class Held:
    """Rows in memory, as a frame."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def toArrow(self) -> pa.Table:  # noqa: N802
        """The rows."""
        return self._rows


class Files(Protocol):
    """Tables that are larger than memory."""

    def parquet(self, path: Path, schema: pa.Schema) -> Frame:
        """A frame of a file's rows; columns that the file lacks are null."""

    def spill(self, frame: Frame, folder: Path) -> Frame:
        """Write the rows to `part-*.parquet` in a new folder; a frame that reads them there."""


class Engine(Protocol):
    """Runs queries, all of them in Spark SQL. Several threads may use one at once."""

    @property
    def name(self) -> str:
        """`spark` or `duckdb`."""

    @property
    def files(self) -> Files | None:
        """What reads and writes large tables as files; none where all rows are held in memory."""

    def rows(self, rows: pa.Table) -> Frame:
        """A frame of these rows, held in memory."""

    def query(self, query: str, views: Mapping[str, str], settings: Mapping[str, Setting]) -> Frame:
        """A frame of the query's rows.

        `views` has the name by which the engine knows each table of the query, and `settings` the
        value of each setting. What is wrong with a query is raised here or by the frame.
        """

    def define(self, view: str, frame: Frame) -> None:
        """Have queries find the frame's rows under this name."""

    def drop(self, view: str) -> None:
        """Forget the name."""


def tables_in(query: str) -> list[str]:
    """The tables that a query names, each once."""
    return _names(query, "table")


def settings_in(query: str) -> list[str]:
    """The settings that a query names, each once."""
    return _names(query, "setting")


def _names(query: str, kind: str) -> list[str]:
    return list(dict.fromkeys(found[kind] for found in _WORD.finditer(query) if found[kind]))


def fill(query: str, table: Callable[[str], str], setting: Callable[[str], str]) -> str:
    """The query with the engine's text for each of its tables and settings."""
    return _WORD.sub(
        lambda found: table(found["table"]) if found["table"] else setting(found["setting"]), query
    )
