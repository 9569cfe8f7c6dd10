"""Shortages: the machine stands still, few files may be open, the disk is full or read-only.

The disk is a file system in memory, in a mount namespace of its own (`unshare`), so that no
other one is filled. Where the system allows none, such a round does nothing and says so.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.torture import played
from tests.torture.kinds import Outcome, Round
from tests.torture.played import PHASES, Played

Found = tuple[str, str, str, list[str]]  # what was done, in general, how it ended, what was wrong
Alone = AbstractContextManager[None]

_LATE_S: Final = 0.3  # a standstill that the observer must have seen, while it ticks
_DISK_MB: Final = 1_100  # a run asks for 1,000 free
_MOUNT: Final = (
    'mount -t tmpfs -o "size=$1,$2" tmpfs "$3" && shift 3 && "$@"; echo "ended with $?"; read _end'
)
_ENDED: Final = re.compile(r"^ended with (\d+)$", re.MULTILINE)


def play(this: Round, results: Path, alone: Alone) -> Outcome:
    """Play one round; `results` is a folder of its own, and brokers run only while `alone`."""
    randomness = this.randomness
    way = randomness.choice(_WAYS)
    what, where, ended, problems = way(this, randomness, results, alone)
    return Outcome(this, what, where, ended, problems)


def _standstill(this: Round, randomness: random.Random, results: Path, alone: Alone) -> Found:
    """All of a run stands still for a while, its harness too: that spoils timings."""
    phase = randomness.choice(list(PHASES))
    more_s, long_s = randomness.uniform(0, PHASES[phase]), 10 ** randomness.uniform(-1, 1)
    what = f"{long_s:.1f} s of standstill {more_s:.2f} s into {phase.strip(': ')}"
    with alone, closing(Played(results, "run", "short", "--seed", str(this.number))) as run:
        hit = run.await_phase(phase, more_s) and run.run_dir is not None
        if hit and run.run_dir is not None:
            with played.stopped(run.run_dir.name, run.process.pid):
                time.sleep(long_s)
        code = run.end()
        problems = played.ending(code, {0, 3}, run.heard())
        run_dir = run.run_dir
    if run_dir is None:
        return what, "a standstill", f"exit code {code}", [*problems, "there is no run"]
    wrong = played.wrong_verdicts(run_dir)
    ticking = phase in ("faults", "recover") and more_s + 0.2 < PHASES[phase]
    if hit and code == 0 and ticking and long_s > _LATE_S:
        # What is judged across it is withheld by this; where nothing is, nothing has to be.
        late_ms = pc.max(pq.read_table(run_dir / "history" / "host.parquet")["late_ms"]).as_py()
        if late_ms < 800 * long_s:
            wrong.append(f"the observer says that it was {late_ms:.0f} ms late at most")
    problems += wrong + played.rest(results, run_dir)
    return what, "a standstill", f"exit code {code}", problems


def _few_files(this: Round, randomness: random.Random, results: Path, alone: Alone) -> Found:
    """Each process may have so many files open, and no more."""
    number = round(16 * 2 ** randomness.uniform(0, 5.5))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))

    code, problems = played.limited(this.number, results, alone, limit)
    return f"{number} files", "few files", f"exit code {code}", problems


def _full_disk(this: Round, randomness: random.Random, results: Path, alone: Alone) -> Found:
    """The disk of the results is full from an instant on."""
    phase = randomness.choice(list(PHASES))
    more_s = randomness.uniform(0, PHASES[phase])
    what = f"disk full {more_s:.2f} s into {phase.strip(': ')}"
    return _on_a_disk(this, results, alone, "rw", what, lambda run: _fill(run, phase, more_s))


def _read_only(this: Round, _randomness: random.Random, results: Path, alone: Alone) -> Found:
    """The disk of the results cannot be written from the start."""
    return _on_a_disk(this, results, alone, "ro", "disk read-only", lambda _run: None)


def _on_a_disk(
    this: Round,
    results: Path,
    alone: Alone,
    how: str,
    what: str,
    break_it: Callable[[Played], None],
) -> Found:
    where = what.partition(" into ")[0] if how == "ro" else "a full disk"
    if not unshare():
        return what, where, "left out: no mount namespaces here", []
    mounting = (*unshare(), "sh", "-c", _MOUNT, "sh", f"{_DISK_MB}m", how, str(results))
    arguments = ("run", "short", "--seed", str(this.number))
    seen = results.with_name(f"{results.name}-seen")
    with alone, closing(Played(results, *arguments, before=mounting, holds=True)) as run:
        break_it(run)
        code = run.ended_with(_ENDED)
        problems = played.ending(code, {0, 3}, run.heard())
        inside = run.root / results.relative_to("/")
        with suppress(OSError):
            (inside / _FILLER).unlink()
        shutil.copytree(inside, seen, symlinks=True)
        left = sorted(seen.glob("short/2*"))
        problems += [each for run_dir in left for each in played.left_at_once(run_dir)]
    for run_dir in left:
        problems += played.rest(seen, run_dir)
        if any((run_dir / "history").glob("*.parquet")):
            problems += played.wrong_verdicts(run_dir)
    status = " ".join(str(played.record_of(run_dir).get("status")) for run_dir in left)
    if not problems:
        shutil.rmtree(seen)
    return what, where, f"exit code {code}, {status or 'no run'}", problems


_FILLER: Final = "filler"


def _fill(run: Played, phase: str, more_s: float) -> None:
    run.await_phase(phase, more_s)
    filler = run.root / run.results.relative_to("/") / _FILLER
    piece = 2**26
    with filler.open("wb") as file, suppress(OSError):
        while piece:
            try:
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), piece)
            except OSError:
                piece //= 4
                if piece < 4096:
                    raise


@cache
def unshare() -> Sequence[str]:
    """The command that gives a mount namespace, by what this user may do; none at all else."""
    for command in (("unshare", "-m"), ("unshare", "-rm")):
        trying = (*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt")
        with suppress(OSError):
            if subprocess.run(trying, check=False, capture_output=True).returncode == 0:
                return command
    return ()


_WAYS: Final = (_standstill, _standstill, _few_files, _full_disk, _full_disk, _read_only)
