"""What all kept runs come to, as one dataset: a query is planned once, and not for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache

import pytest

from harness.check.check import Found, judge_tables, of_today
from harness.tables.engines.contract import Engine
from harness.tables.many_runs import Many, One
from harness.tables.source import Sources, load, read_run
from tests.recorded.keep import RUNS

KEPT = sorted(path.name for path in RUNS.iterdir())


@pytest.fixture(scope="session")
def sources(duckdb_engine: Engine) -> list[Sources]:
    """The history of each kept run."""
    return [load(RUNS / name, duckdb_engine) for name in KEPT]


@pytest.fixture(scope="session")
def kept(duckdb_engine: Engine, sources: list[Sources]) -> Iterator[Callable[[str], One]]:
    """The tables of a kept run, by its name."""
    runs = [of_today(read_run(RUNS / name)) for name in KEPT]
    many = Many(duckdb_engine, runs, lambda file, run: sources[run].frames[file].toArrow())
    with closing(many):
        yield lambda name: One(many, KEPT.index(name))


@pytest.fixture(scope="session")
def found(sources: list[Sources], kept: Callable[[str], One]) -> Callable[[str], Found]:
    """What a kept run comes to, by its name."""
    return cache(lambda name: judge_tables(kept(name), sources[KEPT.index(name)]))
