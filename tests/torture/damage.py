"""Damaged records of kept runs: what is made of them is told, or as before, and never wrong.

A round damages one file of one run, and compares what is made of it with what is made of the whole
run: nothing may change but to UNKNOWN, or to an error that is a sentence. Most rounds end early:
where a file is told to be damaged or still says what it said, no rule has to be judged by it.
"""

from __future__ import annotations

import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import Exit, HarnessError
from harness.check import check as checking
from harness.check import judge
from harness.experiment import Verdict
from harness.history import manifest, seals
from harness.history.schema import HISTORY
from harness.report import exit_code, report
from harness.tables.engines.base import Engine
from harness.tables.engines.duckdb import DuckDb
from harness.tables.source import Sources, load, read_run
from harness.trend import dataset
from tests.in_memory import tables_of_run
from tests.torture import damaging, kept
from tests.torture.rounds import Outcome, Round

UNKNOWN: Final = str(Verdict.UNKNOWN)
_SMALL: Final = 10**9
_FEW: Final = 4  # rules that are judged where the damage concerns the whole record


@dataclass(frozen=True)
class Whole:
    """A kept run, and what is made of it as long as it is whole: verdicts, and rows as read."""

    folder: Path
    verdicts: Mapping[str, str]
    history: Mapping[str, pa.Table]
    exit: int


def whole(folder: Path, engine: Engine) -> Whole:
    """Judge a run that nobody has damaged yet."""
    rows = checking.check(folder, engine)
    return Whole(
        folder,
        {row["rule"]: row["verdict"] for row in rows},
        _rows(load(folder, engine, _SMALL)),
        exit_code(folder),
    )


