"""Kills of a night: the command, the process that plays its run, or the judge, at any instant.

Whatever was killed, the night's record and page say what became of its run; an interrupted one ends
with what there is.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Final

import psutil

from harness.base.wait import wait_until
from tests.torture import played
from tests.torture.kinds import Outcome, Round
from tests.torture.played import LONGEST_S, Played

COMMAND: Final = "the night"
PLAYER: Final = "its player"
JUDGE: Final = "its judge"
_PARTS: Final = {PLAYER: "harness.suite.player", JUDGE: "harness.suite.background"}
_VICTIMS: Final = (COMMAND, COMMAND, PLAYER, JUDGE)
# A night of one short run takes so long; its judge begins when the run has been played.
_PLAYED_S: Final = 9.0
_JUDGED_S: Final = 12.0


def play(this: Round, results: Path, alone: AbstractContextManager[None]) -> Outcome:
    """Play one round; `results` is a folder of its own, and brokers run only while `alone`."""
    randomness = this.randomness
    victim = randomness.choice(_VICTIMS)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    number = randomness.choice(numbers) if victim == COMMAND else signal.SIGKILL
    longest_s = {JUDGE: _JUDGED_S, PLAYER: _PLAYED_S}.get(victim, _PLAYED_S + _JUDGED_S)
    more_s = randomness.uniform(0, longest_s)
    since = f"the start of {victim}" if victim != COMMAND else "its first line"
    what = f"{number.name} of {victim} {more_s:.2f} s after {since}"
    arguments = ("nightly", "--only", "short", "--seed", str(this.number))
    with alone, closing(Played(results, *arguments)) as night:
        hit = _hit(night, victim, number, more_s)
        code = night.end()
        problems = _ending(night, code, victim, number, hit=hit)
        for run_dir in _runs(results):
            problems += played.left_at_once(run_dir)
    for run_dir in _runs(results):
        problems += played.cleaned(results) + played.left_after_cleaning(results, run_dir)
    return Outcome(this, what, f"{number.name} of {victim}", f"exit code {code}", problems)


def _hit(night: Played, victim: str, number: signal.Signals, more_s: float) -> bool:
    """Send the signal; whether it reached anybody."""
    if victim == COMMAND:
        return night.await_phase("run 1 of", more_s) and played.send(night.process.pid, number)

    def there() -> list[psutil.Process] | bool:
        return night.process.poll() is not None or list(_children(night, _PARTS[victim]))

    found = wait_until(f"start of {victim}", there, timeout_s=LONGEST_S, saw=night.heard)
    time.sleep(more_s)
    if not isinstance(found, list):
        return False
    return found[0].is_running() and played.send(found[0].pid, number)


def _children(night: Played, part: str) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):
        for process in psutil.Process(night.process.pid).children():
            with suppress(psutil.Error):
                if part in " ".join(process.cmdline()):
                    yield process


def _ending(
    night: Played, code: int | None, victim: str, number: signal.Signals, *, hit: bool
) -> list[str]:
    allowed = {0, 1}  # a busy machine withholds timings
    if hit:
        ends = {signal.SIGINT: 2, signal.SIGTERM: 2, signal.SIGKILL: -9}
        allowed |= {ends[number]} if victim == COMMAND else {3}
    problems = played.ending(code, allowed, night.heard())
    folders = [path.parent for path in night.results.glob("nightly/2*/suite.json")]
    for folder in folders if code is not None and code >= 0 else []:
        record = json.loads((folder / "suite.json").read_text())
        if record["interrupted"] is not (code == 2) or not record["ended_at"]:
            problems.append(f"the record says {record['interrupted']}, {record['ended_at']}")
        lacking = [name for name in ("index.html", "junit.xml") if not (folder / name).is_file()]
        problems += [f"{name} is missing" for name in lacking]
    return problems


def _runs(results: Path) -> list[Path]:
    return sorted(path for path in results.glob("short/2*") if path.is_dir())
