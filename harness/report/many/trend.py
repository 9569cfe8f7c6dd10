"""How measured numbers moved over many runs: a page with a plot per series, and a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.words import plural
from harness.report.load import Row
from harness.report.run.files import write_whole
from harness.report.run.page import environment
from harness.report.text.columns import align, show, width_of
from harness.report.words import number
from harness.rules import RULES

_TITLES: Final = {
    "worse": ("Worse", "Moved, and the nearest bound of the rule is nearer since."),
    "moved": ("Moved", "Beyond chance, and no nearer to a bound of the rule."),
    "steady": ("Steady", "No move that chance could not explain."),
    "too few": ("Too few days", "With so many series, what moves over so few days may be chance."),
}
_HEIGHT: Final = 40.0
_WIDTH: Final = 100.0


@dataclass(frozen=True)
class Dot:
    """One day of a series, where it is drawn."""

    x: float
    y: float
    bad: bool
    text: str


@dataclass(frozen=True)
class Series:
    """One series, ready to be drawn in a field of 100 by 40."""

    rule: str
    title: str
    experiment: str
    about: str
    spoken: str
    bounds: tuple[float, ...]
    turn: float | None
    line: str
    dots: tuple[Dot, ...]
    told: str


@dataclass(frozen=True)
class TrendGroup:
    """Series of one trend."""

    trend: str
    title: str
    lead: str
    folded: bool
    series: tuple[Series, ...]


def write(folder: Path, rows: Sequence[Row]) -> Path:
    """Write `trend.html`; `rows` are those of `harness.trend.job.trends` with their points."""
    path = folder / "trend.html"
    write_whole(path, page(rows))
    return path


def page(rows: Sequence[Row]) -> str:
    """The text of `trend.html`."""
    from harness.trend.job import ALPHA

    rows = _told_apart(rows)
    groups = [
        TrendGroup(
            trend,
            f"{title}: {len(found)}",
            lead,
            trend in ("steady", "too few"),
            tuple(_series(row) for row in found),
        )
        for trend, (title, lead) in _TITLES.items()
        if (found := [row for row in rows if row["trend"] == trend])
    ]
    worse = sum(row["trend"] == "worse" for row in rows)
    return (
        environment()
        .get_template("trend.html.j2")
        .render(
            runs=_runs(rows),
            test="A day (UTC) is one number, the median of its runs' medians, since runs of one "
            "day do not vary independently. Told from chance by Pettitt's test on the days, at "
            f"{ALPHA:.0%} over all series together that are long enough for it (Holm).",
            outcome="differs" if worse else "as-expected",
            headline=headline(rows),
            groups=groups,
        )
    )


def _told_apart(rows: Sequence[Row]) -> list[Row]:
    """The rows, with their set-up only where another one of the same name was set up otherwise."""
    names = ("experiment", "client", "protocol", "kafka", "backend", "rule")
    count = Counter(tuple(row[name] for name in names) for row in rows)
    return [
        {**row, "setup": row["setup"] if count[tuple(row[name] for name in names)] > 1 else ""}
        for row in rows
    ]


def _about(row: Row) -> str:
    about = f"{row['client']}, {row['protocol']}, Kafka {row['kafka']}, {row['backend']}"
    return f"{about}, set up as {row['setup']}" if row["setup"] else about


def _runs(rows: Iterable[Row]) -> str:
    points = [point for row in rows for point in row["points"]]
    return _runs_on_days(
        len({run for point in points for run in point["runs"]}),
        len({point["day"] for point in points}),
    )


def _runs_on_days(runs: int, days: int) -> str:
    return f"{plural(runs, 'run')} on {plural(days, 'day')}"


def headline(rows: Sequence[Row]) -> str:
    """What there is, in one line."""
    if not rows:
        return "No rule measured anything on two days (UTC) yet, so nothing can have moved"
    counts = {trend: sum(row["trend"] == trend for row in rows) for trend in _TITLES}
    told = ", ".join(f"{count} {trend}" for trend, count in counts.items() if count)
    return f"{plural(len(rows), 'series', 'series')} of {_runs(rows)}: {told}"


def _series(row: Row) -> Series:
    points = row["points"]
    values = [point["value"] for point in points]
    limits = [row[name] for name in ("bound_low", "bound_high") if row[name] is not None]
    low, high = min(values), max(values)
    # A bound far away would press the line flat: it is drawn where the numbers come near it.
    near = [limit for limit in limits if low - (high - low) <= limit <= high + (high - low)]
    low, high = min([low, *near]), max([high, *near])

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(_HEIGHT * (0.95 - 0.9 * share), 2)

    def x(place: int) -> float:
        return round(_WIDTH * (place + 0.5) / len(points), 2)

    dots = tuple(
        Dot(
            x(place),
            y(point["value"]),
            point["differing"] > 0,
            _day(point, row["unit"] or ""),
        )
        for place, point in enumerate(points)
    )
    after = [place for place, point in enumerate(points) if row["since_run"] in point["runs"]]
    moved = row["trend"] in ("worse", "moved")
    told = f"{_told(row)}; {_runs_on_days(row['runs'], row['n'])}"
    return Series(
        rule=row["rule"],
        title=RULES[row["rule"]].title if row["rule"] in RULES else "",
        experiment=row["experiment"],
        about=_about(row),
        spoken=told,
        bounds=tuple(y(limit) for limit in near),
        turn=round(_WIDTH * after[0] / len(points), 2) if moved and after else None,
        line=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        dots=dots,
        told=told,
    )


def _day(point: Row, unit: str) -> str:
    runs, differing = point["runs"], point["differing"]
    whose = runs[0] if len(runs) == 1 else f"{point['day']}, {plural(len(runs), 'run')}"
    told = f"{differing} not as expected" if differing else "as expected"
    return f"{whose}: {number(point['value'], unit)}, {told}"


def _told(row: Row) -> str:
    unit = row["unit"] or ""
    before, after = number(row["before"], unit), number(row["after"], unit)
    if row["trend"] in ("worse", "moved"):
        since = f"{row['since']:%Y-%m-%d}"
        return f"{before} before, {after} since {since} (p = {row['p_adjusted']:.1g})"
    values = sorted(point["value"] for point in row["points"])
    return f"{number(values[0], unit)} to {number(values[-1], unit)}"


def print_trends(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print what moved, one line each, and how much did not."""
    console = console or Console(highlight=False)
    lines = [Text(headline(rows), "bold")]
    moved = [row for row in _told_apart(rows) if row["trend"] in ("worse", "moved")]
    if moved:
        cells = [("", "rule", "experiment", "client", "protocol", "Kafka", "backend", "what")]
        cells += [
            (
                "✗" if row["trend"] == "worse" else "≠",
                row["rule"],
                f"{row['experiment']} {row['setup']}".strip(),
                row["client"],
                row["protocol"],
                row["kafka"],
                row["backend"],
                _told(row),
            )
            for row in moved
        ]
        lines += [Text(), *map(Text, align(cells, width_of(console), free=(7,)))]
    show(console, lines)
