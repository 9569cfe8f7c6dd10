"""DuckDB that computes no query twice over the same rows."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from harness.tables.engines.contract import Frame, Setting
from harness.tables.engines.duckdb import DuckDb


class Remembering(DuckDb):
    """Remembers every query's result by its text and by the rows that it reads.

    Most histories differ from others in one file, so half of the queries that tests ask for were
    computed before. A change of one rule leaves the tables that it reads as they were, for each
    history: the same tests run with another change cost little more than the query that was
    changed.

    It forgets what was not asked for longest, once it has `most` results (null: never). All of them
    are more than a gigabyte, and most are asked for again soon or never.
    """

    most: int | None = 2_000

    def __init__(self, translations: Path | None = None) -> None:
        super().__init__(translations)
        self._results: OrderedDict[str, pa.Table] = OrderedDict()
        self._views: dict[str, _Known] = {}
        self._registered: set[str] = set()

    def rows(self, rows: pa.Table) -> Frame:
        """A frame of these rows, known by what they are."""
        return _Known(_digest(rows), lambda: rows)

    def query(self, query: str, views: Mapping[str, str], settings: Mapping[str, Setting]) -> Frame:
        """A frame that is known by the query's text with the rows in place of the views."""
        text = self.text(query, views, settings)
        known = {name: self._views[view].key for name, view in views.items()}
        key = self.text(query, known, settings)

        def compute() -> pa.Table:
            with self._lock:
                if key not in self._results:
                    for view in views.values():
                        self._register(view)
                    self._results[key] = self.run(text)
                    if self.most is not None and len(self._results) > self.most:
                        self._results.popitem(last=False)
                self._results.move_to_end(key)
                return self._results[key]

        return _Known(hashlib.blake2b(key.encode(), digest_size=16).hexdigest(), compute)

    def define(self, view: str, frame: Frame) -> None:
        """Its rows are looked at only when a query has to be computed that reads them."""
        assert isinstance(frame, _Known)
        self._views[view] = frame

    def known(self, view: str) -> Frame:
        """What was defined under this name."""
        return self._views[view]

    def drop(self, view: str) -> None:
        """Forget the view, and no result."""
        del self._views[view]
        if view in self._registered:
            self._registered.remove(view)
            super().drop(view)

    def _register(self, view: str) -> None:
        with self._lock:
            if view not in self._registered:
                super().define(view, self._views[view])
                self._registered.add(view)


class _Known:
    """Rows that need not be computed to know whether they are the same as others."""

    def __init__(self, key: str, compute: Callable[[], pa.Table]) -> None:
        self.key = key
        self._compute = compute

    @property
    def columns(self) -> list[str]:
        return list(self.toArrow().column_names)

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        return self._rows

    @cached_property
    def _rows(self) -> pa.Table:
        return self._compute()


def _digest(rows: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return hashlib.blake2b(sink.getvalue(), digest_size=16).hexdigest()
