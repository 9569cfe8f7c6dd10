"""Damaged records of kept runs: a result is as before, or the damage is reported; none is wrong.

A round damages one file of one run, and compares what is made of it with what is made of the whole
run: nothing may change but to UNKNOWN, or to an error that is a sentence. Most rounds end early:
where a file is reported as damaged, or still says what it said, rules are judged by it now and then
only. Where it says something else, they always are.
"""

from __future__ import annotations

import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import Exit, HarnessError
from harness.check.check import check, judge_tables
from harness.experiment import Verdict
from harness.history import manifest, seals
from harness.history.collect import Journals
from harness.history.schema import HISTORY
from harness.report import exit_code, report
from harness.tables.engines.contract import Engine
from harness.tables.engines.duckdb import DuckDb
from harness.tables.source import Sources, Unreadable, _frame, load, read_run, verify
from harness.trend import dataset
from tests.in_memory import tables_of_run
from tests.torture import damaging, kept
from tests.torture.kinds import Outcome, Round

UNKNOWN: Final = str(Verdict.UNKNOWN)
_FEW: Final = 4  # rules that are judged where the damage concerns the whole record
_DEEP: Final = 0.02  # of the rounds in which damage was reported are judged all the same

Found = tuple[str, str, list[str]]  # what was damaged, how that ended, what was wrong


@dataclass(frozen=True)
class Whole:
    """A kept run, and what is made of it as long as it is whole: verdicts, and rows as read."""

    folder: Path
    verdicts: Mapping[str, str]
    history: Mapping[str, pa.Table]
    exit: int
    sealed: Mapping[str, str]
    killed: Sequence[str]


def whole(folder: Path, engine: Engine) -> Whole:
    """Judge a run that is not damaged yet."""
    rows = check(folder, engine).verdicts
    return Whole(
        folder,
        {row["rule"]: row["verdict"] for row in rows},
        _rows(load(folder, engine)),
        exit_code(folder),
        seals.kept(folder),
        manifest.read(folder).get("killed", []),
    )


