"""Clocks: the time of day jumps, for all processes of a run at once, and none is set for real.

A small library (jumping.c) is loaded into each of them and adds to the time of day what a file
says. Toxiproxy is linked to no C library, so it keeps the right time, as another machine would.
Where there is no C compiler such a round does nothing and says so.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.torture import played
from tests.torture.kinds import Outcome, Round
from tests.torture.played import PHASES, Played

COMPILER: Final = "cc"
_JUMPS_S: Final = (3.0, -3.0, 3_600.0, -3_600.0)


def play(this: Round, results: Path, alone: AbstractContextManager[None]) -> Outcome:
    """Play one round; `results` is a folder of its own, and brokers run only while `alone`."""
    what, phase, more_s, jump_s = drawn(this)
    where = f"the clock jumps by {jump_s:+.0f} s"
    if shutil.which(COMPILER) is None:
        return Outcome(this, what, where, "left out: no C compiler here")
    loaded, wrong_by = (results.with_name(f"{results.name}-{each}") for each in ("so", "wrong-by"))
    _make_library(loaded)
    _jump(wrong_by, 0)
    environment = {"LD_PRELOAD": str(loaded), "JUMP_FILE": str(wrong_by)}
    arguments = ("run", "short", "--seed", str(this.number))
    with alone, closing(Played(results, *arguments, environment=environment)) as run:
        hit = run.await_phase(phase, more_s)
        _jump(wrong_by, jump_s)
        code = run.end()
        problems = played.ending(code, {0, 3}, run.heard())
        run_dir = run.run_dir
    wrong_by.unlink()
    loaded.unlink()
    if run_dir is None:
        return Outcome(this, what, where, f"exit code {code}", [*problems, "there is no run"])
    if hit and code == 0 and phase in ("faults", "recover"):
        problems += _unseen(run_dir, jump_s)
    problems += played.wrong_verdicts(run_dir) + played.rest(results, run_dir)
    return Outcome(this, what, where, f"exit code {code}", problems)


def drawn(this: Round) -> tuple[str, str, float, float]:
    """What a round does, in words; the phase, how long after its begin, and by how much."""
    randomness = this.randomness
    phase = randomness.choice(list(PHASES))
    more_s, jump_s = randomness.uniform(0, PHASES[phase]), randomness.choice(_JUMPS_S)
    what = f"the clock jumps by {jump_s:+.0f} s {more_s:.2f} s into {phase.strip(': ')}"
    return what, phase, more_s, jump_s


def _make_library(made: Path) -> None:
    source = Path(__file__).with_name("jumping.c")
    command = (COMPILER, "-O2", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl")
    subprocess.run(command, check=True)


def _jump(file: Path, by_s: float) -> None:
    """Have all processes be wrong by this from now on; each has the file in its memory."""
    with file.open("r+b" if file.exists() else "wb") as opened:
        opened.write(struct.pack("=q", round(by_s * 1e6)))


def _unseen(run_dir: Path, jump_s: float) -> list[str]:
    """What is wrong if the record does not show the jump."""
    host = pq.read_table(run_dir / "history" / "host.parquet").sort_by("clock_us")
    ahead_us = pc.subtract(host["at"].cast(pa.int64()), host["clock_us"])
    seen_s = (pc.max(ahead_us).as_py() - pc.min(ahead_us).as_py()) / 1e6
    if abs(seen_s - abs(jump_s)) < 0.1:
        return []
    return [f"the observer saw the clock jump by {seen_s:.3f} s"]
