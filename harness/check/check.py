"""`check`: one run's folder in; tables, judgements and verdicts out, in the same folder or another.

1. read the manifest; verify every history file
2. derive the tables, each written and read back, so that no query is computed twice
3. judge every rule that speaks of the run: the declared ones, those of every run, and the others
4. write judgements, violations and verdicts

Nothing but the run's folder is read, so a run can be judged again at any time, by newer rules too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pads

from harness.base import processes
from harness.base.progress import Steps, unheard
from harness.check import expected, judge, others, owned
from harness.experiment import Verdict
from harness.history import judged as files
from harness.history import store
from harness.history.derived import TABLES, VERDICTS, VERDICTS_FILE
from harness.rules import RULES, answered
from harness.rules.rule_names import each_today
from harness.tables.base import Tables
from harness.tables.engines.contract import Engine, Frame
from harness.tables.recipes import VIEWS, recipes_of, written_of
from harness.tables.source import Run, Sources, Unreadable, load, read_run

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


@dataclass(frozen=True)
class Found:
    """What a run comes to: the rows of `verdicts.parquet`, what undeclared rules find (which the
    table `other_rules` has in short), and the rows of each rule behind them.
    """

    verdicts: list[dict[str, Any]]
    others: list[dict[str, Any]]
    outcome: judge.Outcome


def check(
    run_dir: Path,
    engine: Engine,
    *,
    keep: bool = True,
    into: Path | None = None,
    steps: Steps = unheard,
    rules: Sequence[str] = (),
    limits: Mapping[str, float] | None = None,
) -> Found:
    """Judge one run.

    What is found takes the place of what was found before, all at once; or it is only written, to a
    folder that is `into`; or nothing is written, unless it is to `keep` them. `steps` hears how far
    it is. If `rules` are named, just these are judged, declared or not. `limits` are judged instead
    of those that the run was played with.

    Raises NoData where there is no run or nothing recorded. Everything else that is wrong with a
    run becomes a verdict UNKNOWN with the reason.
    """
    run = of_today(read_run(run_dir, limits))
    sources = load(run_dir, engine)
    with ExitStack() as stack:
        if keep and into is None:
            into = stack.enter_context(files.anew(run_dir))
        scratch = Path(stack.enter_context(_scratch(into)))
        written = written_of(run.client)
        shelf = _Shelf(into and into / files.TABLES, scratch, engine, written)
        tables = Tables(engine, run, sources, recipes_of(run.client), VIEWS, shelf.store)
        try:
            if into:  # else only what rules name is derived, when they do
                shelf.fill(tables, steps)
            found = judge_tables(tables, sources, rules, steps)
            answers = answered.counted(tables) if into and not rules else []
        finally:
            tables.close()
        if into:
            if not rules:
                for name, rows in (("other_rules", found.others), ("answers", answers)):
                    shelf.write(name, [pa.Table.from_pylist(rows, schema=TABLES[name])])
            _write_results(into, found)
    return found


def of_today(run: Run) -> Run:
    """The run, with its expectations by the ids that rules have today.

    An expectation of a rule that does not speak of the run is left out; one of a rule that is not
    in the catalogue stays, because it may be a rule of the user's own.
    """
    return replace(
        run,
        expected=tuple(
            each
            for each in each_today(run.expected)
            if each["rule"] not in RULES or RULES[each["rule"]].speaks_of(run.client, run.protocol)
        ),
    )


def judge_tables(
    tables: judge.OfARun, sources: Sources, rules: Sequence[str] = (), steps: Steps = unheard
) -> Found:
    """Judge a run by its tables; `sources` are the history that they are made from.

    The other parameters are those of `check`. Nothing is written.
    """
    run, lacking = tables.run, _lacking(tables, sources)
    asked = [judge.Asked(rule) for rule in rules]
    asked = asked or others.asked_of(run)
    names = [each.rule for each in asked]
    outcome = judge.examine(tables, names, lacking, steps)
    if not run.complete:  # it did not go through all its phases
        reason = f"the run is {run.status or 'without a status'}"
        reason += f": {run.status_reason}" if run.status_reason else ""
        outcome.unknown |= dict.fromkeys(names, reason)
    verdicts = judge.verdicts_of(asked, outcome, tables)
    beside = [] if rules else others.look_at(tables, names, lacking, outcome)
    verdicts += [row for row in beside if row["verdict"] == Verdict.VIOLATED]
    verdicts = expected.as_it_came(verdicts, outcome, tables)
    return Found(owned.with_changes(run, verdicts), beside, outcome)


@dataclass
class _Shelf:
    """Where derived tables are put, and read back from; no file is written without a folder."""

    folder: Path | None
    scratch: Path
    engine: Engine
    names: tuple[str, ...]  # of those that are written

    def fill(self, tables: Tables, steps: Steps) -> None:
        """Derive and write every table that can be, two at a time."""

        def derive(name: str) -> None:
            with suppress(Unreadable):  # the verdicts of the rules that need it say why
                tables.table(name)

        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="derive") as workers:
            for done, _ in enumerate(workers.map(derive, self.names), start=1):
                steps("tables", done, len(self.names))

    def store(self, name: str, frame: Frame) -> Frame:
        """A table that grows is written by the engine first; what is to last goes into one file."""
        if self.engine.files is None or name not in _GROWING:
            rows = frame.toArrow()
            if name in self.names:
                rows = rows.select(TABLES[name].names).cast(TABLES[name])
                self.write(name, [rows])
            return self.engine.rows(rows)
        folder = self.scratch / name
        stored = self.engine.files.spill(frame, folder)
        if name in self.names:
            parts = [str(part) for part in sorted(folder.glob("part-*.parquet"))]
            batches = pads.dataset(parts).to_batches()
            self.write(name, (pa.Table.from_batches([batch]) for batch in batches))
        return stored

    def write(self, name: str, pieces: Iterable[pa.Table]) -> None:
        if self.folder is not None:
            store.write(self.folder / f"{name}.parquet", pieces, TABLES[name])


def _scratch(into: Path | None) -> AbstractContextManager[str | Path]:
    """A folder for the time of a judgement: beside its files, or else where temporary files go."""
    if into is None:
        return processes.scratch("check")
    return TemporaryDirectory(prefix=".scratch-", dir=into, ignore_cleanup_errors=True)


def _lacking(tables: judge.OfARun, sources: Sources) -> dict[str, str]:
    """Why history files are not whole, by their names: what they are made from is not."""
    found: dict[str, list[str]] = {}
    if sources.rows.get("host") == 0:
        found["host"] = ["the observer noted no tick of this machine's clock"]
    for table in ("record_of_journals", "record_of_logs", "record_of_group"):
        with suppress(Unreadable):  # the rule about the record says why
            for row in tables.table(table).toArrow().to_pylist():
                for name in row["files"].split() if row["unknown"] else ():
                    found.setdefault(name, []).append(f"the {row['subject']} {row['unknown']}")
    return {name: "; ".join(sorted(reasons)) for name, reasons in found.items()}


def _write_results(into: Path, found: Found) -> None:
    judgements = judge.to_table(found.outcome)
    store.write(into / files.TABLES / "judgements.parquet", [judgements], judge.JUDGEMENTS)
    fine = pads.field("ok") == pa.scalar(True)
    bad = judgements.filter(~fine | pads.field("ok").is_null())
    for verdict in found.verdicts:
        if verdict["violations"] or verdict["unknowns"]:
            rows = bad.filter(pads.field("rule") == verdict["rule"])
            path = into / files.VIOLATIONS / f"{verdict['rule']}.parquet"
            store.write(path, [rows], judge.JUDGEMENTS)
    results = pa.Table.from_pylist(found.verdicts, schema=VERDICTS)
    store.write(into / VERDICTS_FILE, [results], VERDICTS)


__all__ = ["Found", "check", "judge_tables", "of_today"]
