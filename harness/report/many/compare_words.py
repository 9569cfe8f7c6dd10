"""Two sides in words: which one is better, and in which settings they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.base.words import listed, plural
from harness.report.formats import NOTHING, duration, number
from harness.report.load import Row
from harness.report.many import blocks
from harness.report.many.blocks import Block, Column, Line
from harness.report.many.numbers import Spread
from harness.report.many.sweep import AGAIN, LOST, STANDSTILL
from harness.report.many.sweep_words import clear

SIDES: Final = (Column("A", free=True), Column("B", free=True))
_SETTING: Final = (Column("setting", free=True), *SIDES)
# Figures of which less is better, the most important first.
_COSTS: Final = {each.title: each for each in (LOST, STANDSTILL, AGAIN)}


def better_by(runs: tuple[int, int], figures: Mapping[str, tuple[Spread, Spread, str]]) -> str:
    """Which side is better, and by how much: where all runs of one lie beyond those of the other.

    Of each side there is how many runs it has, and of a figure its spread on both and its unit.
    Nothing where one side shows nothing.
    """
    if not all(runs):
        return ""
    won: dict[str, list[str]] = {"A": [], "B": []}
    for name, measure in _COSTS.items():
        a, b, unit = figures[name]
        if way := clear(measure, a.every, b.every):
            low, high = sorted((a.median, b.median))
            of = duration if unit == "ms" else number
            less = f" ({1 - low / high:.0%} less)" if low else ""
            won["A" if way > 0 else "B"].append(f"{name} {of(low)} instead of {of(high)}{less}")
    said = [f"{side} is better: {listed(found)}." for side, found in won.items() if found]
    said = said or [f"Neither is clearly better in {listed(list(_COSTS))}."]
    few = ["One run may differ from another by chance."] if min(runs) < 2 else []
    return " ".join([*said, *few])


def better_night(moved: Sequence[Row]) -> str:
    """The same of two nights, by what `shifts` found."""
    said = [
        f"{'A' if 2 * each['higher'] > each['runs'] else 'B'} is better: {each['name']} differs in "
        f"nearly all of {each['runs']} runs"
        + ("." if each["change"] is None else f", by {abs(each['change']):.0%} in the middle one.")
        for each in moved
        if each["name"] in _COSTS
    ]
    return " ".join(said) or f"Neither is clearly better in {listed(list(_COSTS))}."


def items(settings: Mapping[str, tuple[str | None, str | None]]) -> list[Row]:
    return [{"name": name, "a": a, "b": b} for name, (a, b) in settings.items()]


def both_settings(heading: str, found: Sequence[Row], *more: str) -> Block:
    """The settings that both sides have; of others there is how many."""
    both = [each for each in found if NOTHING not in (each["a"] or NOTHING, each["b"] or NOTHING)]
    names = ("name", "a", "b", *more)
    rows = [blocks.Row([str(each[name]) for name in names]) for each in both]
    rest = plural(len(found) - len(both), "more setting")
    notes = (
        (Line(f"{rest} that one side alone has: --json has them"),)
        if len(both) < len(found)
        else ()
    )
    if not rows:
        return Block("", "", notes=notes or (Line("set up alike"),))
    return Block("", heading, columns=(*_SETTING, *more), rows=rows, notes=notes)
