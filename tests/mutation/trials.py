"""Tries each change of a file of rules or tables: which history or test first notices it?

A changed rule is asked of its cases, then of kept runs, then of kept runs with violations in them.
A changed table is derived of kept runs and of the cases of all rules. Where it has other rows in
cases, the rules judge these again. At last the tests of derived tables are run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from typing import Any, Final

from harness.provision.cache import REPOSITORY
from harness.rules import RULES
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.sql_file import PIECES, SUFFIX, SqlFile, parted, shared_pieces
from harness.tables.vocabulary import text_of
from tests.mutation.asked_histories import (
    Dataset,
    OneHistory,
    Rows,
    by_client,
    changed,
    recorded,
    written,
)
from tests.mutation.mutants import Mutant
from tests.mutation.selection import recipes, rules_of, rules_reading, tables_of
from tests.recorded.test_recorded_tables import PINNED

HARNESS: Final = REPOSITORY / "harness"
# Cases in which a changed table has other rows: how many are judged at once, and at most.
AT_ONCE: Final = 25
MOST: Final = 150


@dataclass(frozen=True)
class Trial:
    """What became of a change: the history or test that noticed it, "" if none did."""

    mutant: Mutant
    noticed_by: str

    def row(self, source: str) -> dict[str, Any]:
        """As a record, with the line before and after; `source` is the file's text."""
        found = asdict(self.mutant)
        number = self.mutant.line - 1
        lines = (source.splitlines()[number], self.mutant.apply(source).splitlines()[number])
        kept = {name: found[name] for name in ("file", "within", "line", "kind")}
        diff = f"- {lines[0].strip()}\n+ {lines[1].strip()}"
        return {**kept, "noticed_by": self.noticed_by, "diff": diff}


def trials_of(changes: Sequence[Mutant], source: str) -> list[Trial]:
    """What became of changes of one file, whose text is `source`."""
    if changes[0].file.startswith("tables/"):
        of_tables = OfTables(_pinned(), _cases(), source)
        return [Trial(each, of_tables.noticed_by(each)) for each in changes]
    with closing(OfRules(_kept(), source)) as of_rules:
        return [Trial(each, of_rules.noticed_by(each)) for each in changes]


# What a process makes once, and asks of for all files.
@cache
def _kept() -> list[Dataset]:
    return by_client(recorded())


@cache
def _pinned() -> list[Dataset]:
    return by_client(recorded(PINNED))


@cache
def _cases() -> list[Dataset]:
    return by_client(written(*RULES))


class OfRules:
    """Tries changes of one file of rules."""

    def __init__(self, kept: Sequence[Dataset], source: str) -> None:
        self._kept = kept
        self._source = source
        self._open = ExitStack()
        self._stages = (self._cases, lambda rule: self._kept, self._changed)
        self._datasets: dict[tuple[int, str], Sequence[Dataset]] = {}
        self._before: dict[tuple[Dataset, str], dict[str, Rows]] = {}

    def noticed_by(self, mutant: Mutant) -> str:
        """What notices a change."""
        rules = sorted(rules_of(mutant))
        for stage, datasets_of in enumerate(self._stages):
            for rule in rules:
                if (stage, rule) not in self._datasets:
                    self._datasets[stage, rule] = datasets_of(rule)
                for dataset in self._datasets[stage, rule]:
                    if found := self._first(mutant, dataset, rule):
                        return f"{rule} in {found}"
        return ""

    def close(self) -> None:
        """Forget the histories."""
        self._open.close()

    def _first(self, mutant: Mutant, dataset: Dataset, rule: str) -> str:
        if (dataset, rule) not in self._before:
            self._before[dataset, rule] = dataset.judged(rule)
        with installed(mutant, self._source):
            now = dataset.judged(rule)
        return _first_other(self._before[dataset, rule], now)

    def _cases(self, rule: str) -> Sequence[Dataset]:
        return self._opened(written(rule))

    def _changed(self, rule: str) -> Sequence[Dataset]:
        return self._opened(changed(rule))

    def _opened(self, histories: Iterable[OneHistory]) -> Sequence[Dataset]:
        return [self._open.enter_context(closing(each)) for each in by_client(histories)]