class Damage:
    """Plays rounds of damage, one at a time, in a folder of its own."""

    def __init__(self, scratch: Path, translations: Path | None = None) -> None:
        self.engine = DuckDb(translations)
        self._scratch = scratch
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
        what, ended, problems = "", "", []
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

    _doing = ""

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

    def sealed(self, randomness: random.Random) -> tuple[str, str, list[str]]:
        """A file of a history with seals: each change has to be told."""
        run = self._any_run(randomness)
        name = randomness.choice(sorted(HISTORY))
        path = run.folder / "history" / f"{name}.parquet"
        if not path.exists():
            return f"{name} of {run.folder.name} is not there", "nothing to damage", []
        way = randomness.choice((damaging.of_any_file, damaging.of_any_file, self._foreign(path)))
        with self._damaged(path, way, randomness) as (what, changes):
            found = load(run.folder, self.engine, _SMALL)
            told = {name} if changes else set()
            lacking = set(found.unreadable) - set(load_missing(run))
            if lacking != told:
                return what, "wrong", [f"told of {sorted(lacking)} instead of {sorted(told)}"]
            return what, "told" if changes else "no change", []

    def unsealed(self, randomness: random.Random) -> tuple[str, str, list[str]]:
        """A file of a history as older runs have it, without seals: as told by Parquet itself."""
        run = self._any_run(randomness)
        name = randomness.choice(sorted(HISTORY))
        path = run.folder / "history" / f"{name}.parquet"
        if not path.exists():
            return f"{name} of {run.folder.name} is not there", "nothing to damage", []
        with (
            _without_seals(run.folder),
            self._damaged(path, damaging.of_any_file, randomness) as (what, _),
        ):
            found = load(run.folder, self.engine, _SMALL)
            if name in found.unreadable:
                return what, "told", []
            if _rows(found)[name].equals(run.history[name]):
                return what, "no difference", []
            return what, "judged", self._wrong(run.folder, run.verdicts)

    def raw(self, randomness: random.Random) -> tuple[str, str, list[str]]:
        """A journal or a broker's log, and the history collected from it again."""
        run = self._runs[kept.RAW]
        files = sorted(
            [
                *(run.folder / "journals").glob("*.journal"),
                *(run.folder / "journals").glob("*.json"),
                *(run.folder / "logs").glob("broker-*.log"),
            ]
        )
        path = randomness.choice(files)
        journal = path.suffix == ".journal"
        way = damaging.of_a_journal if journal else damaging.of_lines
        # A flipped bit of a text that nobody has sealed can be told by nobody.
        sealed = not journal or randomness.random() < 0.5
        again = self._scratch / "again"
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(run.folder, again)
        if not sealed:
            facts = manifest.read(again)
            manifest.write(again, {key: facts[key] for key in facts if key != seals.FIELD})
        with self._damaged(again / path.parent.name / path.name, way, randomness) as (what, changes):
            what += "" if sealed else ", not sealed"
            if randomness.random() < 0.1:
                (again / path.parent.name / path.name).unlink()
                what, changes = f"{path.name} missing{'' if sealed else ', not sealed'}", True
            kept.recollect(again)
            if sealed:
                seals.renew(again)
            if not changes:
                return what, "no change", []
            found = load(again, self.engine, _SMALL)
            rows = _rows(found)
            if all(rows[name].equals(run.history[name]) for name in rows):
                # What is sealed and has changed is on record (`journals`, `logs`).
                problems = [f"{path.name} is another, and nothing says so"] if sealed else []
                return what, "no difference", problems
            few = self._some(run.verdicts, randomness)
            return what, "judged", self._wrong(again, few)

    def manifest(self, randomness: random.Random) -> tuple[str, str, list[str]]:
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

    def page(self, randomness: random.Random) -> tuple[str, str, list[str]]:
        """What judging has left: the page and the exit code that are made of it."""
        run = self._any_run(randomness)
        files = sorted([run.folder / "verdicts.parquet", *(run.folder / "tables").glob("*.parquet")])
        weights = [8, *(1 for _ in files[1:])]
        path = randomness.choices(sorted(files, key=lambda each: each.parent.name == "tables"), weights)[0]
        right = run.exit
        with self._damaged(path, damaging.of_any_file, randomness) as (what, _):
            try:
                found = exit_code(run.folder)
                if randomness.random() < 0.2:
                    report(run.folder)
            except HarnessError as error:
                return what, "refused", _no_sentence(error)
            if found not in (right, Exit.FAILED, Exit.NO_DATA):
                return what, "wrong", [f"exit code {found} instead of {right}"]
            return what, "same exit code" if found == right else "no verdicts", []

    def dataset(self, randomness: random.Random) -> tuple[str, str, list[str]]:
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
        right = pq.read_table(path)
        with self._damaged(path, damaging.of_any_file, randomness) as (what, _):
            if dataset.mended(results):
                return what, "told", []
            rows = pq.read_table(path, page_checksum_verification=True)
            if rows.equals(right):
                return what, "no difference", []
            return what, "wrong", ["other rows, and nothing says so"]

    def _foreign(self, path: Path) -> damaging.Way:
        """The file of this name of another run."""

        def foreign(_data: bytes, randomness: random.Random) -> damaging.Damaged:
            others = [
                other
                for each in self._runs.values()
                if (other := each.folder / "history" / path.name).exists() and other != path
            ]
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
    sources = load(run_dir, engine, _SMALL)
    tables = tables_of_run(engine, run, sources)
    try:
        outcome = judge.examine(tables, rules, checking._lacking(tables, sources))
        if not run.complete:
            checking._doubt(run, outcome, rules)
        return {
            rule: judge.verdict_of(judge.Asked(rule), outcome, tables)["verdict"] for rule in rules
        }
    finally:
        tables.close()


def load_missing(run: Whole) -> list[str]:
    """Files that the whole run has not: it is of an older schema."""
    return [name for name in HISTORY if not (run.folder / "history" / f"{name}.parquet").exists()]


def _rows(sources: Sources) -> dict[str, pa.Table]:
    return {name: frame.toArrow() for name, frame in sources.frames.items()}


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


Way = Callable[[Damage, random.Random], tuple[str, str, list[str]]]
# By how often each is drawn.
_WAYS: Final[tuple[tuple[str, Way], ...]] = (
    *(("a sealed history", Damage.sealed),) * 5,
    *(("a history without seals", Damage.unsealed),) * 5,
    *(("journals and logs", Damage.raw),) * 4,
    *(("the manifest", Damage.manifest),) * 2,
    *(("verdicts and tables", Damage.page),) * 2,
    *(("the dataset", Damage.dataset),) * 2,
)
