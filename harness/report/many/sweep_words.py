"""What a setting buys and what it costs, in sentences.

For each setting two ends are compared, all others being equal. What differs is said only where the
runs of one end all lie beyond those of the other, or where one end has none of what most runs of
the other have: with a few runs nothing else stands out from chance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb
from typing import Final

from harness.base.words import listed, plural
from harness.report.formats import duration, number
from harness.report.many.blocks import paragraphs
from harness.report.many.sweep import (
    EVICTED,
    MEASURES,
    STANDSTILL,
    Measure,
    Spot,
    Sweep,
    SweptSetting,
    value_text,
)

MOST_SENTENCES: Final = 12
_LEAST_SHARE: Final = 0.1  # of the larger: less between two ends is not worth a word
_ENOUGH: Final = 6  # runs, for an interval of the median of 95 %: 1 - 2 / 2 ** 6
_Way = tuple[Spot, ...]  # of one experiment along one setting, from one of its ends to the other
# A measure that is clearly another one at the end of a way than at its beginning, and if it rises.
_Change = tuple[Measure, _Way, bool]


def sentences(sweep: Sweep) -> list[str]:
    """What each setting buys and costs; one for each combination of the others."""
    found = [sentence for axis in sweep.axes for sentence in _of_axis(sweep, axis)]
    if len(found) > MOST_SENTENCES:
        left = len(found) - MOST_SENTENCES
        found = [*found[:MOST_SENTENCES], f"{plural(left, 'more comparison')} are in the table."]
    return found


def _of_axis(sweep: Sweep, axis: SweptSetting) -> list[str]:
    """A sentence for each combination of the others; one for all of them if nothing changes."""
    along = list(_along(sweep, axis))
    if len(along) > 1 and not any(_changes(ways, MEASURES) for _, ways in along):
        ways = [way for _, found in along for way in found]
        others = " and ".join(each.name for each in sweep.axes if each is not axis)
        head = _nothing(axis, axis.values)
        return [f"{head} that {_runs(ways)} can tell from chance, whatever {others} is."]
    return [_sentence(axis, around, ways) for around, ways in along]


def _nothing(axis: SweptSetting, values: Sequence[str]) -> str:
    words = [value_text(value) for value in values]
    between = f"from {words[0]} to" if axis.numbers else f"{', '.join(words[:-1])} or"
    return f"{axis.name} {between} {words[-1]} changes nothing"


def _along(sweep: Sweep, axis: SweptSetting) -> Iterator[tuple[Mapping[str, str], list[_Way]]]:
    """For each combination of the other settings, the ways along this one that have two ends."""
    others = [each for each in sweep.axes if each is not axis]
    grouped: dict[tuple[int, ...], dict[str, list[Spot]]] = {}
    for spot in sweep.spots:
        if spot.shown:
            key = tuple(each.values.index(spot.settings[each.name]) for each in others)
            grouped.setdefault(key, {}).setdefault(spot.experiment, []).append(spot)
    for key, spots in sorted(grouped.items()):
        around = {each.name: each.values[at] for each, at in zip(others, key, strict=True)}
        ways: dict[tuple[str, str], list[_Way]] = {}  # by their ends: one may lack some runs
        for way in _towards_less(axis, spots):
            if len(way) > 1:
                ways.setdefault((axis.value(way[0]), axis.value(way[-1])), []).append(way)
        for found in ways.values():
            yield around, found


def _towards_less(axis: SweptSetting, spots: Mapping[str, Sequence[Spot]]) -> list[_Way]:
    """The spots of each experiment, towards where partitions stand still for less.

    If they do so alike, the first of the other measures decides in which two ends clearly differ.
    Values that are no numbers have no ends: these go from the worst to the best.
    """

    def ways(order: Sequence[str]) -> list[_Way]:
        return [
            tuple(sorted(found, key=lambda spot: order.index(spot.settings[axis.name])))
            for found in spots.values()
        ]

    for measure in MEASURES:
        total = dict.fromkeys(axis.values, 0.0)
        for spot in (spot for found in spots.values() for spot in found):
            total[spot.settings[axis.name]] += spot.of(measure).median
        worst_first = sorted(axis.values, key=lambda value: -total[value])
        order = axis.values if axis.numbers else worst_first
        found = ways(order)
        if _changes(found, (measure,)):
            falls = sum(way[0].of(measure).median - way[-1].of(measure).median for way in found)
            return found if falls >= 0 else ways(order[::-1])
    return ways(axis.values)


def _sentence(axis: SweptSetting, around: Mapping[str, str], ways: Sequence[_Way]) -> str:
    changes = _changes(ways, MEASURES)
    first, last = axis.value(ways[0][0]), axis.value(ways[0][-1])
    between = f"from {first} to {last}" if axis.numbers else f"{last} rather than {first}"
    with_ = f", with {_words(around)}," if around else ""
    if not changes:
        nothing = _nothing(axis, [spot.settings[axis.name] for spot in ways[0]])
        head = nothing.replace(" changes", f"{with_} changes")
        return f"{head} that {_runs(ways)} can tell from chance."
    bought, cost = (
        _listed(axis, found) if found else f"nothing that {_runs(ways)} show"
        for found in ([each for each in changes if each[-1] is rises] for rises in (False, True))
    )
    return f"{axis.name} {between}{with_} buys {bought}. It costs {cost}."


def _words(around: Mapping[str, str]) -> str:
    return " and ".join(
        f"{name} of {value_text(value)}" if value.isdecimal() else f"{name} {value_text(value)}"
        for name, value in around.items()
    )


def _runs(ways: Sequence[_Way]) -> str:
    fewest = min(len(spot.shown) for way in ways for spot in way)
    return "single runs" if fewest == 1 else "these runs"


def _changes(ways: Iterable[_Way], measures: Iterable[Measure]) -> list[_Change]:
    return [
        (measure, way, by > 0)
        for measure in measures
        for way in ways
        if (by := clear(measure, way[0].of(measure).every, way[-1].of(measure).every))
    ]


def clear(measure: Measure, before: Sequence[float], after: Sequence[float]) -> int:
    """1 where a measure clearly rises, -1 where it falls, 0 where nothing is clear or known."""
    if not before or not after:
        return 0
    if min(after) > max(before):
        low, high, by = max(before), min(after), 1
    elif max(after) < min(before):
        low, high, by = max(after), min(before), -1
    elif measure is STANDSTILL:
        return 0
    else:
        return int(not any(before) and _most(after)) - int(not any(after) and _most(before))
    return by if high - low >= max(measure.least, _LEAST_SHARE * high) else 0


def _most(values: Sequence[float]) -> bool:
    return 2 * sum(value > 0 for value in values) > len(values)


def _listed(axis: SweptSetting, changes: Sequence[_Change]) -> str:
    """What changes, measure by measure, each with its numbers in each experiment."""
    parts = []
    for measure in MEASURES:
        mine = [(way, rises) for each, way, rises in changes if each is measure]
        if mine:
            what = measure.more if mine[0][1] else measure.less
            words = (", " if axis.numbers else "; ").join(
                _numbers(axis, measure, way) for way, _ in mine
            )
            parts.append(f"{what} ({words})")
    return listed(parts)


def _numbers(axis: SweptSetting, measure: Measure, way: _Way) -> str:
    where, at = f"in {way[0].experiment}", "at" if axis.numbers else "with"
    if measure is STANDSTILL:
        texts = [duration(spot.of(measure).values.p50) for spot in way]
        if not axis.numbers:
            by = duration(abs(way[-1].of(measure).median - way[0].of(measure).median))
            each = (f"{text} with {axis.value(s)}" for text, s in zip(texts, way, strict=True))
            return f"by {by} {where}: {', '.join(each)}"
        over = f" over {' and '.join(texts[1:-1])}" if len(texts) > 2 else ""
        return f"from {texts[0]}{over} to {texts[-1]} {where}"
    once = {*way[0].of(measure).every, *way[-1].of(measure).every} <= {0, 1}
    words = _with_any if once and measure is EVICTED else _counts
    counts = (f"{words(spot.of(measure).every)} {at} {axis.value(spot)}" for spot in way)
    return f"{where} {', '.join(counts)}"


def _with_any(values: Sequence[float]) -> str:
    return f"in {sum(value > 0 for value in values)} of {plural(len(values), 'run')}"


def _counts(values: Sequence[float]) -> str:
    """From the least to the most of a run: a median of two counts says little of either."""
    if values and not any(values):
        return "none"
    low, high = (number(most(values, default=None)) for most in (min, max))
    return low if low == high else f"{low} to {high}"


_READING: Final = paragraphs("""
The longest standstill is the longest time, of all partitions and from steady state on, from when
one had been worked off to its next record, whatever stopped it. Waiting for records no longer
than usual is none.

