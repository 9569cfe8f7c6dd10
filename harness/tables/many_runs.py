"""Many runs as one dataset: each table is derived, and each rule asked, of all of them at once.

To plan a query takes far longer than to run it over the history of one run: 93 hand-written ones
were judged by DuckDB in 13.8 s one by one, and in 1.3 s as a dataset. `Many` has the tables of all,
with the column `run`; `One` is what a single run has of them, and is asked like the tables of a run
by itself. Several threads may ask.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import count
from threading import RLock
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from harness.history.schema import HISTORY
from harness.tables.engines.contract import Engine, Frame, Held, Setting, settings_in, tables_in
from harness.tables.engines.duckdb import _literal as duckdb_literal
from harness.tables.lift import RUN, RUNS, lifted
from harness.tables.recipes import VIEWS, recipes_of
from harness.tables.source import Run
from harness.tables.vocabulary import ERRORS, Query, expand, text_of

# What Spark calls the values of a setting; those of runs may be whole numbers and others.
_KINDS: Final = {datetime: "TIMESTAMP", float: "DOUBLE", bool: "BOOLEAN", int: "BIGINT"}
_serial = count()
_lifted = cache(lifted)


class Many:
    """The histories of runs, and what is derived from them, for queries in Spark SQL.

    `history` gives the rows of a file, by its name and the number of a run. All runs are of the
    same kind of client, those of programs have other tables; `client` may be another one.
    """

    def __init__(
        self,
        engine: Engine,
        runs: Sequence[Run],
        history: Callable[[str, int], pa.Table],
        client: str | None = None,
    ) -> None:
        self._engine = engine
        self.runs = runs
        self._history = history
        self._recipes = {**VIEWS, **recipes_of(client or runs[0].client)}
        self._views: dict[str, str] = {}
        self._prefix = f"many{next(_serial)}_"  # no name of one run's tables (Tables)
        self._settings = _settings(runs, engine.name)
        self._answers: dict[str, list[pa.Table]] = {}
        self._lock = RLock()

    def answers(self, text: str) -> list[pa.Table]:
        """The rows of a query about one run, by run; each query is asked once."""
        with self._lock:
            if text not in self._answers:
                self._answers[text] = by_run(self.rows(text), len(self.runs))
            return self._answers[text]

    def close(self) -> None:
        """Forget the views."""
        for view in self._views.values():
            self._engine.drop(view)
        self._views.clear()

    def rows(self, text: str) -> pa.Table:
        """The rows of a query about one run, of all runs, with the column `run`."""
        text = expand(text)
        text = _lifted(text, frozenset(name for name in settings_in(text) if self._varies(name)))
        views = {name: self._view(name) for name in tables_in(text)}
        return self._engine.query(text, views, {**ERRORS, **self._settings}).toArrow()

    def _varies(self, name: str) -> bool:
        if name not in self._settings and name not in ERRORS:
            raise ValueError(f"a query names the setting :{name}, which does not exist")
        return isinstance(self._settings.get(name), ByRun)

    def _view(self, name: str) -> str:
        if name not in self._views:
            view = f"{self._prefix}{name}"
            self._engine.define(view, self._engine.rows(self._source(name)))
            self._views[name] = view
        return self._views[name]

    def _source(self, name: str) -> pa.Table:
        if name == RUNS:
            return pa.table({RUN: pa.array(range(len(self.runs)), pa.int32())})
        if name not in HISTORY:
            return self.rows(text_of(self._recipes[name]))
        parts = [self._history(name, number) for number in range(len(self.runs))]
        numbered = [
            part.add_column(0, RUN, pa.repeat(pa.scalar(number, pa.int32()), part.num_rows))
            for number, part in enumerate(parts)
            if part.num_rows or not number
        ]
        return pa.concat_tables(numbered).combine_chunks()


class One:
    """What one run has of a dataset, asked like its own tables (harness.tables.base)."""

    def __init__(self, many: Many, number: int) -> None:
        self._many = many
        self._number = number
        self.run = many.runs[number]

    def answer(self, query: Query) -> Frame:
        """The rows of a query."""
        return Held(self._many.answers(text_of(query))[self._number])

    def table(self, name: str) -> Frame:
        """The rows of a table."""
        return Held(self._many.answers(f"SELECT * FROM {{{name}}}")[self._number])

    def files_behind(self, build: Callable[[], Frame]) -> tuple[Frame, frozenset[str]]:
        """What `build` returns; a run of a dataset has whole files."""
        return build(), frozenset()


@dataclass(frozen=True, repr=False)
class ByRun:
    """A setting in which runs differ: in a query it is an array, in the order of the runs."""

    text: str  # as the engine writes it

    def __repr__(self) -> str:
        return self.text


def by_run(rows: pa.Table, runs: int) -> list[pa.Table]:
    """The rows of each run, in the order in which they are, without the column `run`."""
    numbers = rows.column(RUN)
    order = pc.array_sort_indices(numbers.combine_chunks())
    ordered = rows.drop_columns([RUN]).take(order)
    counts = Counter(numbers.to_pylist())
    found, begin = [], 0
    for number in range(runs):
        found.append(ordered.slice(begin, counts[number]))
        begin += counts[number]
    return found


def _settings(runs: Sequence[Run], engine: str) -> Mapping[str, Any]:
    """Each setting of any of the runs: its value, or an array of those of all of them."""
    found: dict[str, Any] = {}
    for name in {name: None for run in runs for name in run.settings}:
        values = [run.settings.get(name) for run in runs]
        same = len(set(map(repr, values))) == 1
        found[name] = values[0] if same else ByRun(_array(values, engine))
    return found


def _array(values: Sequence[Setting | None], engine: str) -> str:
    """The values as an array; for Spark a text of it, since thousands of literals take minutes."""
    if engine != "spark":
        return f"[{', '.join('NULL' if v is None else duckdb_literal(v) for v in values)}]"
    from harness.tables.engines.spark import _literal

    kinds = {type(value) for value in values if value is not None}
    kind = next(each for each in (*_KINDS, str) if each in kinds)
    listed = json.dumps([v.isoformat() if isinstance(v, datetime) else v for v in values])
    return f"from_json({_literal(listed)}, 'ARRAY<{_KINDS.get(kind, 'STRING')}>')"
