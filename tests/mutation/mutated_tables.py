"""Changes of derived tables: which rules and tests they reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

import pyarrow as pa

from harness.rules import RULES
from harness.tables.base import Tables
from harness.tables.engines.contract import Engine, Frame, Setting, tables_in
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.sql_file import PIECES, SqlFile
from harness.tables.vocabulary import ERRORS, Query, expand, text_of
from tests.mutation.mutants import Mutant
from tests.mutation.selection import names_in
from tests.remembering import Remembering

# What the judge itself reads, whatever the rule.
_OF_THE_JUDGE: Final = frozenset({"late_ticks"})


@dataclass(frozen=True)
class Derivation:
    """How a test had a table derived: by which query, from which rows, with which settings."""

    query: Query
    text: str
    engine: Engine
    rows: Mapping[str, Frame]
    settings: Mapping[str, Setting]

    def is_another(self, text: str) -> bool:
        """Whether this text of the query gives other rows, or none at all."""
        try:
            return not self._table(text).equals(self._table(self.text))
        except Exception:  # noqa: BLE001 (whatever is wrong with it, a test is to say so)
            return True

    def _table(self, text: str) -> pa.Table:
        named = {table: f"of_{table}" for table in tables_in(text)}
        for table, view in named.items():
            self.engine.define(view, self.rows[table])
        try:
            return self.engine.query(text, named, self.settings).toArrow()
        finally:
            for view in named.values():
                self.engine.drop(view)


@contextmanager
def deriving() -> Iterator[list[Derivation]]:
    """What is derived meanwhile."""
    seen: list[Derivation] = []
    original = Tables._derive

    def derive(self: Tables, name: str) -> tuple[Frame, frozenset[str]]:
        found = original(self, name)
        query = self._recipes[name]
        text = expand(text_of(query))
        engine = cast(Remembering, self.engine)
        rows = {table: engine.known(self._views[table]) for table in tables_in(text)}
        seen.append(Derivation(query, text, engine, rows, {**ERRORS, **self.run.settings}))
        return found

    Tables._derive = derive  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Tables._derive = original  # type: ignore[method-assign]


def others(derived: Iterable[Derivation]) -> Callable[[Sequence[Derivation]], bool]:
    """Whether the change that is installed makes a table another one, for what a test derived."""
    queries = {each.query for each in derived}  # few: most tests derive the same tables
    texts = {query: expand(text_of(query)) for query in queries}

    def made_another(of_a_test: Sequence[Derivation]) -> bool:
        return any(
            each.text != texts[each.query] and each.is_another(texts[each.query])
            for each in of_a_test
        )

    return made_another


def rules_reached(mutant: Mutant) -> set[str]:
    """Ids of the rules that read a table whose query this change makes another one."""
    changed = {table for table, query in _queries() if _is_in(mutant, query)}
    if changed & _reading(frozenset(_OF_THE_JUDGE)):
        return set(RULES)
    return {rule for rule, used in _used_by_rules().items() if used & changed}


def _is_in(mutant: Mutant, query: Query) -> bool:
    """Whether a change is in the file of a query, or in a piece that it uses."""
    assert isinstance(query, SqlFile)
    *_, folder, stem = mutant.file.split("/")
    if folder == PIECES:
        return mutant.within in names_in(query)
    return (query.path.parent.name, query.path.stem) == (folder, stem)


def _queries() -> Iterator[tuple[str, Query]]:
    """Every recipe. A table has another one where the members are programs of somebody else's."""
    for recipes in (RECIPES, OF_AN_APP, VIEWS):
        yield from recipes.items()


@cache
def _named_by_tables() -> Mapping[str, frozenset[str]]:
    """What each table is made from, by one of its recipes."""
    named: dict[str, frozenset[str]] = {}
    for table, query in _queries():
        named[table] = named.get(table, frozenset()) | set(tables_in(expand(text_of(query))))
    return named


@cache
def _reading(tables: frozenset[str]) -> frozenset[str]:
    """These tables, and all that they are made from."""
    found, todo = set(tables), list(tables)
    while todo:
        new = _named_by_tables().get(todo.pop(), frozenset()) - found
        found |= new
        todo += new
    return frozenset(found)


@cache
def _used_by_rules() -> Mapping[str, frozenset[str]]:
    return {
        rule.id: _reading(frozenset(tables_in(expand(text_of(rule.examine)))))
        for rule in RULES.values()
    }