A false eviction is a member that left the group although its process lived. The coordinator
removed it, because its session timed out or it was late in a rebalance, or its own library did,
because it did not poll for max.poll.interval.ms. A process that was frozen, slow or cut off
counts; one that was killed or closing does not.

Redelivered are records that members processed more than once.

A number is the median of the runs of a point, with the smallest and the largest in brackets where
they differ.
""")
_INTERVAL: Final = (
    "“Median lies in” is its confidence interval of at least 95 %, from order statistics, with "
    "nothing assumed of the distribution."
)
_NO_INTERVAL: Final = (
    f"From {_ENOUGH} runs of a point on, there is an interval of the median as well; fewer do not "
    "allow one of 95 %."
)
_NO_NUMBERS: Final = (
    "Of values that are no numbers, the worst and the best are compared. Chance alone sets these "
    "apart more often than two values that are named before."
)
_DIFFERS: Final = (
    "A sentence says what differs only where all runs of one end lie beyond all of the other, by "
    f"{_LEAST_SHARE:.0%} or more, or where one end has none of what more than half of the runs of "
    "the other have."
)
_JUDGED: Final = (
    "Runs are judged by the rules that they exercise, and expected to hold them. Statements that "
    "Kafka is known not to keep are not judged in a sweep: whether a run shows that depends on the "
    "setting."
)


def reading(sweep: Sweep) -> list[str]:
    return [
        *_READING,
        _INTERVAL if sweep.fewest >= _ENOUGH else _NO_INTERVAL,
        *(() if all(axis.numbers for axis in sweep.axes) else (_NO_NUMBERS,)),
        f"{_DIFFERS} {_chance(sweep.fewest)}",
        _JUDGED,
    ]


def _chance(runs: int) -> str:
    """How often chance alone sets two ends apart that have so many runs each."""
    if runs < 2:
        return "Where a point has one run, any difference may be chance."
    of = comb(2 * runs, runs) // 2
    return f"With {runs} runs of each, chance alone sets two ends apart in one of {of:,} cases."
