"""What a setting costs over what it buys, as a plot: one dot for each run, none left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

from harness.report.many.sweep import STANDSTILL, Measure, Spot, Sweep
from harness.report.many.sweep_words import value_text
from harness.report.words import duration, number

WIDTH: Final = 560
HEIGHT: Final = 310
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 540.0, 16.0, 262.0
_TICKS: Final = 5
_LETTER: Final = 7.6  # about the width of one, at 12 px and bold
_LINE: Final = 14.0


@dataclass(frozen=True)
class Tick:
    """A mark of an axis, with its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A run, or the median of a point; `told` is what a reader who points at it is shown."""

    x: float
    y: float
    told: str


@dataclass(frozen=True)
class Label:
    """The name of a point, beside its median."""

    x: float
    y: float
    anchor: str
    text: str


@dataclass(frozen=True)
class Series:
    """The runs of one experiment along one setting; medians are joined by a line."""

    css: str
    dots: tuple[Dot, ...]
    medians: tuple[Dot, ...]
    line: str


@dataclass(frozen=True)
class Plot:
    """One plot, ready to be drawn in a field of WIDTH by HEIGHT."""

    title: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    labels: tuple[Label, ...]
    spoken: str


def plot(sweep: Sweep, measure: Measure) -> Plot | None:
    """The longest standstill of each run against another measure; null where no run has both."""
    spots = [spot for spot in sweep.spots if _pairs(spot, measure)]
    if not spots:
        return None
    pairs = [pair for spot in spots for pair in _pairs(spot, measure)]
    across = _Scale(max(x for x, _ in pairs) / 1_000, _LEFT, _RIGHT)
    up = _Scale(max(1.0, max(y for _, y in pairs)), _BOTTOM, _TOP, whole=True)
    colours = {name: f"m{n % 10}" for n, name in enumerate(sweep.claims)}
    series = tuple(
        _series(found, measure, across, up, colours[found[0].experiment])
        for found in _lines(sweep, spots)
    )
    return Plot(
        title=f"{measure.title.capitalize()} over the longest standstill",
        x_title="longest standstill, in seconds",
        y_title=f"{measure.title}, in a run",
        x_ticks=tuple(across.ticks()),
        y_ticks=tuple(up.ticks()),
        series=series,
        labels=tuple(_labels(sweep, spots, measure, across, up)),
        spoken=(
            f"{measure.title} over the longest standstill, a dot for each run; "
            "the table has the numbers"
        ),
    )


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

    def ticks(self) -> Iterator[Tick]:
        for count in range(round(self._most / self._step) + 1):
            value = count * self._step
            yield Tick(self.at(value), f"{value:,.10g}")


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


def _series(
    spots: Sequence[Spot], measure: Measure, across: _Scale, up: _Scale, css: str
) -> Series:
    dots, medians = [], []
    for spot in spots:
        for run in spot.shown:
            x, y = (run.measured or {}).get(STANDSTILL.name), (run.measured or {})[measure.name]
            if x is not None and y is not None:
                told = f"{run.label}: {duration(x)}, {number(y)} {measure.title}"
                dots.append(Dot(across.at(x / 1_000), up.at(y), told))
        medians.append(_median(spot, measure, across, up))
    return Series(css, tuple(dots), tuple(medians), " ".join(f"{m.x},{m.y}" for m in medians))


def _median(spot: Spot, measure: Measure, across: _Scale, up: _Scale) -> Dot:
    x, y = spot.spread(STANDSTILL).p50 or 0.0, spot.spread(measure).p50 or 0.0
    settings = ", ".join(f"{name}={value_text(value)}" for name, value in spot.settings.items())
    told = f"{spot.experiment}, {settings}: median {duration(x)}, {number(y)} {measure.title}"
    return Dot(across.at(x / 1_000), up.at(y), told)


def _labels(
    sweep: Sweep, spots: Sequence[Spot], measure: Measure, across: _Scale, up: _Scale
) -> Iterator[Label]:
    """Each where it covers neither a median nor another label, if there is such a place."""
    medians = [_median(spot, measure, across, up) for spot in spots]
    taken = [(dot.x - 6, dot.y - 6, dot.x + 6, dot.y + 6) for dot in medians]
    for spot, dot in zip(spots, medians, strict=True):
        text = key_of(sweep, spot)
        long = len(text) * _LETTER
        places = [
            (Label(dot.x + dx, dot.y + dy, anchor, text), dot.x + dx - long * share)
            for dx, dy, anchor, share in (
                (10, 4, "start", 0.0),
                (0, -11, "middle", 0.5),
                (-10, 4, "end", 1.0),
                (10, -12, "start", 0.0),
                (-10, -12, "end", 1.0),
                (0, -26, "middle", 0.5),
                (0, 21, "middle", 0.5),
            )
        ]
        boxes = [
            (label, (left, label.y - _LINE + 3, left + long, label.y + 3)) for label, left in places
        ]
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


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
