"""Changes of derived tables: what they are installed into, and which rules and tests they reach."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Final, cast

import pyarrow as pa

from harness.rules import RULES
from harness.tables.base import Tables
from harness.tables.engines.base import Engine, Frame, Setting, tables_in
from harness.tables.of_an_app import OF_AN_APP
from harness.tables.recipes import RECIPES
from harness.tables.views import VIEWS
from harness.tables.vocabulary import ERRORS, Query, expand, text_of
from tests.mutation.mutants import Mutant
from tests.remembering import Remembering

PACKAGE: Final = "tables"
# What the judge itself reads, whatever the rule.
_OF_THE_JUDGE: Final = frozenset({"late_ticks"})
_PIECE: Final = re.compile(r"\{([A-Z][A-Z_]*)\}")


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


def install(module: str, source: str) -> None:
    """Have the tables of a module made from another source, wherever they are named."""
    name = f"harness.{module}"
    old, new = vars(import_module(name)), vars(_made_of(module, source))
    for attribute, value in new.items():
        before = old.get(attribute)
        if isinstance(value, FunctionType) and isinstance(before, FunctionType):
            if value.__module__ == name:
                before.__code__ = value.__code__  # whoever has imported it has it changed
        elif isinstance(value, str) and attribute.isupper() and value != before:
            for names in _everywhere():
                if names.get(attribute) == before:
                    names[attribute] = value


def rules_reached(mutant: Mutant, source: str) -> set[str]:
    """Ids of the rules that read a table whose query this change makes another one."""
    made = _made_of(mutant.module, mutant.apply(source))
    changed = {table for table, query in _queries() if _is_other(query, made, mutant)}
    if changed & _reading(frozenset(_OF_THE_JUDGE)):
        return set(RULES)
    return {rule for rule, used in _used_by_rules().items() if used & changed}


def _is_other(query: Query, made: ModuleType, mutant: Mutant) -> bool:
    if query.__module__ == made.__name__:
        return text_of(query) != text_of(vars(made)[query.__name__])
    return mutant.within in _PIECE.findall(query())


def _made_of(module: str, source: str) -> ModuleType:
    """The module as this source makes it; nobody has imported it."""
    made = ModuleType(f"harness.{module}")
    made.__package__ = f"harness.{PACKAGE}"
    exec(compile(source, module, "exec", dont_inherit=True), vars(made))
    return made


def _everywhere() -> Iterator[dict[str, object]]:
    """The names of every module that has queries."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("harness.tables.", "harness.rules.")):
            yield vars(module)


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
