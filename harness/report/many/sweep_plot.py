"""What a setting costs over what it buys, as a plot: one dot for each run, none left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import Final

from harness.report.many.blocks import Plot, Shape
from harness.report.many.sweep import STANDSTILL, Measure, Spot, Sweep
from harness.report.many.sweep_words import value_text
from harness.report.words import duration, number

WIDTH: Final = 560
HEIGHT: Final = 310
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 540.0, 16.0, 262.0
_TICKS: Final = 5
_LETTER: Final = 7.6  # about the width of one, at 12 px and bold
_LINE: Final = 14.0
# Where a label may be, from its median: how far, how it is anchored, and its share to the left.
_PLACES: Final = (
    (10, 4, "start", 0.0),
    (0, -11, "middle", 0.5),
    (-10, 4, "end", 1.0),
    (10, -12, "start", 0.0),
    (-10, -12, "end", 1.0),
    (0, -26, "middle", 0.5),
    (0, 21, "middle", 0.5),
)
Box = tuple[float, float, float, float]


Point = tuple[float, float]
Place = tuple[str, int]  # a spot's experiment and number


def plot(sweep: Sweep, measure: Measure) -> Plot | None:
    """The longest standstill of each run against another measure; null where no run has both."""
    spots = [spot for spot in sweep.spots if _pairs(spot, measure)]
    if not spots:
        return None
    pairs = [pair for spot in spots for pair in _pairs(spot, measure)]
    across = _Scale(max(x for x, _ in pairs) / 1_000, _LEFT, _RIGHT)
    up = _Scale(max(1.0, max(y for _, y in pairs)), _BOTTOM, _TOP, whole=True)

    def at(x_ms: float, y: float) -> Point:
        return across.at(x_ms / 1_000), up.at(y)

    medians = {
        _place(spot): at(spot.spread(STANDSTILL).p50 or 0.0, spot.spread(measure).p50 or 0.0)
        for spot in spots
    }
    title = f"{measure.title.capitalize()} over the longest standstill"
    return Plot(
        title,
        f"{title}, a dot for each run; the table has the numbers",
        (WIDTH, HEIGHT),
        [
            *_axes(across, up, f"{measure.title}, in a run"),
            *(
                shape
                for line in _lines(sweep, spots)
                for shape in _series(sweep, line, measure, medians, at)
            ),
            *_labels(sweep, spots, medians),
        ],
    )


def _axes(across: "_Scale", up: "_Scale", y_title: str) -> Iterator[Shape]:
    for at, text in up.ticks():
        yield Shape("line", {"class": "grid", "x1": _LEFT, "x2": _RIGHT, "y1": at, "y2": at})
        yield _text(_LEFT - 8, at + 4, "end", "axis", text)
    for at, text in across.ticks():
        yield Shape("line", {"class": "grid", "x1": at, "x2": at, "y1": _TOP, "y2": _BOTTOM})
        yield _text(at, _BOTTOM + 18, "middle", "axis", text)
    yield _text(296, 302, "middle", "axis", "longest standstill, in seconds")
    yield _text(12, 139, "middle", "axis", y_title, transform="rotate(-90 12 139)")


def _text(x: float, y: float, anchor: str, css: str, text: str, **more: object) -> Shape:
    place = {"x": round(x, 1), "y": round(y, 1), "text-anchor": anchor}
    return Shape("text", {"class": css, **place, **more}, text)


def _series(
    sweep: Sweep,
    line: Sequence[Spot],
    measure: Measure,
    medians: Mapping[Place, Point],
    at: Callable[[float, float], Point],
) -> Iterator[Shape]:
    """The runs of one experiment along one setting; medians are joined by a line."""
    css = f"m{list(sweep.claims).index(line[0].experiment) % 10}"
    if len(line) > 1:
        points = " ".join(f"{x},{y}" for x, y in (medians[_place(spot)] for spot in line))
        yield Shape("polyline", {"class": css, "points": points})
    for spot in line:
        x, y = spot.spread(STANDSTILL).p50 or 0.0, spot.spread(measure).p50 or 0.0
        settings = ", ".join(f"{name}={value_text(each)}" for name, each in spot.settings.items())
        words = f"{spot.experiment}, {settings}: median {duration(x)}, {number(y)} {measure.title}"
        yield _dot(f"{css} middle", medians[_place(spot)], 5.5, words)
    for spot in line:
        for run in spot.shown:
            still, cost = ((run.measured or {})[each.name] for each in (STANDSTILL, measure))
            if still is not None and cost is not None:
                words = f"{run.label}: {duration(still)}, {number(cost)} {measure.title}"
                yield _dot(f"{css} one", at(still, cost), 3, words)


def _dot(css: str, at: Point, r: float, words: str) -> Shape:
    return Shape("circle", {"class": css, "cx": at[0], "cy": at[1], "r": r}, title=words)


def key_of(sweep: Sweep, spot: Spot) -> str:
    """What the label of a point says: the value of the one setting, or the point's number."""
    if len(sweep.axes) == 1:
        return value_text(spot.settings[sweep.axes[0].name])
    return str(spot.number)


