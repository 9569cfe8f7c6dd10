"""What rules and tables make of hand-written, kept and changed histories, by the SQL of now.

All histories of a kind are one dataset, so that a query is planned once and not for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Timer
from typing import Final

import pyarrow as pa

from harness.check import rows as one_row
from harness.check.check import of_today
from harness.check.others import asked_of, others_of
from harness.experiment import APP
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.rules.rule import Rule
from harness.tables.engines.duckdb import DuckDb
from harness.tables.many_runs import Many, by_run
from harness.tables.source import Run, load, read_run, run_of
from harness.tables.vocabulary import text_of
from tests import cases
from tests.notation import history_of
from tests.recorded.keep import PROGRAMS, RUNS
from tests.tampered.history import NotThere, kept, names_of
from tests.tampered.test_tampered import READ

KEPT: Final = sorted([*RUNS.iterdir(), *PROGRAMS.iterdir()])
CASES: Final = Path(__file__).parents[1] / "rules"
LIMIT_S: Final = 30  # a query that takes longer has run wild
_PINNED: Final = (
    *("ok", "subject", "at", "measured", "bound_low", "bound_high"),
    *("guard_from", "guard_to", "why", "excused"),
)
Rows = tuple[str, ...]  # what a rule or table gives for one history, in an order that is the same
_BROKEN: Final[Rows] = ("the query fails",)


@dataclass(frozen=True)
class OneHistory:
    """A history and the rules that it is asked about; those in `counted` only for how many rows."""

    name: str
    run: Run
    files: Mapping[str, pa.Table]
    rules: frozenset[str]
    counted: frozenset[str] = frozenset()


class Dataset:
    """Histories of one kind of client."""

    def __init__(self, histories: Sequence[OneHistory]) -> None:
        self.histories = histories
        self.of_programs = histories[0].run.client == APP
        self._engine = DuckDb()
        runs = [each.run for each in histories]
        self._many = Many(self._engine, runs, lambda name, number: histories[number].files[name])

    def close(self) -> None:
        """Forget the rows."""
        self._many.close()
        self._engine.close()

    def judged(self, rule: str) -> dict[str, Rows]:
        """What a rule says, by the names of the histories that are asked about it."""
        rows = self.rows(text_of(RULES[rule].examine))
        return {
            each.name: _counted(found) if rule in each.counted else found
            for each, of_one in zip(self.histories, self.by_history(rows), strict=True)
            if rule in each.rules
            for found in [_judged(RULES[rule], of_one)]
        }

    def rows(self, text: str) -> pa.Table | None:
        """The rows of a query in all histories; none if it cannot be run."""
        limit = Timer(LIMIT_S, self._engine._database.interrupt)
        limit.start()
        try:
            return self._many.rows(text)
        except Exception:  # noqa: BLE001 (whatever is wrong with a changed query)
            return None
        finally:
            limit.cancel()

    def by_history(self, rows: pa.Table | None) -> Sequence[pa.Table | None]:
        """The rows of each history."""
        count = len(self.histories)
        return [None] * count if rows is None else by_run(rows, count)

    def others(self, before: pa.Table, now: pa.Table | None) -> list[OneHistory]:
        """The histories in which these are not the same rows, in whatever order."""
        if now is not None and now.equals(before):
            return []
        each = zip(self.histories, self.by_history(before), self.by_history(now), strict=True)
        return [history for history, old, new in each if _sorted(old) != _sorted(new)]


def _judged(rule: Rule, rows: pa.Table | None) -> Rows:
    if rows is None:
        return _BROKEN
    try:
        found = one_row.judged(rule, rows.to_pylist())
    except one_row.Malformed as error:
        return (f"malformed: {error}",)
    return tuple(sorted(repr([row[name] for name in _PINNED]) for row in found))


def _counted(rows: Rows) -> Rows:
    """How many rows hold, do not, and cannot be judged."""
    return tuple(sorted(row.partition(",")[0] for row in rows))


def _sorted(rows: pa.Table | None) -> Rows:
    if rows is None:
        return _BROKEN
    return tuple(sorted(repr(sorted(row.items())) for row in rows.to_pylist()))


def by_client(histories: Iterable[OneHistory]) -> list[Dataset]:
    """A dataset of our own consumers and one of programs, where there are any of either."""
    all_of_them = list(histories)
    of_programs = [each for each in all_of_them if each.run.client == APP]
    ours = [each for each in all_of_them if each.run.client != APP]
    return [Dataset(found) for found in (ours, of_programs) if found]


@cache
def _texts() -> list[tuple[str, list[cases.Written], dict[str, str]]]:
    paths = sorted(CASES.glob(f"*{cases.SUFFIX}"))
    return [(path.name, *cases.read(path.read_text(encoding="utf-8"))) for path in paths]


def written(*rules: str) -> list[OneHistory]:
    """The cases of these rules."""
    found = []
    for file, each, names in _texts():
        for case in (case for case in each if case.rule in rules):
            history = history_of(case.history, names)
            files = {name: history.arrow(name) for name in HISTORY}
            name = f"{file}:{case.begin + 1}"
            about = run_of(history.manifest())
            found.append(OneHistory(name, about, files, frozenset({case.rule})))
    return found


def recorded(paths: Iterable[Path] = KEPT) -> list[OneHistory]:
    """Kept runs, and each rule for which something of them is pinned."""
    engine, found = DuckDb(), []
    for path in paths:
        run = of_today(read_run(path))
        files = {name: frame.toArrow() for name, frame in load(path, engine).frames.items()}
        asked = {each.rule for each in asked_of(run)} & RULES.keys()
        others = frozenset(others_of(run)) - asked if path.parent == RUNS else frozenset()
        found.append(OneHistory(path.name, run, files, frozenset(asked) | others, others))
    engine.close()
    return found


def changed(rule: str) -> list[OneHistory]:
    """Kept runs into which a violation was put that this rule alone has to notice."""
    found = []
    for change in chain.from_iterable(READ.values()):
        for name in names_of(change.runs) if change.notices == (rule,) else ():
            run = kept(name)
            try:
                change.edit(run)
            except NotThere:
                continue
            files = {file: run.table(file) for file in HISTORY}
            asked = frozenset({rule})
            found.append(OneHistory(f"{change.name} in {name}", run.run, files, asked, asked))
    return found
