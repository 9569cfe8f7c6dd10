"""Tables: everything a query can name, derived when first named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from threading import Lock, local

from harness.tables.engines.contract import Engine, Frame, Setting, settings_in, tables_in
from harness.tables.source import Run, Sources, Unreadable
from harness.tables.vocabulary import ERRORS, Query, expand, text_of

Store = Callable[[str, Frame], Frame]
_serial = count()


class Tables:
    """The history of one run and what is derived from it, for queries in Spark SQL.

    In a query, `{rebalances}` is a table (of the history, or derived by a recipe the first time
    it is named) and `:session_ms` a setting of the run (`history.Run.settings`); `vocabulary` has
    all words. All times are UTC; every duration in a column or setting is in milliseconds, as its
    name says.

    Several threads may ask at once: a table is derived once, when it is first named.
    """

    def __init__(
        self,
        engine: Engine,
        run: Run,
        sources: Sources,
        recipes: Mapping[str, Query],
        views: Mapping[str, Query],
        store: Store,
    ) -> None:
        self.engine = engine
        self.run = run
        self._sources = sources
        self._recipes = {**views, **recipes}
        # Each is part of every query that names it.
        self._unstored = views.keys() - recipes.keys()
        # Computes a derived table and gives a frame that only reads it: queries over queries over
        # queries would be planned, and run, again for each rule.
        self._store = store
        self._views: dict[str, str] = {}
        self._used: dict[str, frozenset[str]] = {}  # table -> history files behind it
        self._locks: dict[str, Lock] = {}
        self._reading = _Reading()
        self._prefix = f"kc{next(_serial)}_"

    def sql(self, query: str, **settings: Setting) -> Frame:
        """The frame of a query's text; more settings than the run's own may be given.

        Raises Unreadable if it needs a history file that cannot be used.
        """
        text = expand(query)
        values = {**ERRORS, **self.run.settings, **settings}
        for name in settings_in(text):
            if name not in values:
                raise ValueError(f"a query names the setting :{name}, which does not exist")
        views = {name: self._view(name) for name in tables_in(text)}
        return self.engine.query(text, views, values)

    def answer(self, query: Query) -> Frame:
        """The frame of a query of a rule or a recipe. Raises what `sql` raises."""
        return self.sql(text_of(query))

    def files_behind(self, build: Callable[[], Frame]) -> tuple[Frame, frozenset[str]]:
        """What `build` returns, and the names of all history files that it is made from."""
        self._reading.files.append(set())
        try:
            frame = build()
        finally:
            read = self._reading.files.pop()
        return frame, frozenset(read)

    def table(self, name: str) -> Frame:
        """A table as a frame."""
        return self.sql(f"SELECT * FROM {{{name}}}")

    def close(self) -> None:
        """Forget the views."""
        for view in self._views.values():
            self.engine.drop(view)
        self._views.clear()

    def _view(self, name: str) -> str:
        # Tables are made from each other without cycles, so waiting for one cannot block for ever.
        with self._locks.setdefault(name, Lock()):
            if name not in self._views:
                self._define(name)
        for reading in self._reading.files:
            reading |= self._used[name]
        return self._views[name]

    def _define(self, name: str) -> None:
        if name in self._sources.unreadable:
            raise Unreadable(self._sources.unreadable[name])
        if name in self._sources.frames:
            frame, files = self._sources.frames[name], frozenset({name})
        else:
            frame, files = self._derive(name)
        view = f"{self._prefix}{name}"
        self.engine.define(view, frame)
        self._used[name] = files
        self._views[name] = view

    def _derive(self, name: str) -> tuple[Frame, frozenset[str]]:
        """The stored table. A recipe that fails is not tried again for the next rule."""
        try:
            frame, files = self.files_behind(lambda: self.answer(self._recipes[name]))
            return (frame if name in self._unstored else self._store(name, frame)), files
        except Unreadable as reason:
            self._sources.unreadable[name] = str(reason)
            raise
        except Exception as error:  # whatever it is, the rules that do without it are judged
            first_line = (str(error).strip().splitlines() or [""])[0]
            reason_text = f"the table {name} cannot be derived: {first_line[:300]}"
            self._sources.unreadable[name] = reason_text
            raise Unreadable(reason_text) from error


class _Reading(local):
    """History files that a thread's queries have been seen to read, one set per nested question."""

    def __init__(self) -> None:
        self.files: list[set[str]] = []
