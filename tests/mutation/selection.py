"""Which rules and tables a change can reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from harness.rules import RULES
from harness.rules.rule_names import NAMES
from harness.tables.engines.contract import tables_in
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.sql_file import PIECES, SqlFile
from harness.tables.vocabulary import Query, text_of
from tests import cases
from tests.mutation.mutants import Mutant

TESTS: Final = Path("tests/rules")
_NAME: Final = re.compile(r"[:{]([A-Z][A-Z_]*)")  # in a query: tables/vocabulary.py


def names_in(query: Query) -> set[str]:
    """The names of all numbers and pieces that a query of a file is made from."""
    assert isinstance(query, SqlFile)
    found: set[str] = set()
    todo = [query.text]
    while todo:
        new = set(_NAME.findall(todo.pop())) & query.names.keys() - found
        found |= new
        todo += [query.names[name] for name in new]
    return found


def rules_of(mutant: Mutant) -> set[str]:
    """Ids of the rules that use what a change of a rule's file, or of a piece of rules, is in."""
    _, group, stem = mutant.file.split("/")
    if group == PIECES:
        return {rule.id for rule in RULES.values() if mutant.within in names_in(rule.examine)}
    return {rule for rule, name in NAMES.items() if name == f"{group}/{stem}"}


def recipes(*, of_programs: bool) -> Mapping[str, Query]:
    """All tables of a run; programs have some of their own."""
    return {**VIEWS, **RECIPES, **(OF_AN_APP if of_programs else {})}


def tables_of(mutant: Mutant, *, of_programs: bool) -> list[str]:
    """The tables whose query a change is in, by itself or by a piece that the query uses."""
    return [
        table
        for table, query in recipes(of_programs=of_programs).items()
        if isinstance(query, SqlFile) and _is_in(mutant, query)
    ]


def _is_in(mutant: Mutant, query: SqlFile) -> bool:
    *_, folder, stem = mutant.file.split("/")
    if folder == PIECES:
        return mutant.within in names_in(query)
    return (query.path.parent.name, query.path.stem) == (folder, stem)


@cache
def made_from(table: str, *, of_programs: bool) -> frozenset[str]:
    """A table and all that are made from it, one way or another."""
    found, todo = {table}, [table]
    while todo:
        before = todo.pop()
        new = {name for name, used in _made(of_programs).items() if before in used} - found
        found |= new
        todo += new
    return frozenset(found)


@cache
def _made(of_programs: bool) -> Mapping[str, frozenset[str]]:
    queries = recipes(of_programs=of_programs)
    return {name: frozenset(tables_in(text_of(query))) for name, query in queries.items()}


@cache
def _named_by_rules() -> Mapping[str, frozenset[str]]:
    return {rule.id: frozenset(tables_in(text_of(rule.examine))) for rule in RULES.values()}


@cache
def rules_reading(table: str, *, of_programs: bool) -> frozenset[str]:
    """Ids of the rules that name a table, or one that is made from it."""
    tables = made_from(table, of_programs=of_programs)
    return frozenset(rule for rule, named in _named_by_rules().items() if named & tables)


class Selection:
    """The files of cases below a folder, and the rules of each."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def tests(self, rules: Iterable[str]) -> list[Path]:
        """The files of cases that have one of these rules."""
        wanted = set(rules)
        return [path for path, named in self._named.items() if named & wanted]

    @cached_property
    def _named(self) -> dict[Path, set[str]]:
        return {
            path: {case.rule for case in cases.read(path.read_text(encoding="utf-8"))[0]}
            for path in sorted((self._root / TESTS).glob(f"*{cases.SUFFIX}"))
        }
