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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, TextIO

from tests.torture import check_kills, cli_kills, clock_jumps, kills, memory, nights, shortages
from tests.torture.damage import Damage
from tests.torture.kinds import (
    CHECKS,
    CLOCKS,
    COMMANDS,
    DAMAGE,
    KILLS,
    KINDS,
    MEMORY,
    NIGHTS,
    SHORTAGES,
    Outcome,
    Round,
)

_PLAY: Final = {
    KILLS: kills.play,
    NIGHTS: nights.play,
    COMMANDS: cli_kills.play,
    CHECKS: check_kills.play,
    SHORTAGES: shortages.play,
    CLOCKS: clock_jumps.play,
    MEMORY: memory.play,
}
_SHOWN: Final = {DAMAGE: 500}  # a line for every so many rounds; of other kinds for each


def play(rounds: Sequence[Round], results: Path, lock: Path | None = None) -> int:
    """Play them one after the other; 0 if nothing was found.

    Each outcome is a line of `rounds.jsonl`. While brokers run, `lock` is held, so that no other
    holder of it measures then.
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
            yield _with_a_cluster(this, _Alone(lock))


def _with_a_cluster(this: Round, alone: _Alone) -> Outcome:
    results = Path(tempfile.mkdtemp(prefix="torture-"))
    begun = time.monotonic()
    try:
        outcome = _PLAY[this.kind](this, results, alone)
    except Exception as error:  # noqa: BLE001 (the campaign goes on)
        last = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"
        outcome = Outcome(this, "", this.kind, "the round itself failed", [problem[:500]])
    outcome = replace(outcome, took_s=round(time.monotonic() - begun - alone.waited_s, 1))
    if outcome.problems:
        print(f"kept for a look: {results}")
    else:
        shutil.rmtree(results, ignore_errors=True)
    return outcome


class _Alone:
    """Holds a lock in_between, if there is one; how long that was waited for is no time of ours."""

    def __init__(self, lock: Path | None) -> None:
        self._lock = lock
        self._file: TextIO | None = None
        self.waited_s = 0.0

    def __enter__(self) -> None:
        begun = time.monotonic()
        if self._lock is not None:
            self._file = self._lock.open("a")
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self.waited_s = time.monotonic() - begun

    def __exit__(self, *_raised: object) -> None:
        if self._file is not None:
            self._file.close()


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
