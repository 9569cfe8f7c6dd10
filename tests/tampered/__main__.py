"""Changes kept histories at random: which of the changes that are wrong does no rule notice?

What is done is drawn by a seed: one of the changes of drawn.txt, a kept run, a row of its history,
values. A neutral change must not be noticed. A seed draws the same again, until that file or the
kept runs change.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from harness.rules.rule_names import name_of
from harness.tables.engines.duckdb import DuckDb
from tests.tampered import language
from tests.tampered.history import (
    Change,
    Kept,
    NotThere,
    accused_since,
    judged,
    kept,
    names_of,
    rules_of,
    withheld_since,
)

DRAWN: Final = Path(__file__).with_name("drawn.txt")
NOTICED, DOUBTED, PASSED = "noticed", "in doubt", "passed over"
_AT_ONCE: Final = 16  # histories that are judged as one dataset: more take more memory
_TRIES: Final = 200  # of runs and changes, until one fits the other


class Drawn(NamedTuple):
    """A changed history."""

    number: int
    change: Change
    run: Kept

    @property
    def wrong(self) -> bool:
        return bool(self.change.notices)


def main(arguments: Sequence[str]) -> int:
    """0 if no wrong change was passed over and no neutral one noticed; 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.tampered", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="what is drawn (default 1)")
    parser.add_argument("--count", type=int, default=100, help="so many changes (default 100)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    given = parser.parse_args(arguments)
    found = {True: Counter[str](), False: Counter[str]()}
    for each, accused, doubtful in tried(given.seed, range(given.first, given.first + given.count)):
        came = NOTICED if accused else DOUBTED if doubtful else PASSED
        found[each.wrong][came] += 1
        print(f"{each.number:5} {_text(each, came, accused or doubtful)}", flush=True)
    wrong, neutral = found[True], found[False]
    print(
        f"{wrong.total()} wrong changes: {wrong[NOTICED]} noticed, {wrong[DOUBTED]} in doubt,"
        f" {wrong[PASSED]} passed over; {neutral.total()} neutral ones, {neutral[NOTICED]} noticed"
    )
    return int(wrong[PASSED] + neutral[NOTICED] > 0)


def tried(seed: int, numbers: Sequence[int]) -> Iterator[tuple[Drawn, list[str], list[str]]]:
    """Each change with the rules that accuse more than they did without it, and that doubt more."""
    changes = list(language.read(DRAWN))
    with closing(DuckDb()) as engine:
        for start in range(0, len(numbers), _AT_ONCE):
            drawn = [draw(seed, number, changes) for number in numbers[start : start + _AT_ONCE]]
            unchanged = {each.run.name: kept(each.run.name) for each in drawn}
            runs = [*unchanged.values(), *(each.run for each in drawn)]
            outcomes = judged([(run, rules_of(run.run)) for run in runs], engine)
            before = dict(zip(unchanged, outcomes, strict=False))
            for each, after in zip(drawn, outcomes[len(unchanged) :], strict=True):
                accused = sorted(accused_since(before[each.run.name], after))
                others = withheld_since(before[each.run.name], after).items()
                yield each, accused, sorted(rule for rule, rows in others if rows > 0)


def draw(seed: int, number: int, changes: Sequence[Change]) -> Drawn:
    """The change of this number: a kind of change, and a run that has what it is done to."""
    chance = Random(f"{seed} {number}")
    for _ in range(_TRIES):
        change = chance.choice(changes)
        run = kept(chance.choice(names_of(change.runs)))
        run.chance = chance
        try:
            change.edit(run)
        except NotThere:
            continue
        return Drawn(number, change, run)
    raise NotThere(f"no change fits any run, in {_TRIES} tries")


def _text(each: Drawn, came: str, rules: Sequence[str]) -> str:
    by = ", ".join(name_of(rule) for rule in rules[:3]) + (", …" if rules[3:] else "")
    right = came != (PASSED if each.wrong else NOTICED)
    words = {NOTICED: f"noticed by {by}", DOUBTED: f"in doubt: {by}"}.get(came, came)
    return f"{' ' if right else '!'} {each.change.name}, in {each.run.name}: {words}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
