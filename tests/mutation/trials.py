"""Tries every change: a process of its own for each, which starts where all tests have passed.

The tests run once, so that everything is imported and each query's result is remembered
(`Remembering`). Then the process forks for each change, and the child installs the changed query
and runs the tests that judge by a rule which the change can reach.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

from harness.provision.cache import REPOSITORY
from harness.rules import RULES
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.sql_file import PIECES, SUFFIX, SqlFile, parted, shared_pieces
from harness.tables.vocabulary import Query
from tests.mutation import mutated_tables, survivors
from tests.mutation.mutants import Mutant
from tests.mutation.records import Records
from tests.mutation.selection import TABLES

# For the tests of one change. A query that takes longer has run wild; a table that most tests
# derive is compared with what it was for thousands of histories before none has noticed.
LIMIT_S: Final = 120
# How many tests are run for a change of a table, of those for whose histories it has other rows.
MOST: Final = 150
HARNESS: Final = REPOSITORY / "harness"
_TABLES: Final[tuple[dict[str, Query], ...]] = (RECIPES, VIEWS, OF_AN_APP)
_NOTICED, _SURVIVED, _OUT_OF_TIME = 0, 1, 2
_WITHOUT_A_WORD: Final = {_SURVIVED: "survived", _OUT_OF_TIME: "out of time"}


@dataclass(frozen=True)
class Trial:
    """What became of a change. `said` names the test that noticed it."""

    mutant: Mutant
    outcome: str  # killed, survived; or neither: "out of time" or "broke"
    said: str

    def row(self, sources: Mapping[str, str]) -> dict[str, Any]:
        """As a record, with the line before and after."""
        found = asdict(self.mutant)
        before = sources[self.mutant.file]
        after = self.mutant.apply(before)
        number = self.mutant.line - 1
        lines = (before.splitlines()[number], after.splitlines()[number])
        kept = {name: found[name] for name in ("file", "within", "line", "kind")}
        diff = f"- {lines[0].strip()}\n+ {lines[1].strip()}"
        return {**kept, "outcome": self.outcome, "said": self.said, "diff": diff}


class Trials:
    """A plugin of pytest that runs the tests once, and then some of them for each change."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        sources: Mapping[str, str],
        judged_by: Callable[[Mutant], set[str]],
        records: Records | None,
        workers: int,
    ) -> None:
        self._mutants = mutants
        self._sources = sources
        self._judged_by = judged_by  # ids of the rules that a change can reach
        self._workers = workers
        self._rules_of: dict[str, set[str]] = {}  # test -> rules that it judges by
        self._derived_by: dict[str, list[mutated_tables.Derivation]] = {}  # test -> tables
        self._noticed: Counter[str] = Counter()
        self._records = records  # None: hand-written histories alone
        self.failed: list[str] = []
        self.found: list[Trial] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of pytest's own."""
        began = time.monotonic()
        with _judging() as judging, mutated_tables.deriving() as deriving:
            for item, following in zip(
                session.items, [*session.items[1:], session.items[0]], strict=True
            ):
                judging.clear()
                deriving.clear()
                reports = runtestprotocol(item, log=False, nextitem=following)
                self._rules_of[item.nodeid] = set(judging)
                self._derived_by[item.nodeid] = list(deriving)
                if any(report.failed for report in reports):
                    self.failed.append(item.nodeid)
        if self._records:
            self._records.look()
        gc.freeze()  # what is never looked through is never copied in a child
        _print(f"{len(session.items)} tests once: {time.monotonic() - began:.0f} s")
        self._try_all([item for item in session.items if item.nodeid not in self.failed])
        gc.unfreeze()
        return True

    def _try_all(self, items: Sequence[pytest.Item]) -> None:
        began = time.monotonic()
        running: dict[int, tuple[Mutant, int]] = {}
        for mutant in self._mutants:
            if len(running) == self._workers:
                self._await_one(running)
            told, tell = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(told)
                self._be_a_child(mutant, items, tell)
            os.close(tell)
            running[child] = (mutant, told)
        while running:
            self._await_one(running)
        _print(f"{len(self._mutants)} changes: {time.monotonic() - began:.0f} s")

    def _await_one(self, running: dict[int, tuple[Mutant, int]]) -> None:
        child, status = os.wait()
        mutant, told = running.pop(child)
        with os.fdopen(told, encoding="utf-8") as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(status)
        if said:
            self._noticed[said] += 1
        outcome = "killed" if said else _WITHOUT_A_WORD.get(code, "broke")
        trial = Trial(mutant, outcome, said)
        self.found.append(trial)
        if outcome != "killed":  # at once: whoever writes the missing test need not wait for all
            row = trial.row(self._sources)
            _print(f"{outcome}: {mutant.file}:{mutant.line}: {survivors.change(row)}")
        if len(self.found) % 200 == 0:
            _print(f"{len(self.found)} of {len(self._mutants)}")

    def _be_a_child(self, mutant: Mutant, items: Sequence[pytest.Item], tell: int) -> None:
        """Never returns."""
        code = _NOTICED
        try:
            signal.signal(signal.SIGALRM, lambda *_: os._exit(_OUT_OF_TIME))
            signal.alarm(LIMIT_S)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            install(mutant.file, mutant.apply(self._sources[mutant.file]))
            noticed = self._first_to_notice(mutant, items)
            if noticed is None:
                code = _SURVIVED
            else:
                os.write(tell, noticed.encode())
        finally:
            os._exit(code)

    def _first_to_notice(self, mutant: Mutant, items: Sequence[pytest.Item]) -> str | None:
        """Hand-written histories and pinned tables first, then kept runs, whole and damaged."""
        reached = self._judged_by(mutant)
        of_a_table = mutant.file.startswith("tables/")
        concerned = [
            item
            for item in items
            if self._rules_of[item.nodeid] & reached or (of_a_table and _is_of_a_table(item))
        ]
        concerned.sort(key=lambda item: (not _is_of_a_table(item), -self._noticed[item.nodeid]))
        chosen = self._for_whom_it_is_another if of_a_table else iter
        noticed = _first_to_fail(chosen([item for item in concerned if _is_quick(item)]))
        if noticed or self._records is None:
            return noticed
        in_kept_runs = self._records.first_to_notice(reached, self._noticed, anew=of_a_table)
        return in_kept_runs or _first_to_fail(
            chosen([item for item in concerned if not _is_quick(item)])
        )

    def _for_whom_it_is_another(self, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
        """MOST of the tests for whose histories the changed table has other rows than before."""
        is_another = mutated_tables.others(chain.from_iterable(self._derived_by.values()))
        found = (item for item in items if is_another(self._derived_by[item.nodeid]))
        return islice(found, MOST)


def _is_quick(item: pytest.Item) -> bool:
    return item.nodeid.startswith("tests/rules/") or _is_of_a_table(item)


def _is_of_a_table(item: pytest.Item) -> bool:
    return item.nodeid.startswith(TABLES)


def _first_to_fail(items: Iterable[pytest.Item]) -> str | None:
    for item in items:
        item.session._setupstate.teardown_exact(item)
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=item)):
            return item.nodeid
    return None


def install(file: str, source: str) -> None:
    """Have the queries that a file makes be those of another text of it, wherever they are used."""
    path = HARNESS / f"{file}{SUFFIX}"
    _, query, names = parted(source)
    if path.parent.name == PIECES:
        shared_pieces(path.parent).update(names)
        return
    for each in chain((rule.examine for rule in RULES.values()), *map(dict.values, _TABLES)):
        if isinstance(each, SqlFile) and each.path == path:
            object.__setattr__(each, "text", query)
            object.__setattr__(each, "names", ChainMap(names, *each.names.maps[1:]))


@contextmanager
def _judging() -> Iterator[set[str]]:
    """Ids of rules, as tests judge by them."""
    from harness.check import judge

    seen: set[str] = set()
    original = judge._rows_of

    def rows_of(tables: Any, name: str, lacking: Mapping[str, str]) -> Any:
        seen.add(name)
        return original(tables, name, lacking)

    judge._rows_of = rows_of
    try:
        yield seen
    finally:
        judge._rows_of = original


def _print(line: str) -> None:
    print(line, file=sys.__stdout__, flush=True)
