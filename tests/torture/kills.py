"""Kills: processes of a short run are ended from outside, at a random instant of a phase."""

from __future__ import annotations

import random
import signal
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Final

from tests.torture import played
from tests.torture.kinds import Outcome, Round
from tests.torture.played import PHASES, Played

HARNESS: Final = "the harness"
WATCHDOG: Final = "the watchdog"
BOTH: Final = "harness and watchdog"
# By a part of their command lines; they are killed by SIGKILL, but for what ends in order.
_OTHERS: Final = {
    "the observer": "harness.run.observer",
    "Toxiproxy": "toxiproxy",
    "a member": "member-1.json",
    "the producer": "producer-1.json",
    "a broker": "broker-1.properties",
    "the controller": "controller-101.properties",
}
VICTIMS: Final = (HARNESS, HARNESS, HARNESS, WATCHDOG, BOTH, *_OTHERS, "a member")
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def victim_of(randomness: random.Random) -> str:
    """Who is killed: the first thing that a round draws."""
    return randomness.choice(VICTIMS)


def play(this: Round, results: Path, alone: AbstractContextManager[None]) -> Outcome:
    """Play one round; `results` is a folder of its own, and brokers run only while `alone`."""
    randomness = this.randomness
    victim = victim_of(randomness)
    number = randomness.choice(_SIGNALS) if victim in (HARNESS, WATCHDOG) else signal.SIGKILL
    phase = randomness.choice(list(PHASES))
    more_s = randomness.uniform(0, PHASES[phase])
    what = f"{number.name} of {victim} {more_s:.2f} s into {phase.strip(': ')}"
    with alone, closing(Played(results, "run", "short", "--seed", str(this.number))) as run:
        hit = run.await_phase(phase, more_s) and _hit(run, victim, number)
        problems, ended = _ended(run, victim, number, hit=hit)
    if run.folder is not None:
        problems += _afterwards(run.folder)
        ended += f", {played.record_of(run.folder).get('status')}"
    where = f"{number.name} of {victim}"
    return Outcome(this, what, where, ended, problems)


def _hit(run: Played, victim: str, number: signal.Signals) -> bool:
    """Send the signal; whether it reached anybody."""
    if victim == HARNESS:
        return played.send(run.process.pid, number)
    part = _OTHERS.get(victim, "harness.run.watchdog")
    found = run.find(part)
    if victim == BOTH:
        hit = played.send(run.process.pid, number)
        return (found is not None and played.send(found.pid, number)) or hit
    return found is not None and played.send(found.pid, number)


def _ended(run: Played, victim: str, number: signal.Signals, *, hit: bool) -> tuple[list[str], str]:
    code = run.end()
    killed = victim in (HARNESS, BOTH) and number == signal.SIGKILL and hit
    allowed = {-signal.SIGKILL} if killed else _allowed(victim, number, hit=hit)
    problems = played.ending(code, allowed, run.heard())
    if code is None:
        return problems, "hangs"
    run.folder = run_dir = run.run_dir
    if run_dir is None:
        return problems, f"exit code {code}, before there was a folder"
    if victim == BOTH and killed:
        problems += played.cleaned(run.results)
    else:
        problems += played.left_at_once(run_dir)
        problems += _status(run_dir, code)
    return problems, f"exit code {code}"


def _afterwards(run_dir: Path) -> list[str]:
    """What is wrong with what is left, once `clean` has been there twice."""
    results = run_dir.parents[1]
    problems = played.cleaned(results)
    problems += played.left_after_cleaning(results, run_dir)
    status = str(played.record_of(run_dir).get("status"))
    if status not in _ENDINGS:
        problems.append(f"the manifest says {status} after clean")
    problems += played.lost_frames(run_dir)
    return problems + played.wrong_verdicts(run_dir)


_ENDINGS: Final = ("complete", "interrupted", "void")


def _allowed(victim: str, number: signal.Signals, *, hit: bool) -> set[int]:
    """Exit codes that there may be: it may have been through before it was hit."""
    if not hit:
        return {0}
    if victim == HARNESS:
        return {0, 2, -number} if number == signal.SIGTERM else {0, 2}
    if victim == WATCHDOG and number != signal.SIGKILL:
        return {0}  # it ignores these
    return {0, 3}


def _status(run_dir: Path, code: int) -> list[str]:
    """What the manifest has to say, by the exit code."""
    wanted = {0: "complete", 2: "interrupted", 3: "void", -signal.SIGKILL: "interrupted"}
    status = played.record_of(run_dir).get("status")
    if status == wanted.get(code) or (code < 0 and status == "complete"):
        return []
    return [f"the manifest says {status} where the exit code is {code}"]
