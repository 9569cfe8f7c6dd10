"""Plays the rounds of a campaign, and sums up what was found."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.torture import kills, shortages
from tests.torture.damage import Damage
from tests.torture.rounds import DAMAGE, KILLS, KINDS, Outcome, Round

_SHOWN: Final = {DAMAGE: 500}  # a line for every so many rounds; of other kinds for each


def play(rounds: Sequence[Round], results: Path, lock: Path | None = None) -> int:
    """Play them one after the other; 0 if nothing was found.

    Each outcome is a line of `rounds.jsonl`. While brokers run, `lock` is held, so that nobody else
    who takes it measures meanwhile.
    """
    results.mkdir(parents=True, exist_ok=True)
    found: list[Outcome] = []
    with (results / "rounds.jsonl").open("a") as log:
        for outcome in _played(rounds, lock):
            found.append(outcome)
            log.write(json.dumps(asdict(outcome)) + "\n")
            log.flush()
            _show(outcome)
    print(summary(found))
    return int(any(outcome.problems for outcome in found))


def _played(rounds: Sequence[Round], lock: Path | None) -> Iterator[Outcome]:
    damaging = [this for this in rounds if this.kind == DAMAGE]
    if damaging:
        with tempfile.TemporaryDirectory(prefix="torture-", dir=_memory()) as scratch:
            damage = Damage(Path(scratch))
            yield from map(damage.play, damaging)
            damage.close()
    for this in rounds:
        if this.kind != DAMAGE:
            yield _with_a_cluster(this, _alone(lock))


def _with_a_cluster(this: Round, alone: AbstractContextManager[None]) -> Outcome:
    results = Path(tempfile.mkdtemp(prefix="torture-"))
    begun = time.monotonic()
    try:
        outcome = (kills if this.kind == KILLS else shortages).play(this, results, alone)
    except Exception as error:  # noqa: BLE001 (the campaign goes on)
        last = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"
        took_s = round(time.monotonic() - begun, 1)
        outcome = Outcome(this, "", this.kind, "the round itself failed", [problem[:500]], took_s)
    if outcome.problems:
        print(f"kept for a look: {results}")
    else:
        shutil.rmtree(results, ignore_errors=True)
    return outcome


@contextmanager
def _alone(lock: Path | None) -> Iterator[None]:
    if lock is None:
        yield
        return
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _memory() -> str | None:
    """Where files are in memory, if there is such a place: damage is written thousands of times."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _show(outcome: Outcome) -> None:
    this = outcome.round
    if outcome.problems:
        print(f"FOUND {this.name}: {outcome.what}: {'; '.join(outcome.problems)}", flush=True)
    elif this.number % _SHOWN.get(this.kind, 1) == 0:
        print(f"{this.name}: {outcome.what}: {outcome.ended} ({outcome.took_s} s)", flush=True)


def summary(found: Sequence[Outcome]) -> str:
    """Rounds by kind and by what became of them, and how to play those that found anything."""
    lines = []
    for kind in KINDS:
        ours = [outcome for outcome in found if outcome.round.kind == kind]
        if not ours:
            continue
        took_s = sum(outcome.took_s for outcome in ours)
        bad = sum(bool(outcome.problems) for outcome in ours)
        lines.append(
            f"\n{kind}: {len(ours):,} rounds in {took_s:,.0f} s "
            f"({len(ours) / max(took_s, 0.001):.2f} a second), {bad} found something"
        )
        counts = Counter((outcome.where, outcome.ended) for outcome in ours)
        width = max(len(where) for where, _ in counts)
        lines += [
            f"  {where:<{width}}  {count:>6,}  {ended}"
            for (where, ended), count in sorted(counts.items())
        ]
    lines += [
        f"again: make torture SEED={outcome.round.seed} ROUND={outcome.round.name}"
        for outcome in found
        if outcome.problems
    ]
    return "\n".join(lines)