def _pairs(spot: Spot, measure: Measure) -> list[tuple[float, float]]:
    found = [
        (run.measured[STANDSTILL.name], run.measured[measure.name])
        for run in spot.runs
        if run.measured is not None
    ]
    return [(x, y) for x, y in found if x is not None and y is not None]


class _Scale:
    """From numbers, from 0 to at least `most`, to places between two ends of an axis."""

    def __init__(self, most: float, begin: float, end: float, *, whole: bool = False) -> None:
        self._step = _step(most, whole=whole)
        self._most = self._step * ceil(most / self._step - 1e-9) or self._step
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        return round(self._begin + (self._end - self._begin) * value / self._most, 1)

    def ticks(self) -> Iterator[tuple[float, str]]:
        for count in range(round(self._most / self._step) + 1):
            value = count * self._step
            yield self.at(value), f"{value:,.10g}"


def _step(most: float, *, whole: bool) -> float:
    """A round number that goes about `_TICKS` times into it."""
    if most <= 0:
        return 1.0
    ten = 10.0 ** floor(log10(most / _TICKS))
    step = next(each * ten for each in (1, 2, 5, 10) if most / (each * ten) <= _TICKS + 1e-9)
    return max(1.0, step) if whole else step


def _lines(sweep: Sweep, spots: Sequence[Spot]) -> list[list[Spot]]:
    """The points of each experiment along the first setting, one line for each of the others."""
    first = sweep.axes[0].name
    found: dict[tuple[object, ...], list[Spot]] = {}
    for spot in spots:
        others = [value for name, value in spot.settings.items() if name != first]
        found.setdefault((spot.experiment, *others), []).append(spot)
    order = sweep.axes[0].values
    return [
        sorted(line, key=lambda spot: order.index(spot.settings[first])) for line in found.values()
    ]


def _place(spot: Spot) -> Place:
    return spot.experiment, spot.number


def _labels(sweep: Sweep, spots: Sequence[Spot], medians: Mapping[Place, Point]) -> Iterator[Shape]:
    """Each where it covers neither a median nor another label, if there is such a place."""
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in medians.values()]
    for spot in spots:
        x, y = medians[_place(spot)]
        text = key_of(sweep, spot)
        long = len(text) * _LETTER
        boxes: list[tuple[Shape, Box]] = []
        for dx, dy, anchor, share in _PLACES:
            left = x + dx - long * share
            box = (left, y + dy - _LINE + 3, left + long, y + dy + 3)
            boxes.append((_text(x + dx, y + dy, anchor, "name", text), box))
        free = [
            (label, box)
            for label, box in boxes
            if box[0] >= _LEFT - 40
            and box[2] <= WIDTH
            and box[1] >= 0
            and box[3] <= _BOTTOM + 8  # below are the numbers of the axis
            and not any(_meet(box, other) for other in taken)
        ]
        label, box = (free or boxes)[0]
        taken.append(box)
        yield label


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