class Damage:
    """Plays rounds of damage, one at a time, in a folder of its own."""

    def __init__(self, scratch: Path, translations: Path | None = None) -> None:
        self.engine = DuckDb(translations)
        self._scratch = scratch
        self._doing = ""
        self._right: pa.Table | None = None
        self._runs = {
            name: whole(folder, self.engine) for name, folder in kept.unpacked(scratch).items()
        }

    def close(self) -> None:
        """Give up the engine."""
        self.engine.close()

    def play(self, this: Round) -> Outcome:
        """Play one round."""
        begun, randomness = time.monotonic(), this.randomness
        where, way = randomness.choice(_WAYS)
        what, ended = "", ""
        problems: list[str] = []
        try:
            what, ended, problems = way(self, randomness)
        except Exception as error:  # noqa: BLE001 (a traceback is what is looked for)
            last = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{Path(last.filename).name}:{last.lineno}"
            what = what or self._doing
            problems = [f"{type(error).__name__} at {at}: {str(error)[:200]}"]
            ended = "traceback"
        took_s = time.monotonic() - begun
        return Outcome(this, what, where, ended, problems, round(took_s, 4))

    @contextmanager
    def _damaged(
        self, path: Path, way: damaging.Way, randomness: random.Random
    ) -> Iterator[tuple[str, bool]]:
        """One file damaged for a while; what was done, and whether that changes anything."""
        before = path.read_bytes()
        what, after = way(before, randomness)
        self._doing = f"{path.parent.name}/{path.name} of {path.parents[1].name}: {what}"
        path.write_bytes(after)
        try:
            yield self._doing, after != before
        finally:
            path.write_bytes(before)

    def _any_run(self, randomness: random.Random) -> Whole:
        return self._runs[randomness.choice((kept.RAW, *kept.RECORDED))]

    def sealed(self, randomness: random.Random) -> Found:
        """A file of a history with seals: each change has to be noticed."""
        run, path = self._any_history(randomness)
        way = randomness.choice((damaging.of_any_file, damaging.of_any_file, self._foreign(path)))
        with self._damaged(path, way, randomness) as (what, changes):
            heard = self._reported(run, path, run.sealed[f"history/{path.name}"])
            if heard == "" and changes:
                return what, "wrong", ["nothing says that it is another"]
            if heard and not changes:
                return what, "wrong", [f"nothing has changed, and it says {heard}"]
            if changes and randomness.random() < _DEEP:
                return what, "reported, judged", self._wrong(run.folder, run.verdicts)
            return what, "reported" if changes else "no change", []

    def unsealed(self, randomness: random.Random) -> Found:
        """A file of a history as older runs have it, without seals: Parquet itself reports it."""
        run, path = self._any_history(randomness)
        with self._damaged(path, damaging.of_any_file, randomness) as (what, _):
            deep = randomness.random() < _DEEP
            if self._reported(run, path, None):
                ended = "reported"
            elif _rows_of(path, self.engine).equals(run.history[path.stem]):
                return what, "no difference", []
            else:
                ended, deep = "not reported", True
            if not deep:
                return what, ended, []
            with _without_seals(run.folder):
                return what, f"{ended}, judged", self._wrong(run.folder, run.verdicts)

    def _any_history(self, randomness: random.Random) -> tuple[Whole, Path]:
        run = self._any_run(randomness)
        return run, randomness.choice(sorted((run.folder / "history").iterdir()))

    def _reported(self, run: Whole, path: Path, seal: str | None) -> str:
        """Why `check` does not use a file; empty where it does."""
        try:
            verify(path, HISTORY[path.stem], seal)
            _rows_of(path, self.engine)
        except Unreadable as reason:
            return str(reason)
        return ""

    def journals(self, randomness: random.Random) -> Found:
        """A journal: each change has to be on record, without seals as well."""
        run = self._runs[kept.RAW]
        path = randomness.choice(sorted((run.folder / "journals").glob("*.journal")))
        # One that was killed closes no journal, and nothing but a seal shows where it ended.
        sealed = randomness.random() < 0.3 or path.stem in run.killed
        if randomness.random() < 0.05:
            return self._collected(run, path, None, randomness, sealed=sealed)
        before = self._on_record(run, path, sealed=sealed)
        with self._damaged(path, damaging.of_a_journal, randomness) as (what, changes):
            after = self._on_record(run, path, sealed=sealed)
            data = path.read_bytes()
        what += "" if sealed else ", not sealed"
        heard = after[1] != before[1]
        if sealed and changes and not heard:
            return what, "wrong", ["nothing says that it is another"]
        if after[0] == before[0] and not heard:
            return what, "no difference", []
        if heard and randomness.random() >= _DEEP:
            return what, "reported", []
        return self._collected(run, path, data, randomness, sealed=sealed, what=what)

    def _on_record(self, run: Whole, path: Path, *, sealed: bool) -> tuple[object, object]:
        """The frames of a journal, and what is on record of its being whole."""
        killed = frozenset(run.killed)
        journals = Journals(path.parent, killed, run.sealed if sealed else {})
        content = journals.read(path.stem)
        (row,) = journals.rows
        about = {name: row.get(name) for name in ("torn", "cut", "gaps", "ending", "changed")}
        return content.frames, about

    def logs(self, randomness: random.Random) -> Found:
        """A broker's log, or what a process was started with. Changes are noticed by seals.

        A flipped bit of a text without a seal cannot be noticed.
        """
        run = self._runs[kept.RAW]
        logs, configs = run.folder / "logs", run.folder / "journals"
        path = randomness.choice(sorted([*logs.glob("broker-*.log"), *configs.glob("*.json")]))
        with self._damaged(path, damaging.of_lines, randomness) as (what, changes):
            heard = seals.changed(run.folder, run.sealed, f"{path.parent.name}/{path.name}")
            data = path.read_bytes()
        if changes is not heard:
            return what, "wrong", [f"its seal says that it is another: {heard}"]
        if randomness.random() >= _DEEP:
            return what, "reported" if heard else "no change", []
        gone = None if randomness.random() < 0.2 else data
        return self._collected(run, path, gone, randomness, sealed=True, what=what)

    def _collected(
        self,
        run: Whole,
        path: Path,
        data: bytes | None,
        randomness: random.Random,
        *,
        sealed: bool,
        what: str = "",
    ) -> Found:
        """The history collected again, from another journal or log, or without it (null)."""
        again = self._scratch / "again"
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(run.folder, again)
        other = again / path.parent.name / path.name
        if data is None:
            what = f"{path.name} missing{'' if sealed else ', not sealed'}"
            other.unlink()
        else:
            other.write_bytes(data)
        self._doing = what
        if not sealed:
            facts = manifest.read(again)
            manifest.write(again, {key: facts[key] for key in facts if key != seals.FIELD})
        kept.recollect(again)
        if sealed:
            seals.renew(again)
        problems = self._wrong(again, self._some(run.verdicts, randomness))
        heard = judged(again, self.engine, ["E05"])["E05"]
        whole = data is not None and data == path.read_bytes()
        if heard != UNKNOWN and not whole and (sealed or data is None):
            problems.append(f"E05 is {heard}")
        return what, "collected again, judged", problems

    def manifest(self, randomness: random.Random) -> Found:
        """The manifest, by which all the rest is judged."""
        run = self._any_run(randomness)
        path = run.folder / manifest.FILE_NAME
        with self._damaged(path, damaging.of_json, randomness) as (what, _):
            try:
                manifest.read(run.folder)
                few = self._some(run.verdicts, randomness)
                return what, "judged", self._wrong(run.folder, few)
            except HarnessError as error:
                return what, "refused", _no_sentence(error)

    def page(self, randomness: random.Random) -> Found:
        """What judging has left: the page and the exit code that are made of it."""
        run = self._any_run(randomness)
        files = [
            run.folder / "verdicts.parquet",
            *sorted((run.folder / "tables").glob("*.parquet")),
        ]
        path = randomness.choices(files, [8, *(1 for _ in files[1:])])[0]
        with self._damaged(path, damaging.of_any_file, randomness) as (what, _):
            try:
                found = exit_code(run.folder)
                if randomness.random() < _DEEP:
                    report(run.folder)
            except HarnessError as error:
                return what, "refused", _no_sentence(error)
            if found not in (run.exit, Exit.FAILED, Exit.NO_DATA):
                return what, "wrong", [f"exit code {found} instead of {run.exit}"]
            return what, "same exit code" if found == run.exit else "no verdicts", []

    def dataset(self, randomness: random.Random) -> Found:
        """A file of the dataset that outlives its run."""
        run = self._runs[kept.RAW]
        results = self._scratch / "results"
        if not results.exists():
            link = results / "some" / run.folder.name
            link.parent.mkdir(parents=True)
            shutil.copytree(run.folder, link)
            dataset.accumulate(results)
            shutil.rmtree(link)
        (path,) = (results / dataset.FOLDER).glob("*/*/*/*.parquet")
        right = self._right = self._right or pq.read_table(path)
        with self._damaged(path, damaging.of_any_file, randomness) as (what, _):
            if dataset._damage_of(path) is not None:
                return what, "reported", []
            rows = pq.read_table(path, page_checksum_verification=True)
            if rows.equals(right):
                return what, "no difference", []
            return what, "wrong", ["other rows, and nothing says so"]

    def _foreign(self, path: Path) -> damaging.Way:
        """The file of this name of another run."""

        def foreign(data: bytes, randomness: random.Random) -> damaging.Damaged:
            others = [
                other
                for each in self._runs.values()
                if (other := each.folder / "history" / path.name).exists() and other != path
            ]
            if not others:  # it came with the schema of the last one
                return damaging.of_any_file(data, randomness)
            other = randomness.choice(others)
            return f"that of {other.parents[1].name}", other.read_bytes()

        return foreign

    def _some(self, verdicts: Mapping[str, str], randomness: random.Random) -> dict[str, str]:
        """Some of the verdicts, to be judged again."""
        names = randomness.sample(sorted(verdicts), min(_FEW, len(verdicts)))
        return {name: verdicts[name] for name in names}

    def _wrong(self, run_dir: Path, verdicts: Mapping[str, str]) -> list[str]:
        """Verdicts that are neither what they were nor UNKNOWN."""
        found = judged(run_dir, self.engine, list(verdicts))
        return [
            f"{rule} was {verdicts[rule]} and is {found[rule]}"
            for rule in verdicts
            if found[rule] not in (verdicts[rule], UNKNOWN)
        ]


