"""What tables and rules need of an engine, whichever it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

Setting = int | float | str | datetime
# In a query, `{rebalances}` is a table and `:session_ms` a setting.
_TABLE: Final = re.compile(r"\{([a-z_]\w*)\}")
_SETTING: Final = re.compile(r"(?<![:\w]):([A-Za-z]\w*)")


class Frame(Protocol):
    """Rows with named columns, computed when somebody asks for them. Spark's data frame is one."""

    @property
    def columns(self) -> list[str]:
        """The columns' names, in their order."""

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        """The rows. Times are UTC, in microseconds."""


class Engine(Protocol):
    """Runs queries, all of them in Spark SQL. Several threads may use one at once."""

    @property
    def name(self) -> str:
        """`spark` or `duckdb`."""

    def rows(self, rows: pa.Table) -> Frame:
        """A frame of these rows, held in memory."""

    def parquet(self, path: Path, schema: pa.Schema) -> Frame:
        """A frame of a file's rows; columns that the file lacks are null."""

    def spill(self, frame: Frame, folder: Path) -> Frame:
        """Write the rows to `part-*.parquet` in a new folder; a frame that reads them there."""

    def query(self, query: str, views: Mapping[str, str], settings: Mapping[str, Setting]) -> Frame:
        """A frame of the query's rows.

        `views` has the name by which the engine knows each table of the query, and `settings` the
        value of each setting. What is wrong with a query is raised here or by the frame.
        """

    def union(self, frames: Sequence[Frame]) -> Frame:
        """The rows of all frames; their columns have the same names, in whatever order."""

    def define(self, view: str, frame: Frame) -> None:
        """Have queries find the frame's rows under this name."""

    def drop(self, view: str) -> None:
        """Forget the name."""

    def sized(self, *, small: bool) -> AbstractContextManager[None]:
        """Within this context, be quick with small histories, or able to hold large ones."""


def tables_in(query: str) -> list[str]:
    """The tables that a query names, each once."""
    return list(dict.fromkeys(_TABLE.findall(query)))


def settings_in(query: str) -> list[str]:
    """The settings that a query names, each once."""
    return list(dict.fromkeys(_SETTING.findall(query)))


def fill(query: str, table: Callable[[str], str], setting: Callable[[str], str]) -> str:
    """The query with the engine's text for each of its tables and settings."""
    with_settings = _SETTING.sub(lambda found: setting(found[1]), query)
    return _TABLE.sub(lambda found: table(found[1]), with_settings)
