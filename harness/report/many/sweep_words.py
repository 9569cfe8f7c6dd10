"""What a setting buys and what it costs, in sentences.

For each setting two ends are compared, all others being equal. What differs is said only where the
runs of one end all lie beyond those of the other, or where one end has none of what most runs of
the other have: with a few runs nothing else stands out from chance.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

from harness.base.words import plural
from harness.report.many.sweep import (
    EVICTED,
    MEASURES,
    STANDSTILL,
    Axis,
    Measure,
    Spot,
    Sweep,
)
from harness.report.words import duration, number

MOST_SENTENCES: Final = 12
_LEAST_SHARE: Final = 0.1  # of the larger: less between two ends is not worth a word
_ENOUGH: Final = 6  # runs, for an interval of the median of 95 %: 1 - 2 / 2 ** 6


@dataclass(frozen=True)
class _Way:
    """The spots of one experiment along one setting, from one of its ends to the other."""

    experiment: str
    spots: tuple[Spot, ...]

    @property
    def first(self) -> Spot:
        return self.spots[0]

    @property
    def last(self) -> Spot:
        return self.spots[-1]

    def back(self) -> "_Way":
        return _Way(self.experiment, self.spots[::-1])


@dataclass(frozen=True)
class _Change:
    """A measure that is clearly another one at the end of a way than at its beginning."""

    measure: Measure
    way: _Way
    rises: bool


def sentences(sweep: Sweep) -> list[str]:
    """What each setting buys and costs; one for each combination of the others."""
    found = [sentence for axis in sweep.axes for sentence in _of_axis(sweep, axis)]
    if len(found) > MOST_SENTENCES:
        left = len(found) - MOST_SENTENCES
        found = [*found[:MOST_SENTENCES], f"{plural(left, 'more comparison')} are in the table."]
    return found


def _of_axis(sweep: Sweep, axis: Axis) -> list[str]:
    """A sentence for each combination of the others; one for all of them if nothing changes."""
    along = list(_along(sweep, axis))
    if len(along) > 1 and not any(_towards_less(ways)[1] for _, ways in along):
        ways = [way for _, found in along for way in found]
        others = " and ".join(each.name for each in sweep.axes if each is not axis)
        head = _nothing(axis, axis.values)
        return [f"{head} that {_runs(ways)} can tell from chance, whatever {others} is."]
    return [_sentence(axis, around, ways) for around, ways in along]


def _nothing(axis: Axis, values: Sequence[str]) -> str:
    words = [value_text(value) for value in values]
    between = f"from {words[0]} to" if axis.numbers else f"{', '.join(words[:-1])} or"
    return f"{axis.name} {between} {words[-1]} changes nothing"


def value_text(value: str) -> str:
    """A value of a setting as readers want it: 45,000."""
    try:
        return f"{int(value):,}"
    except ValueError:
        return value


def _along(sweep: Sweep, axis: Axis) -> Iterator[tuple[Mapping[str, str], list[_Way]]]:
    """For each combination of the other settings, the ways along this one that have two ends."""
    grouped: dict[tuple[str, ...], dict[str, list[Spot]]] = {}
    others = [each.name for each in sweep.axes if each is not axis]
    for spot in sweep.spots:
        if spot.shown:
            key = tuple(spot.settings[name] for name in others)
            grouped.setdefault(key, {}).setdefault(spot.experiment, []).append(spot)
    for key in sorted(grouped, key=lambda key: _place(sweep, others, key)):
        ways: dict[tuple[str, str], list[_Way]] = {}  # by their ends: one may lack some runs
        for way in _in_order(axis, grouped[key]):
            if len(way.spots) > 1:
                ways.setdefault((_value(axis, way.first), _value(axis, way.last)), []).append(way)
        for found in ways.values():
            yield dict(zip(others, key, strict=True)), found


def _in_order(axis: Axis, spots: Mapping[str, Sequence[Spot]]) -> list[_Way]:
    """The spots of each experiment, by their values.

    Values that are no numbers have no ends. These go from the worst to the best, by the first
    measure in which these two clearly differ.
    """

    def ways(order: Sequence[str]) -> list[_Way]:
        return [
            _Way(name, tuple(sorted(found, key=lambda spot: order.index(spot.settings[axis.name]))))
            for name, found in spots.items()
        ]

    for measure in () if axis.numbers else MEASURES:
        total = dict.fromkeys(axis.values, 0.0)
        for spot in (spot for found in spots.values() for spot in found):
            total[spot.settings[axis.name]] += spot.spread(measure).p50 or 0.0
        ordered = ways(sorted(axis.values, key=lambda value: -total[value]))
        if any(_changes(ordered, (measure,))):
            return ordered
    return ways(axis.values)


def _place(sweep: Sweep, names: Sequence[str], key: Sequence[str]) -> list[int]:
    values = {axis.name: axis.values for axis in sweep.axes}
    return [values[name].index(value) for name, value in zip(names, key, strict=True)]


def _sentence(axis: Axis, around: Mapping[str, str], ways: Sequence[_Way]) -> str:
    ways, changes = _towards_less(ways)
    first, last = _value(axis, ways[0].first), _value(axis, ways[0].last)
    between = f"from {first} to {last}" if axis.numbers else f"{last} rather than {first}"
    with_ = f", with {_words(around)}," if around else ""
    head = f"{axis.name} {between}{with_}"
    gains = [each for each in changes if not each.rises]
    costs = [each for each in changes if each.rises]
    if not changes:
        nothing = _nothing(axis, [spot.settings[axis.name] for spot in ways[0].spots])
        head = nothing.replace(" changes", f"{with_} changes")
        return f"{head} that {_runs(ways)} can tell from chance."
    if not gains:
        return f"{head} buys nothing that {_runs(ways)} show. It costs {_listed(axis, costs)}."
    bought = f"{head} buys {_listed(axis, gains)}."
    if not costs:
        return f"{bought} It costs nothing that {_runs(ways)} show."
    return f"{bought} It costs {_listed(axis, costs)}."


def _words(around: Mapping[str, str]) -> str:
    return " and ".join(
        f"{name} of {value_text(value)}" if value.isdecimal() else f"{name} {value}"
        for name, value in around.items()
    )


def _runs(ways: Sequence[_Way]) -> str:
    fewest = min(len(spot.shown) for way in ways for spot in way.spots)
    return "single runs" if fewest == 1 else "these runs"


def _towards_less(ways: Sequence[_Way]) -> tuple[Sequence[_Way], list[_Change]]:
    """The ways in that direction in which partitions stand still for less, or else costs fall."""
    back = [way.back() for way in ways]
    for measures in [(STANDSTILL,), *((each,) for each in MEASURES[1:])]:
        there = list(_changes(ways, measures))
        if there:
            falls = sum(-1 if each.rises else 1 for each in there)
            if falls == 0:  # one falls, one rises: by how much decides
                falls = 1 if _total(ways, last=True) <= _total(ways, last=False) else -1
            chosen = ways if falls > 0 else back
            return chosen, list(_changes(chosen, MEASURES))
    return ways, []


def _total(ways: Sequence[_Way], *, last: bool) -> float:
    ends = (way.last if last else way.first for way in ways)
    return sum(spot.spread(STANDSTILL).p50 or 0.0 for spot in ends)


def _changes(ways: Iterable[_Way], measures: Iterable[Measure]) -> Iterator[_Change]:
    ways = list(ways)
    for measure in measures:
        for way in ways:
            before, after = way.first.values(measure), way.last.values(measure)
            if before and after and (by := _clear(measure, before, after)):
                yield _Change(measure, way, by > 0)


def _clear(measure: Measure, before: Sequence[float], after: Sequence[float]) -> int:
    """1 where it clearly rises, -1 where it falls, 0 where nothing is clear."""
    if min(after) > max(before):
        low, high, by = max(before), min(after), 1
    elif max(after) < min(before):
        low, high, by = max(after), min(before), -1
    elif measure is not STANDSTILL and not any(before) and _most(after):
        return 1
    elif measure is not STANDSTILL and not any(after) and _most(before):
        return -1
    else:
        return 0
    return by if high - low >= max(measure.least, _LEAST_SHARE * high) else 0


def _most(values: Sequence[float]) -> bool:
    return 2 * sum(value > 0 for value in values) > len(values)


def _listed(axis: Axis, changes: Sequence[_Change]) -> str:
    """What changes, measure by measure, each with its numbers in each experiment."""
    parts = []
    for measure in MEASURES:
        mine = [each for each in changes if each.measure is measure]
        if mine:
            what = measure.more if mine[0].rises else measure.less
            between = ", " if axis.numbers else "; "
            words = between.join(_numbers(axis, each) for each in mine)
            parts.append(f"{what} ({words})")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _numbers(axis: Axis, change: _Change) -> str:
    measure, way = change.measure, change.way
    where = f"in {way.experiment}"
    if measure is STANDSTILL and not axis.numbers:
        by = abs((way.last.spread(measure).p50 or 0.0) - (way.first.spread(measure).p50 or 0.0))
        each = [f"{duration(s.spread(measure).p50)} with {_value(axis, s)}" for s in way.spots]
        return f"by {duration(by)} {where}: {', '.join(each)}"
    if measure is STANDSTILL:
        return f"{_from_to(way, lambda spot: duration(spot.spread(measure).p50))} {where}"
    once = {*way.first.values(measure), *way.last.values(measure)} <= {0, 1}
    words = _with_any if once and measure is EVICTED else _counts
    at = "at" if axis.numbers else "with"
    first, *more = [f"{words(spot, measure)} {at} {_value(axis, spot)}" for spot in way.spots]
    return f"{where} {', '.join([first, *more])}"


def _with_any(spot: Spot, measure: Measure) -> str:
    values = spot.values(measure)
    return f"in {sum(value > 0 for value in values)} of {plural(len(values), 'run')}"


def _counts(spot: Spot, measure: Measure) -> str:
    """From the least to the most of a run: a median of two counts says little of either."""
    found = spot.spread(measure)
    if found.max == 0:
        return "none"
    low, high = number(found.min), number(found.max)
    return low if low == high else f"{low} to {high}"


def _from_to(way: _Way, words: Callable[[Spot], str]) -> str:
    """From one end to the other, over what lies between them."""
    between = [words(spot) for spot in way.spots[1:-1]]
    over = f" over {' and '.join(between)}" if between else ""
    return f"from {words(way.first)}{over} to {words(way.last)}"


def _value(axis: Axis, spot: Spot) -> str:
    return value_text(spot.settings[axis.name])


def reading(sweep: Sweep) -> list[str]:
    """How to read the numbers, sentence by sentence."""
    words = [
        (
            "The longest standstill is the longest time, of all partitions and from steady state "
            "on, from when one had been worked off to its next record, whatever stopped it. "
            "Waiting for records no longer than usual is none."
        ),
        (
            "A false eviction is a member that left the group although its process lived. The "
            "coordinator removed it, because its session timed out or it was late in a rebalance, "
            "or its own library did, because it did not poll for max.poll.interval.ms. A process "
            "that was frozen, slow or cut off counts; one that was killed or closing does not."
        ),
        "Came twice are records that members processed more than once.",
        (
            "A number is the median of the runs of a point, with the smallest and the largest in "
            "brackets where they differ."
        ),
    ]
    if sweep.fewest >= _ENOUGH:
        words.append(
            "“Median lies in” is its confidence interval of at least 95 %, from order statistics, "
            "with nothing assumed of the distribution."
        )
    else:
        words.append(
            f"From {_ENOUGH} runs of a point on, there is an interval of the median as well; fewer "
            "do not allow one of 95 %."
        )
    if not all(axis.numbers for axis in sweep.axes):
        words.append(
            "Of values that are no numbers, the worst and the best are compared. Chance alone sets "
            "these apart more often than two values that are named before."
        )
    return [
        *words,
        (
            "A sentence says what differs only where all runs of one end lie beyond all of the "
            f"other, by {_LEAST_SHARE:.0%} or more, or where one end has none of what more than "
            f"half of the runs of the other have. {_chance(sweep.fewest)}"
        ),
        (
            "Runs are judged by the rules that they exercise, and expected to hold them. "
            "Statements that Kafka is known not to keep are not judged in a sweep: whether a run "
            "shows that depends on the setting."
        ),
    ]


def _chance(runs: int) -> str:
    """How often chance alone sets two ends apart that have so many runs each."""
    if runs < 2:
        return "Where a point has one run, any difference may be chance."
    of = comb(2 * runs, runs) // 2
    return f"With {runs} runs of each, chance alone sets two ends apart in one of {of:,} cases."
