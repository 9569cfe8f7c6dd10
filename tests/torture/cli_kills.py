"""Kills of commands that work on a kept run's files: nothing is half-written, nothing is lost.

No broker runs. What was killed at any instant is begun again, and then says what it ever said.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import HarnessError
from harness.base.paths import ROOT
from harness.check.check import check
from harness.experiment import Verdict
from harness.history import store
from harness.tables.engines.duckdb import DuckDb
from tests.torture import damage, kept, played
from tests.torture.kinds import Outcome, Round

# How long each takes on two cores that are not busy.
_COMMANDS: Final = {"collect": 0.9, "report": 1.5, "check --engine duckdb": 1.8, "check": 12.0}
_DRAWN: Final = (
    "collect",
    "collect",
    "collect",
    "report",
    "report",
    "check --engine duckdb",
    "check",
)
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_RULES: Final = ("R01", "R21", "X32a", "E01", "E03", "E05")


def play(this: Round, results: Path, _alone: AbstractContextManager[None]) -> Outcome:
    """Play one round; `results` is a folder of its own."""
    randomness = this.randomness
    command, number = randomness.choice(_DRAWN), randomness.choice(_SIGNALS)
    more_s = randomness.uniform(0, _COMMANDS[command])
    scratch = results / "crash"
    scratch.mkdir()
    run_dir = kept.raw(scratch)
    engine = DuckDb()
    try:
        check(run_dir, engine)
        code, heard = _killed([*command.split(), str(run_dir)], more_s, number)
        allowed = {0, -number} if number == signal.SIGKILL else {0, 2, -number}
        problems = played.ending(code, allowed, heard)
        problems += unreadable(run_dir)
        problems += played.cleaned(results) + played.left_after_cleaning(results, run_dir)
        problems += _wrong(run_dir, engine)
    finally:
        engine.close()
    what = f"{number.name} of {command} after {more_s:.2f} s"
    return Outcome(this, what, f"{number.name} of {command}", f"exit code {code}", problems)


def _killed(arguments: list[str], more_s: float, number: signal.Signals | None) -> tuple[int, str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=played.takes_signals,
    )
    time.sleep(more_s)
    if number is not None:
        process.send_signal(number)
    _, heard = process.communicate(timeout=played.LONGEST_S)
    return process.returncode, heard


def unreadable(run_dir: Path) -> list[str]:
    """Files that are there and not whole."""
    problems = []
    for path in sorted(run_dir.rglob("*.parquet")):
        if any(part.startswith(".") for part in path.relative_to(run_dir).parts):
            continue
        try:
            rows = pq.read_table(path, page_checksum_verification=True).num_rows
            if store.row_counts(pq.read_metadata(path)) != {rows}:
                problems.append(f"{path.name} has other rows than it says")
        except (pa.ArrowException, OSError) as error:
            problems.append(f"{path.name} is not whole: {str(error)[:100]}")
    return problems


def _wrong(run_dir: Path, engine: DuckDb) -> list[str]:
    """What is judged of it afterwards: as before, or withheld; and as before once collected."""
    allowed = {str(Verdict.HOLDS), str(Verdict.UNKNOWN)}
    problems = []
    try:
        found = damage.judged(run_dir, engine, list(_RULES))
        problems += [f"{rule} is {found[rule]}" for rule in found if found[rule] not in allowed]
    except HarnessError as error:
        problems += [] if " " in str(error) else [f"no sentence: {error}"]
    code, heard = _killed(["collect", str(run_dir)], 0.0, None)
    if code != 0:
        return [*problems, f"it cannot be collected any more: {heard[-200:]}"]
    found = damage.judged(run_dir, engine, list(_RULES))
    return problems + [
        f"{rule} is {found[rule]} once collected again"
        for rule in found
        if found[rule] != str(Verdict.HOLDS)
    ]
