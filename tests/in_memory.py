"""Tables of a history, derived in memory when they are first named; nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping

from harness.tables.base import Tables
from harness.tables.engines.contract import Engine, Frame
from harness.tables.recipes import VIEWS, recipes_of
from harness.tables.source import Run, Sources
from harness.tables.vocabulary import Query


def tables_of_run(
    engine: Engine, run: Run, sources: Sources, recipes: Mapping[str, Query] | None = None
) -> Tables:
    """The tables of a run, to be closed; by its client's recipes unless others are given."""

    def store(_name: str, frame: Frame) -> Frame:
        return engine.rows(frame.toArrow())

    return Tables(engine, run, sources, recipes or recipes_of(run.client), VIEWS, store)