class OfTables:
    """Tries changes of one file of tables."""

    def __init__(self, pinned: Sequence[Dataset], cases: Sequence[Dataset], source: str) -> None:
        self._pinned = pinned
        self._cases = cases
        self._source = source
        self._before: dict[tuple[Dataset, str], Any] = {}
        self._noticed: Counter[str] = Counter()

    def noticed_by(self, mutant: Mutant) -> str:
        """What notices a change."""
        for dataset in self._pinned:
            for table, others in self._others(mutant, dataset):
                if table not in VIEWS and others:
                    return f"{table} of {others[0].name}"
        found = [
            history
            for dataset in self._cases
            for table, others in self._others(mutant, dataset)
            for history in others
            if history.rules & rules_reading(table, of_programs=dataset.of_programs)
        ]
        found.sort(key=lambda history: -self._noticed[history.name])
        for first in range(0, min(len(found), MOST), AT_ONCE):
            if name := self._judged_otherwise(mutant, found[first : first + AT_ONCE]):
                self._noticed[name] += 1
                return name
        return _tests_of_tables(mutant)

    def _others(
        self, mutant: Mutant, dataset: Dataset
    ) -> Iterator[tuple[str, Sequence[OneHistory]]]:
        """The tables that a change is in, and in which histories they have other rows."""
        queries = recipes(of_programs=dataset.of_programs)
        for table in tables_of(mutant, of_programs=dataset.of_programs):
            if (dataset, table) not in self._before:
                self._before[dataset, table] = dataset.rows(text_of(queries[table]))
            with installed(mutant, self._source):
                now = dataset.rows(text_of(queries[table]))
            yield table, dataset.others(self._before[dataset, table], now)

    def _judged_otherwise(self, mutant: Mutant, cases: Sequence[OneHistory]) -> str:
        for dataset in by_client(cases):
            with closing(dataset), closing(Dataset(dataset.histories)) as again:
                for rule in sorted(set[str]().union(*(each.rules for each in dataset.histories))):
                    with installed(mutant, self._source):
                        now = dataset.judged(rule)
                    if found := _first_other(again.judged(rule), now):
                        return found
        return ""


def _first_other(before: Mapping[str, Rows], now: Mapping[str, Rows]) -> str:
    return next((name for name in before if before[name] != now[name]), "")


def _tests_of_tables(mutant: Mutant) -> str:
    """The first test of a table that notices a change; in a process of its own."""
    names = {name for programs in (True, False) for name in tables_of(mutant, of_programs=programs)}
    tests = sorted(
        path.as_posix()
        for path in (REPOSITORY / "tests" / "tables").glob("test_*.py")
        if any(name in path.read_text(encoding="utf-8") for name in names)
    )
    command = ["-m", "tests.mutation.table_tests", json.dumps(asdict(mutant)), *tests]
    done = subprocess.run(
        [sys.executable, *command], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return next((line for line in done.stdout.splitlines() if line.startswith("FAILED ")), "")


@contextmanager
def installed(mutant: Mutant, source: str) -> Iterator[None]:
    """Have the queries of a file be those with a change, wherever they are used."""
    install(mutant.file, mutant.apply(source))
    try:
        yield
    finally:
        install(mutant.file, source)


def install(file: str, source: str) -> None:
    """Have the queries that a file makes be those of another text of it, wherever they are used."""
    path = HARNESS / f"{file}{SUFFIX}"
    _, query, names = parted(source)
    if path.parent.name == PIECES:
        shared_pieces(path.parent).update(names)
        return
    of_tables = (RECIPES, VIEWS, OF_AN_APP)
    for each in chain((rule.examine for rule in RULES.values()), *map(dict.values, of_tables)):
        if isinstance(each, SqlFile) and each.path == path:
            object.__setattr__(each, "text", query)
            object.__setattr__(each, "names", ChainMap(names, *each.names.maps[1:]))
