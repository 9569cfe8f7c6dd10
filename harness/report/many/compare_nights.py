"""What two nights differ in, over all their runs: settings, verdicts, and numbers that moved.

A table for each of a hundred runs is too long to read. A setting that differs is shown once, and so
is a number that is higher, or lower, in nearly all runs of one night.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from math import comb
from statistics import median
from typing import Any, Final

from harness.report.many.compare import Beside, Compared, Setting

# How likely any number at all is shown that has not moved, over all rules and figures together.
_CHANCE: Final = 0.05


@dataclass(frozen=True)
class Shift:
    """A rule's or figure's number that is higher, or lower, in nearly all runs of B.

    `runs` have different medians on both sides, and in `higher` of them B's is the higher one.
    `change` is the middle one of their relative changes; null where A's is zero in most.
    """

    name: str
    unit: str
    runs: int
    higher: int
    change: float | None


def settings_over(compared: Compared) -> dict[Setting, int]:
    """Each setting that differs, with in how many pairs of runs it does; the most common first."""
    return dict(
        Counter(setting for pair in compared.pairs for setting in pair.settings).most_common()
    )


def shifts(compared: Compared) -> list[Shift]:
    """What moved, the most certain first: by a sign test over the runs that both nights have.

    A test for each rule and figure would find one of twenty by chance, so each has to be as many
    times less likely as there are of them (Bonferroni).
    """
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for pair in compared.pairs:
        for each in (*pair.rules, *pair.figures):
            if (both := _medians(each)) is not None:
                pairs.setdefault((each.name, each.unit), []).append(both)
    found = []
    for (name, unit), medians in pairs.items():
        different = [(a, b) for a, b in medians if a != b]
        higher = sum(b > a for a, b in different)
        chance = _chance(higher, len(different))
        if chance * len(pairs) < _CHANCE:
            ratios = [b / a - 1 for a, b in different if a > 0]
            change = median(ratios) if 2 * len(ratios) > len(different) else None
            found.append((chance, Shift(name, unit, len(different), higher, change)))
    return [shift for _, shift in sorted(found, key=lambda each: each[0])]


def _medians(each: Beside) -> tuple[float, float] | None:
    a, b = (side.values.p50 if side is not None else None for side in (each.a, each.b))
    return None if a is None or b is None else (a, b)


def _chance(higher: int, of: int) -> float:
    """How likely a coin that is thrown so often shows one side at least as often as that."""
    more = max(higher, of - higher)
    ways: int = sum(comb(of, times) for times in range(more, of + 1))
    return min(1.0, float(2 * ways / 2**of))


def as_json(compared: Compared) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "settings": [
            {**asdict(each), "runs": runs} for each, runs in settings_over(compared).items()
        ],
        "moved": [asdict(each) for each in shifts(compared)],
    }