def judged(run_dir: Path, engine: Engine, rules: list[str]) -> dict[str, str]:
    """The verdicts of some rules, with those tables only that they need. Raises as `check` does."""
    run = read_run(run_dir)
    sources = load(run_dir, engine)
    tables = tables_of_run(engine, run, sources)
    try:
        found = judge_tables(tables, sources, rules).verdicts
        return {row["rule"]: row["verdict"] for row in found}
    finally:
        tables.close()


def _rows(sources: Sources) -> dict[str, pa.Table]:
    return {name: frame.toArrow() for name, frame in sources.frames.items()}


def _rows_of(path: Path, engine: Engine) -> pa.Table:
    return _frame(path, HISTORY[path.stem], engine).toArrow()


@contextmanager
def _without_seals(run_dir: Path) -> Iterator[None]:
    path = run_dir / manifest.FILE_NAME
    before = path.read_bytes()
    facts = manifest.read(run_dir)
    manifest.write(run_dir, {key: facts[key] for key in facts if key != seals.FIELD})
    try:
        yield
    finally:
        path.write_bytes(before)


def _no_sentence(error: HarnessError) -> list[str]:
    text = str(error)
    return [] if " " in text and "Traceback" not in text else [f"no sentence: {text!r}"]


Way = Callable[[Damage, random.Random], Found]
# By how often each is drawn.
_WAYS: Final[tuple[tuple[str, Way], ...]] = (
    *(("a sealed history", Damage.sealed),) * 5,
    *(("a history without seals", Damage.unsealed),) * 5,
    *(("journals", Damage.journals),) * 4,
    *(("brokers' logs", Damage.logs),) * 2,
    *(("the manifest", Damage.manifest),) * 2,
    *(("verdicts and tables", Damage.page),) * 2,
    *(("the dataset", Damage.dataset),) * 2,
)
