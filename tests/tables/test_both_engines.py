"""DuckDB and Spark find the same rows, of hand-written and of kept histories.

Method: either engine is asked of all of them at once (harness.tables.lift). Each rule is asked of
its own cases, the first with every verdict, and on a day of their own the first of each statement:
what may differ between the engines is the translation of a query, and not whether 1,999 or 2,000 ms
are too long. Of kept runs every table is compared, and every rule that any of them is judged by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from harness.check.others import others_of
from harness.experiment import APP
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.tables.engines.contract import Engine
from harness.tables.engines.duckdb import DuckDb
from harness.tables.lift import RUN
from harness.tables.many_runs import Many
from harness.tables.recipes import recipes_of
from harness.tables.source import Run, load, read_run, run_of
from harness.tables.vocabulary import text_of
from tests import cases
from tests.notation import history_of
from tests.recorded.keep import PROGRAMS, RUNS

CASES: Final = Path(__file__).parents[1] / "rules"


@dataclass
class Dataset:
    """Histories of one kind of client: each with its files, and who of them each rule is about."""

    runs: list[Run] = field(default_factory=list)
    files: list[Mapping[str, pa.Table]] = field(default_factory=list)
    rules: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    tables: list[str] = field(default_factory=list)

    def of(self, engine: Engine) -> Many:
        """The same for an engine."""
        return Many(engine, self.runs, lambda name, number: self.files[number][name])

    def asked(self) -> Iterator[tuple[str, str, set[int]]]:
        """Each table and rule, its query, and the runs that it is about."""
        for table in self.tables:
            yield table, f"SELECT * FROM {{{table}}}", set(range(len(self.runs)))
        for rule, runs in sorted(self.rules.items()):
            yield rule, text_of(RULES[rule].examine), runs


def written(*, programs: bool, each: bool = False) -> Dataset:
    """Hand-written histories, of programs or of our own consumers; see `first_cases`."""
    found = Dataset()
    for case, names in first_cases(each=each):
        history = history_of(case.history, dict(names))
        run = run_of(history.manifest())
        if (run.client == APP) is programs:
            found.rules[case.rule].add(len(found.runs))
            found.runs.append(run)
            found.files.append({name: history.arrow(name) for name in HISTORY})
    return found


def kept(folder: Path) -> Dataset:
    """The runs that are kept in a folder."""
    found, engine = Dataset(), DuckDb()
    for number, path in enumerate(sorted(folder.iterdir())):
        run = read_run(path)
        found.runs.append(run)
        frames = load(path, engine).frames
        found.files.append({name: frame.toArrow() for name, frame in frames.items()})
        for rule in {*others_of(run), *(str(each["rule"]) for each in run.expected)} & RULES.keys():
            found.rules[rule].add(number)
    found.tables = list(recipes_of(found.runs[0].client))
    return found


def first_cases(*, each: bool) -> list[tuple[cases.Written, Mapping[str, str]]]:
    """The first case with every verdict, and the names that its file has for steps.

    Of `each` statement of a file, or of each rule in it.
    """
    first: dict[tuple[str, ...], tuple[cases.Written, Mapping[str, str]]] = {}
    for path in sorted(CASES.glob(f"*{cases.SUFFIX}")):
        found, names = cases.read(path.read_text(encoding="utf-8"))
        for case in found:
            what = case.statement if each else (case.rule,)
            first.setdefault((path.name, *what, case.result[0]), (case, names))
    return list(first.values())


DATASETS: Final[dict[str, tuple[Callable[[], Dataset], float]]] = {  # with about how long, in s
    "cases": (partial(written, programs=False), 0),
    "cases of programs": (partial(written, programs=True), 0),
    "each statement": (partial(written, programs=False, each=True), 150),
    "each statement of programs": (partial(written, programs=True, each=True), 20),
    "runs": (partial(kept, RUNS), 120),
    "runs of programs": (partial(kept, PROGRAMS), 40),
}


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(made, id=name, marks=[pytest.mark.long(length_s)] if length_s else [])
        for name, (made, length_s) in DATASETS.items()
    ],
)
def test_both_engines_give_the_same_rows(
    dataset: Callable[[], Dataset], both_engines: list[Engine]
) -> None:
    histories = dataset()
    one, other = (histories.of(engine) for engine in both_engines)
    with closing(one), closing(other):
        differ = [
            f"{what}: {line}"
            for what, text, runs in histories.asked()
            for line in differences(one.rows(text), other.rows(text), runs)
        ]
    assert [] == differ


def test_a_row_that_only_one_engine_gives_is_found() -> None:
    one = pa.table({RUN: [0, 1, 2], "measured": [1, 2, 3]})
    other = pa.table({"measured": [1.0, 5.0, 4.0], RUN: [0, 1, 2]})

    assert [] == differences(one, other, {0})
    assert ["1 of 2 and 2 rows: ", "1 of 2 and 2 rows: "] == [
        line.partition("[")[0] for line in differences(one, other, {0, 2})
    ]


def differences(one: pa.Table, other: pa.Table, runs: set[int]) -> list[str]:
    """How many rows of these runs only one engine gives, and the first of either."""
    left, right = (
        sorted(as_text(row) for row in rows.to_pylist() if row[RUN] in runs)
        for rows in (one, other)
    )
    if left == right:
        return []
    only = [sorted(set(mine) - set(theirs)) for mine, theirs in ((left, right), (right, left))]
    return [f"{len(mine)} of {len(left)} and {len(right)} rows: {mine[:1]}" for mine in only]


def as_text(row: Mapping[str, Any]) -> str:
    """A row as one text: engines have its columns in other orders, and numbers of other types."""
    return repr(plain(row))


def plain(value: Any) -> Any:
    """The value with all numbers of one type, and the fields of structs in order."""
    match value:
        case bool():
            return value
        case int() | float() | Decimal():
            return float(value) + 0.0  # of -0.0 as well
        case dict():
            return sorted((name, plain(each)) for name, each in value.items())
        case list():
            return [plain(each) for each in value]
        case _:
            return value
