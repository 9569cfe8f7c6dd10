"""Plays experiments beside a load that it makes, and goes on where the last call stopped.

    python -m tests.loaded --band 15-30 --minutes 30

A round that the table has is not played again. Exit code 1: a group was accused, or a violation
that was expected was not found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from threading import Event, Thread
from typing import Final

from harness.base import processes
from harness.base.paths import ROOT
from harness.base.wait import wait_until
from harness.check.check import check
from harness.history import manifest
from harness.suite.judging import duckdb_engine
from tests.loaded import load_makers, table
from tests.loaded.rounds import BANDS, PLAYED, Round

_LONGEST_S: Final = 900.0  # of one run, beside the greatest load
_AGAIN: Final = 2  # so often a round is played whose run is void, or whose load left its band
_QUIET: Final = 1.5  # the most load at which an idle round begins
_QUIET_S: Final = 600.0


@dataclass(frozen=True)
class Played:
    """A round whose run is complete, and the loads beside it."""

    round: Round
    run_dir: Path
    loads: tuple[float, float]


def main(arguments: Sequence[str]) -> int:
    """Play and judge; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.loaded", description=__doc__)
    parser.add_argument("--band", choices=BANDS, action="append", help="(default: all)")
    parser.add_argument("--rounds", type=int, default=len(PLAYED), help="of each band")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no round after these")
    parser.add_argument("--results", type=Path, default=Path("results/loaded"))
    given = parser.parse_args(arguments)
    until = time.monotonic() + 60 * given.minutes
    for name in given.band or BANDS:
        band = BANDS[name]
        kept = {line.number for line in table.read() if line.band == name}
        todo = [Round(band, n) for n in range(1, given.rounds + 1) if n not in kept]
        for kind in dict.fromkeys(each.kind for each in todo):
            rounds = [each for each in todo if each.kind == kind]
            for each in _played(rounds, given.results, until):
                line = _judged(each)
                table.write([*table.read(), line])
                print(f"{name} {line.number}  {line.experiment}: {_said(line)}", flush=True)
    lines = table.read()
    print(table.summary(lines))
    return int(any(line.accused or "missed" in line.expected for line in lines))


def _played(rounds: Sequence[Round], results: Path, until: float) -> list[Played]:
    """The rounds of one band and kind of load; nothing is judged beside it, which takes minutes."""
    found: list[Played] = []
    left_s = until - time.monotonic()
    if left_s <= 0:
        return found
    band, kind = rounds[0].band, rounds[0].kind
    with load_makers.loaded(band.figure, kind, left_s + _LONGEST_S) if kind else nullcontext():
        for each in rounds:
            for _ in range(_AGAIN):
                if time.monotonic() >= until:
                    return found
                if not kind:
                    _await_quiet()
                played = _run(each, results)
                if played is not None:
                    found.append(played)
                    break
    return found


def _await_quiet() -> None:
    wait_until(
        "an idle machine",
        lambda: load_makers.load_now() <= _QUIET,
        timeout_s=_QUIET_S,
        saw=lambda: f"a load of {load_makers.load_now():.1f}",
        every_s=1.0,
    )


def _run(this: Round, results: Path) -> Played | None:
    """Play a round once; none where its run is void, or its load was not in the band."""
    name, client, protocol = this.experiment
    command = [sys.executable, "-m", "harness", "run", name, "--client", client]
    command += ["--protocol", protocol, "--seed", str(this.number), "--results", str(results)]
    with _loads() as loads, processes.scratch("loaded") as scratch:
        heard = scratch / "heard"
        with heard.open("wb") as output:
            code = subprocess.run(
                command, cwd=ROOT, stdout=output, stderr=output, check=False, timeout=_LONGEST_S
            ).returncode
        said = heard.read_text(errors="replace").strip().splitlines() or [""]
    run_dir = (results / name / "latest").resolve()
    low, mean, high = min(loads), fmean(loads), max(loads)
    where = f"{this.band.name} {this.number}  {name}:{client}/{protocol} {this.kind}"
    print(
        f"{where}, load {low:.0f} to {high:.0f} ({mean:.0f}): exit code {code}, {said[-1]}",
        flush=True,
    )
    complete = code == 0 and manifest.read(run_dir).get("status") == "complete"
    inside = this.band.low <= mean <= this.band.high
    return Played(this, run_dir, (low, high)) if complete and inside else None


@contextmanager
def _loads() -> Iterator[list[float]]:
    """The 1-minute loads during it."""
    found, ended = [load_makers.load_now()], Event()

    def look() -> None:
        while not ended.wait(1.0):
            found.append(load_makers.load_now())

    looking = Thread(target=look, daemon=True)
    looking.start()
    try:
        yield found
    finally:
        ended.set()
        looking.join()


def _judged(played: Played) -> table.Line:
    with closing(duckdb_engine()) as engine:
        found = check(played.run_dir, engine, keep=False)
    expected = [row for row in found.verdicts if row["expected"] == "VIOLATED"]
    missed = [row["rule"] for row in expected if row["verdict"] == "HOLDS"]
    accused = [
        row["rule"]
        for row in found.verdicts
        if row["verdict"] == "VIOLATED" and row["expected"] != "VIOLATED"
    ]
    # The verdict of each rule, declared or not.
    verdicts = {row["rule"]: row["verdict"] for row in [*found.others, *found.verdicts]}.values()
    return table.Line(
        band=played.round.band.name,
        number=played.round.number,
        load=played.round.kind,
        experiment="{}:{}/{}".format(*played.round.experiment),
        run=played.run_dir.name,
        load_low=round(played.loads[0], 1),
        load_high=round(played.loads[1], 1),
        verdicts=sum(verdict != "UNKNOWN" for verdict in verdicts),
        withheld=sum(verdict == "UNKNOWN" for verdict in verdicts),
        accused=" ".join(accused),
        expected=" ".join(
            [*(row["rule"] for row in expected if row["verdict"] == "VIOLATED")]
            + [f"missed:{rule}" for rule in missed]
        ),
    )


def _said(line: table.Line) -> str:
    accused = f", ACCUSED {line.accused}" if line.accused else ""
    return (
        f"{line.verdicts} verdicts, {line.withheld} withheld{accused}; "
        f"expected: {line.expected or 'none'}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
