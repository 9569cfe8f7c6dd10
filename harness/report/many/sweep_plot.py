"""What a setting costs over what it buys, as a plot: one dot for each run, none left out."""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import Final

from harness.experiment import protocol_said
from harness.report.formats import duration, number
from harness.report.load import Row
from harness.report.many.blocks import Plot
from harness.report.many.sweep import STANDSTILL, Measure, Spot, Sweep, value_text
from harness.report.parts.shapes import Shape

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
# A spot that has runs with both numbers: where its median is, its ring, and the dots of its runs.
_Ring = tuple[Spot, Point, Shape, Sequence[Shape]]


def plot(sweep: Sweep, measure: Measure) -> Plot | None:
    """The longest standstill of each run against another measure; null where no run has both."""
    found = [(spot, _pairs(spot, measure)) for spot in sweep.spots]
    pairs = [pair for _, pairs in found for pair in pairs]
    if not pairs:
        return None
    across = _Scale(max(x for _, x, _ in pairs) / 1_000, _LEFT, _RIGHT)
    up = _Scale(max(1.0, *(y for *_, y in pairs)), _BOTTOM, _TOP, whole=True)

    def at(x_ms: float, y: float) -> Point:
        return across.at(x_ms / 1_000), up.at(y)

    def dot(name: str, x: float, y: float, spot: Spot, css: str, r: float) -> Shape:
        cx, cy = at(x, y)
        css = f"m{list(sweep.claims).index(spot.experiment) % 10} {css}"
        words = f"{name}{duration(x)}, {number(y)} {measure.title}"
        return Shape("circle", {"class": css, "cx": cx, "cy": cy, "r": r}, title=words)

    rings: list[_Ring] = []
    for spot, runs in found:
        x, y = spot.of(STANDSTILL).median, spot.of(measure).median
        settings = ", ".join(f"{name}={value_text(each)}" for name, each in spot.settings.items())
        ring = dot(f"{spot.experiment}, {settings}: median ", x, y, spot, "middle", 5.5)
        dots = [dot(f"{protocol_said(run['label'])}: ", x, y, spot, "one", 3) for run, x, y in runs]
        rings += [(spot, at(x, y), ring, dots)] if runs else []
    title = f"{measure.title.capitalize()} over the longest standstill"
    return Plot(
        title,
        f"{title}, a dot for each run; the table has the numbers",
        (WIDTH, HEIGHT),
        [
            *_axes(across, up, f"{measure.title}, in a run"),
            *_joined(sweep, rings),
            *_labels(sweep, rings),
        ],
    )


def _pairs(spot: Spot, measure: Measure) -> list[tuple[Row, float, float]]:
    every = (
        (run, run["measured"][STANDSTILL.name], run["measured"][measure.name]) for run in spot.shown
    )
    return [(run, x, y) for run, x, y in every if x is not None and y is not None]


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


def _joined(sweep: Sweep, rings: Sequence[_Ring]) -> Iterator[Shape]:
    """The dots of each experiment along the first setting, for each combination of the others.

    Medians are joined by a line.
    """
    first = sweep.axes[0]
    lines: dict[tuple[str, ...], list[_Ring]] = {}
    for each in rings:
        spot = each[0]
        others = [value for name, value in spot.settings.items() if name != first.name]
        lines.setdefault((spot.experiment, *others), []).append(each)
    for line in lines.values():
        line.sort(key=lambda each: first.values.index(each[0].settings[first.name]))
        middles = [ring for _, _, ring, _ in line]
        if len(line) > 1:
            css = str(middles[0].attributes["class"]).split()[0]
            points = " ".join(f"{x},{y}" for _, (x, y), *_ in line)
            yield Shape("polyline", {"class": css, "points": points})
        yield from middles
        yield from (dot for *_, dots in line for dot in dots)


def _labels(sweep: Sweep, rings: Sequence[_Ring]) -> Iterator[Shape]:
    """The value of the one setting, or the point's number.

    Each is where it covers neither a median nor another label, if there is such a place.
    """
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for _, (x, y), *_ in rings]
    axis = sweep.axes[0] if len(sweep.axes) == 1 else None
    for spot, (x, y), *_ in rings:
        text = axis.value(spot) if axis else str(spot.number)
        long = len(text) * _LETTER
        boxes: list[tuple[Shape, Box]] = []
        for dx, dy, anchor, share in _PLACES:
            left = x + dx - long * share
            box = (left, y + dy - _LINE + 3, left + long, y + dy + 3)
            boxes.append((_text(x + dx, y + dy, anchor, "name", text), box))
        free = (each for each in boxes if _fits(each[1], taken))
        label, box = next(free, boxes[0])
        taken.append(box)
        yield label


def _fits(box: Box, taken: Sequence[Box]) -> bool:
    """Whether it is on the drawing, above the numbers of the axis, and covers nothing."""
    left, top, right, bottom = box
    if left < _LEFT - 40 or right > WIDTH or top < 0 or bottom > _BOTTOM + 8:
        return False
    return not any(a < right and left < c and b < bottom and top < d for a, b, c, d in taken)
