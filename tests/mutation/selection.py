"""Which tests can notice a change of a rule: cases of a rule that uses what was changed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.rules import RULES
from harness.rules.rule_names import NAMES
from harness.tables.sql_file import PIECES, SqlFile
from harness.tables.vocabulary import Query
from tests import cases
from tests.mutation.mutants import Mutant

TESTS: Final = Path("tests/rules")
# Where derived tables are tested themselves: by hand-written histories, and by recorded runs.
TABLES: Final = ("tests/tables/", "tests/recorded/test_recorded_tables.py")
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
