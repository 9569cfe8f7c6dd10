"""How measured numbers moved over many runs: a page with a plot per series, and a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.base.words import plural
from harness.report.load import Row
from harness.report.many import blocks
from harness.report.many.blocks import (
    PAGE,
    TERMINAL,
    Block,
    Line,
    Overview,
    Plot,
    Shape,
    Table,
    TableColumn,
    print_shown,
)
from harness.report.many.blocks import Row as BlockRow
from harness.report.run.files import write_whole
from harness.report.words import number
from harness.rules import RULES

_TITLES: Final = {
    "worse": ("Worse", "Moved, and the nearest bound of the rule is nearer since."),
    "moved": ("Moved", "Beyond chance, and no nearer to a bound of the rule."),
    "steady": ("Steady", "No move that chance could not explain."),
    "too few": ("Too few days", "With so many series, what moves over so few days may be chance."),
}
_HEIGHT: Final = 40
_WIDTH: Final = 100


def write(folder: Path, rows: Sequence[Row]) -> Path:
    """Write `trend.html`; `rows` are those of `harness.trend.job.trends` with their points."""
    path = folder / "trend.html"
    write_whole(path, page(rows))
    return path


def page(rows: Sequence[Row]) -> str:
    """The text of `trend.html`."""
    return blocks.page(shown(rows))


def print_trends(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print what moved, one line each, and how much did not."""
    print_shown(shown(rows), console)


def shown(rows: Sequence[Row]) -> Overview:
    """All that is shown of the rows of `harness.trend.job.trends`."""
    from harness.trend.job import ALPHA

    rows = _told_apart(rows)
    series = []
    for trend, (title, lead) in _TITLES.items():
        found = [row for row in rows if row["trend"] == trend]
        folded = trend in ("steady", "too few")
        series.append(
            Block(
                trend.replace(" ", "-"),
                f"{title}: {len(found)}",
                lead,
                plots=[_plot(row) for row in found],
                folded=plural(len(found), "series", "series") if folded else "",
                on=(PAGE,) if found else (),
            )
        )
    none = () if rows else (Line("No rule measured anything on two days or more."),)
    return Overview(
        kind="trend",
        name="trend",
        title=_runs(rows),
        claim="How each measured number moves from day to day. A day (UTC) is one number, the "
        "median of its runs' medians, since runs of one day do not vary independently. Pettitt's "
        f"test on the days sets a move apart from chance, at {ALPHA:.0%} over all series together "
        "that are long enough for it (Holm).",
        headline=headline(rows),
        outcome="differs" if any(row["trend"] == "worse" for row in rows) else "as-expected",
        detail="",
        blocks=[
            *series,
            _moved(rows),
            Block("none", "Series", notes=none, on=(PAGE,) if none else ()),
        ],
        made_from="dataset/; the numbers are in trend.parquet",
    )


def _moved(rows: Sequence[Row]) -> Block:
    """On a terminal, what moved."""
    heads = ("rule", "experiment", "client", "protocol", "Kafka", "backend")
    found = [row for row in rows if row["trend"] in ("worse", "moved")]
    table = Table(
        [*map(TableColumn, heads), TableColumn("what", free=True)],
        [
            BlockRow(
                (
                    Line(row["rule"], sign="✗" if row["trend"] == "worse" else "≠"),
                    f"{row['experiment']} {row['setup']}".strip(),
                    row["client"],
                    row["protocol"],
                    row["kafka"],
                    row["backend"],
                    _words(row),
                )
            )
            for row in found
        ],
    )
    return Block("moved-most", "What moved", table=table, on=(TERMINAL,) if found else ())


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
    words = ", ".join(f"{count} {trend}" for trend, count in counts.items() if count)
    return f"{plural(len(rows), 'series', 'series')} of {_runs(rows)}: {words}"


def _plot(row: Row) -> Plot:
    """One series, in a field of 100 by 40."""
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

    places = [round(_WIDTH * (place + 0.5) / len(points), 2) for place in range(len(points))]
    dots = list(zip(places, map(y, values), strict=True))
    shapes = [
        Shape("line", {"x1": 0, "x2": _WIDTH, "y1": y(limit), "y2": y(limit)}) for limit in near
    ]
    after = [place for place, point in enumerate(points) if row["since_run"] in point["runs"]]
    if row["trend"] in ("worse", "moved") and after:
        x = round(_WIDTH * after[0] / len(points), 2)
        shapes.append(Shape("line", {"class": "turn", "x1": x, "x2": x, "y1": 0, "y2": _HEIGHT}))
    shapes.append(Shape("polyline", {"points": " ".join(f"{x},{y}" for x, y in dots)}))
    for (at, height), point in zip(dots, points, strict=True):
        css = {"class": "bad"} if point["differing"] else {}
        shapes.append(
            Shape(
                "circle",
                {"cx": at, "cy": height, "r": 1.2, **css},
                title=_day(point, row["unit"] or ""),
            )
        )
    words = f"{_words(row)}; {_runs_on_days(row['runs'], row['n'])}"
    title = RULES[row["rule"]].title if row["rule"] in RULES else ""
    return Plot(
        f"{row['rule']} {title}",
        words,
        (_WIDTH, _HEIGHT),
        shapes,
        f"{row['experiment']}, {_about(row)}",
        words,
        stretched=True,
    )


def _day(point: Row, unit: str) -> str:
    runs, differing = point["runs"], point["differing"]
    whose = runs[0] if len(runs) == 1 else f"{point['day']}, {plural(len(runs), 'run')}"
    words = f"{differing} not as expected" if differing else "as expected"
    return f"{whose}: {number(point['value'], unit)}, {words}"


def _words(row: Row) -> str:
    unit = row["unit"] or ""
    before, after = number(row["before"], unit), number(row["after"], unit)
    if row["trend"] in ("worse", "moved"):
        since = f"{row['since']:%Y-%m-%d}"
        return f"{before} before, {after} since {since} (p = {row['p_adjusted']:.1g})"
    values = sorted(point["value"] for point in row["points"])
    return f"{number(values[0], unit)} to {number(values[-1], unit)}"
