"""Plays a campaign, and sums it up. See the package."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.base.processes import scratch_folder
from tests.torture import campaign, kept
from tests.torture.kills import VICTIMS, victim_of
from tests.torture.kinds import KILLS, KINDS, Round

_USUAL: Final = {
    "kills": 20,
    "nights": 2,
    "commands": 20,
    "checks": 10,
    "damage": 2_000,
    "shortages": 10,
    "clocks": 5,
    "memory": 5,
}


def main(arguments: Sequence[str]) -> int:
    """0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    usual = " ".join(f"{kind}={count}" for kind, count in _USUAL.items())
    parser.add_argument("--rounds", default=usual, help=f"of each kind (default: {usual})")
    parser.add_argument("--seed", type=int, default=1, help="what rounds are drawn from (1)")
    parser.add_argument("--round", help="only this one, such as damage-17")
    parser.add_argument("--since", type=int, default=1, help="the first number of each kind (1)")
    parser.add_argument(
        "--victim", choices=sorted(set(VICTIMS)), help="of kills, only those that kill this"
    )
    parser.add_argument("--lock", type=Path, help="a file whose lock is held while brokers run")
    parser.add_argument("--results", type=Path, default=Path("results/torture"))
    parser.add_argument("--keep", type=Path, metavar="RUN", help="renew the archive, and no more")
    given = parser.parse_args(arguments)
    if given.keep is not None:
        kept.keep(given.keep.resolve(), scratch_folder("torture"))
        return 0
    rounds = _rounds(parser, given)
    return campaign.play(rounds, given.results, given.lock)


def _rounds(parser: argparse.ArgumentParser, given: argparse.Namespace) -> list[Round]:
    if given.round:
        kind, _, number = given.round.partition("-")
        if kind not in KINDS or not number.isdecimal():
            parser.error(f"{given.round} is no round: write damage-17, or another of {KINDS}")
        return [Round(given.seed, kind, int(number))]
    found: list[Round] = []
    for part in given.rounds.split():
        kind, _, count = part.partition("=")
        if kind not in KINDS or not count.isdecimal():
            parser.error(f"{part} is no number of rounds: write kills=20, or another of {KINDS}")
        drawn = (Round(given.seed, kind, number) for number in itertools.count(given.since))
        if kind == KILLS and given.victim:
            drawn = (each for each in drawn if victim_of(each.randomness) == given.victim)
        found += itertools.islice(drawn, int(count))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
