"""`make diff-recorded`: which rows of recorded runs are not those of an old commit.

The code of both writes every verdict, row and table of each run, a line each; git compares them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from harness.base.paths import ROOT
from harness.check.check import check
from harness.report.load import load
from harness.report.parts.situations import shown as situations
from harness.tables.engines.contract import Engine
from tests.recorded.keep import PROGRAMS, RUNS
from tests.recorded.recorded_tables import derived
from tests.recorded.test_recorded_programs import as_situation
from tests.recorded.test_recorded_runs import as_row, as_verdict, copied
from tests.recorded.test_recorded_tables import PINNED, names_of, shown
from tests.remembering import Remembering


def main(arguments: Sequence[str]) -> int:
    """Print the difference, or that there is none; the exit code."""
    parser = argparse.ArgumentParser(prog="tests.recorded.diff")
    parser.add_argument("--since", default="HEAD", help="the old commit")
    parser.add_argument("--run", default="", help="runs whose names begin so; without it all")
    parser.add_argument("--write", type=Path, help="only write the rows, into this folder")
    asked = parser.parse_args(arguments)
    if asked.write:
        write(asked.write, asked.run)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            with _checked_out(asked.since, folder / "tree") as old:
                _written_by(old, folder / "old", asked.run)
            _written_by(ROOT, folder / "new", asked.run)
        except subprocess.CalledProcessError as failed:
            print(f"exit code {failed.returncode} of {failed.cmd[:4]}", file=sys.stderr)
            return 1
        compare = ("git", "--no-pager", "diff", "--no-index", "--unified=0", "old", "new")
        if not subprocess.run(compare, cwd=folder, check=False).returncode:
            print(f"no row differs from those of {asked.since}")
    return 0


@contextmanager
def _checked_out(commit: str, tree: Path) -> Iterator[Path]:
    """A folder with the repository as it was, removed again."""
    git = ("git", "-C", str(ROOT), "worktree")
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _written_by(tree: Path, into: Path, run: str) -> None:
    command = (sys.executable, "-m", "tests.recorded.diff", "--write", str(into), "--run", run)
    subprocess.run(command, cwd=tree, check=True)


def write(into: Path, beginning: str) -> None:
    """A file for each run whose name begins so."""
    into.mkdir()
    engine = Remembering()
    for run in sorted([*RUNS.iterdir(), *PROGRAMS.iterdir()]):
        if run.name.startswith(beginning):
            (into / run.name).write_text("".join(f"{line}\n" for line in found(run, engine)))
    engine.close()


def found(run: Path, engine: Engine) -> Iterator[str]:
    """Everything that is pinned of a run, each row in full."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = copied(run, Path(folder) / run.name)
        judged = check(run_dir, engine)
        yield from map(as_verdict, judged.verdicts)
        yield from (f"{as_verdict(row)}, undeclared" for row in judged.others)
        rows = pq.read_table(run_dir / "tables" / "judgements.parquet").to_pylist()
        yield from map(as_row, rows)
        if run.parent == PROGRAMS:
            yield from map(as_situation, situations(load(run_dir)))
    if run in PINNED:
        for name, lines in shown(run, derived(run, engine, *names_of(run))):
            yield from (f"{name}: {line}" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
