"""`check`: one run's folder in; tables, judgements and verdicts out, in the same folder.

1. read the manifest; verify every history file
2. derive the tables, each written and read back, so that no query is computed twice
3. judge the declared rules and those of every run in one Spark job
4. write judgements, violations and verdicts

Nothing but the run's folder is read, so a run can be judged again at any time, by newer rules too.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from harness.check import judge
from harness.history import store
from harness.history.derived import TABLES, VERDICTS, VERDICTS_FILE
from harness.tables.base import Tables
from harness.tables.engines.base import Engine, Frame
from harness.tables.recipes import recipes_of, written_of
from harness.tables.source import Run, Sources, Unreadable, load, read_run
from harness.tables.views import VIEWS

# Up to so many rows in the largest file, a history is held in memory and worked on by one task,
# with nothing compiled: that takes half the time for a run of some minutes, and as long as files,
# shuffles and compiled code for one of about 50,000 rows (10^7 records).
SMALL_ROWS: Final = 40_000
# Derived tables that grow with the history; the others never pass a few thousand rows a day.
_GROWING: Final = frozenset(
    {
        "signs_of_life",
        "silences",
        "progress",
        "gaps",
        "heartbeats",
        "commits_judged",
        "redeliveries",
    }
)


def check(
    run_dir: Path,
    engine: Engine,
    small_rows: int = SMALL_ROWS,
    *,
    keep: bool = True,
    rules: Sequence[str] = (),
    judged: Callable[[judge.Outcome], None] = lambda _outcome: None,
) -> list[dict[str, Any]]:
    """Judge one run; the rows of its `verdicts.parquet`.

    Unless it is to `keep` them, nothing of what is found is written to the run's folder. If `rules`
    are named, just these are judged, declared or not. `judged` is handed the rows behind the
    verdicts.

    Raises NoData where there is no run or nothing recorded. Everything else that is wrong with a
    run becomes a verdict UNKNOWN with the reason.
    """
    run = read_run(run_dir)
    sources = load(run_dir, engine, small_rows)
    small = max(sources.rows.values(), default=0) <= small_rows
    with engine.sized(small=small), _scratch(run_dir if keep else None) as scratch:
        folder, written = run_dir / "tables" if keep else None, written_of(run.client)
        shelf = _Shelf(folder, scratch, engine, small, written)
        tables = Tables(engine, run, sources, recipes_of(run.client), VIEWS, shelf.store)
        try:
            shelf.fill(tables)
            asked = [judge.Asked(rule) for rule in rules] or judge.asked_of(tables)
            names = [each.rule for each in asked]
            outcome = judge.examine(tables, names, _torn(run_dir, sources))
            if not run.complete:
                _doubt(run, outcome, names)
            judged(outcome)
            verdicts = [
                judge.verdict_of(each, outcome, tables)
                for each in asked
                if not judge.said_nothing(each, outcome)
            ]
        finally:
            tables.close()
    if keep:
        _write_results(run_dir, outcome, verdicts, shelf.written)
    return verdicts


@dataclass
class _Shelf:
    """Where derived tables are put, and read back from; no file is written without a folder."""

    folder: Path | None
    scratch: Path
    engine: Engine
    small: bool
    names: tuple[str, ...]  # of those that are written
    written: set[str] = field(default_factory=set)

    def fill(self, tables: Tables) -> None:
        """Derive and write every table that can be, two at a time."""

        def derive(name: str) -> None:
            with suppress(Unreadable):  # the verdicts of the rules that need it say why
                tables.table(name)

        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="derive") as workers:
            list(workers.map(derive, self.names))

    def store(self, name: str, frame: Frame) -> Frame:
        if self.small or name not in _GROWING:
            return self._store_in_memory(name, frame)
        return self._store_in_files(name, frame)

    def _store_in_memory(self, name: str, frame: Frame) -> Frame:
        rows = frame.toArrow()
        if name in self.names:
            rows = rows.select(TABLES[name].names).cast(TABLES[name])
            self._write(name, [rows])
        return self.engine.rows(rows)

    def _store_in_files(self, name: str, frame: Frame) -> Frame:
        """By way of a folder of the engine's own; what is to last goes into one file."""
        folder = self.scratch / name
        stored = self.engine.spill(frame, folder)
        if name in self.names:
            parts = sorted(folder.glob("part-*.parquet"))
            batches = pads.dataset([str(part) for part in parts]).to_batches()
            self._write(name, (pa.Table.from_batches([batch]) for batch in batches))
        return stored

    def _write(self, name: str, pieces: Iterable[pa.Table]) -> None:
        if self.folder is not None:
            store.write(self.folder / f"{name}.parquet", pieces, TABLES[name])
            self.written.add(name)


@contextmanager
def _scratch(run_dir: Path | None) -> Iterator[Path]:
    """A folder for the time of a judgement: in the run's own, or else where temporary files go."""
    if run_dir is None:
        with TemporaryDirectory(prefix="kafka-chaos-check-") as name:
            yield Path(name)
        return
    folder = run_dir / "tables" / ".scratch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _torn(run_dir: Path, sources: Sources) -> list[str]:
    """Members whose journal is cut off although their process was not killed."""
    if "members" in sources.unreadable:
        return []
    columns = ["member", "end", "journal_torn"]
    rows = pq.read_table(run_dir / "history" / "members.parquet", columns=columns).to_pylist()
    return [row["member"] for row in rows if row["journal_torn"] and row["end"] != "killed"]


def _doubt(run: Run, outcome: judge.Outcome, rules: Iterable[str]) -> None:
    """Nothing is judged by a run that did not go through all its phases."""
    reason = f"the run is {run.status or 'without a status'}"
    if run.status_reason:
        reason += f": {run.status_reason}"
    for rule in rules:
        outcome.unknown[rule] = reason


def _write_results(
    run_dir: Path, outcome: judge.Outcome, verdicts: list[dict[str, Any]], written: set[str]
) -> None:
    judgements = judge.to_table(outcome)
    store.write(run_dir / "tables" / "judgements.parquet", [judgements], judge.JUDGEMENTS)
    folder = run_dir / "violations"
    kept = {f"{name}.parquet" for name in (*written, "judgements")}
    stale = [path for path in (run_dir / "tables").glob("*.parquet") if path.name not in kept]
    stale += folder.glob("*.parquet")
    for path in stale:
        path.unlink()
    fine = pads.field("ok") == pa.scalar(True)
    bad = judgements.filter(~fine | pads.field("ok").is_null())
    for verdict in verdicts:
        if verdict["violations"] or verdict["unknowns"]:
            rows = bad.filter(pads.field("rule") == verdict["rule"])
            store.write(folder / f"{verdict['rule']}.parquet", [rows], judge.JUDGEMENTS)
    results = pa.Table.from_pylist(verdicts, schema=VERDICTS)
    store.write(run_dir / VERDICTS_FILE, [results], VERDICTS)


def as_expected(verdicts: Iterable[dict[str, Any]]) -> bool:
    """Whether every verdict is the one that the experiment expects; UNKNOWN is one as well."""
    rows = list(verdicts)
    return bool(rows) and all(row["verdict"] == row["expected"] for row in rows)


__all__ = ["as_expected", "check"]
