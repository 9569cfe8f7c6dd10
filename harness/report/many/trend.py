"""How measured numbers moved over many runs: a page with a plot per series, and a few lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from harness.base.words import plural
from harness.experiment import protocol_said
from harness.report.formats import number
from harness.report.load import Row
from harness.report.many import blocks
from harness.report.many.blocks import Block, Line, Plot
from harness.report.outcome import name_of
from harness.report.parts.shapes import Shape
from harness.report.run.page_files import write_whole
from harness.rules import RULES

_TITLES: Final = {
    "worse": ("Worse", "Moved, and the nearest bound of the rule is nearer since."),
    "moved": ("Moved", "Beyond chance, and no nearer to a bound of the rule."),
    "steady": ("Steady", "No move that chance could not explain."),
    "too few": ("Too few days", "With so many series, what moves over so few days may be chance."),
}
_MOVED: Final = ("worse", "moved")
_HEIGHT: Final = 40
_WIDTH: Final = 100


def write(folder: Path, rows: Sequence[Row]) -> Path:
    """Write `trend.html`; `rows` are those of `harness.trend.job.trends` with their points."""
    path = folder / "trend.html"
    write_whole(path, blocks.page(shown(rows)))
    return path


def shown(rows: Sequence[Row]) -> blocks.Overview:
    """All that is shown of these rows of `harness.trend.job.trends`."""
    from harness.trend.job import ALPHA

    rows = _with_needed_setups(rows)
    parts = []
    for trend, (title, lead) in _TITLES.items():
        plots = [_plot(row) for row in rows if row["trend"] == trend]
        folded = plural(len(plots), "series", "series") if trend not in _MOVED else ""
        heading, where = f"{title}: {len(plots)}", (blocks.PAGE,) if plots else ()
        id_ = trend.replace(" ", "-")
        parts.append(Block(id_, heading, lead, plots=plots, folded=folded, on=where))
    moved = [_row(row) for row in rows if row["trend"] in _MOVED]
    heads = ("rule", "experiment", "client", "protocol", "Kafka", "backend")
    columns = (*heads, blocks.Column("what", free=True))
    where = (blocks.TERMINAL,) if moved else ()
    parts.append(Block("", "What moved", columns=columns, rows=moved, on=where))
    if not rows:
        none = Line("No rule measured anything on two days or more.")
        parts.append(Block("none", "Series", notes=(none,), on=(blocks.PAGE,)))
    return blocks.Overview(
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
        blocks=parts,
        made_from="dataset/; the numbers are in trend.parquet",
    )


def _row(row: Row) -> blocks.Row:
    about = [protocol_said(row[name]) for name in ("client", "protocol", "kafka", "backend")]
    rule = Line(name_of(row["rule"]), sign="✗" if row["trend"] == "worse" else "≠")
    experiment = f"{row['experiment']} {row['setup']}".strip()
    return blocks.Row((rule, experiment, *about, _words(row)))


def _with_needed_setups(rows: Sequence[Row]) -> list[Row]:
    """The rows, with their set-up only where another one of the same name was set up otherwise."""
    names = ("experiment", "client", "protocol", "kafka", "backend", "rule")
    keys = [tuple(row[name] for name in names) for row in rows]
    count = Counter(keys)
    return [
        {**row, "setup": row["setup"] if count[key] > 1 else ""}
        for row, key in zip(rows, keys, strict=True)
    ]


def _runs(rows: Iterable[Row]) -> str:
    points = [point for row in rows for point in row["points"]]
    return _runs_on_days(
        len({run for point in points for run in point["runs"]}),
        len({point["day"] for point in points}),
    )


def _runs_on_days(runs: int, days: int) -> str:
    return f"{plural(runs, 'run')} on {plural(days, 'day')}"


def headline(rows: Sequence[Row]) -> str:
    if not rows:
        return "No rule measured anything on two days (UTC) yet, so nothing can have moved"
    counts = Counter(row["trend"] for row in rows)
    words = ", ".join(f"{counts[trend]} {trend}" for trend in _TITLES if counts[trend])
    return f"{plural(len(rows), 'series', 'series')} of {_runs(rows)}: {words}"


def _plot(row: Row) -> Plot:
    points, unit = row["points"], row["unit"] or ""
    values = [point["value"] for point in points]
    limits = [row[name] for name in ("bound_low", "bound_high") if row[name] is not None]
    low, high = min(values), max(values)
    # A bound far away would press the line flat: it is drawn where the numbers come near it.
    near = [limit for limit in limits if low - (high - low) <= limit <= high + (high - low)]
    low, high = min([low, *near]), max([high, *near])

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(_HEIGHT * (0.95 - 0.9 * share), 2)

    def x(place: float) -> float:
        return round(_WIDTH * place / len(points), 2)

    def line(x1: float, x2: float, y1: float, y2: float, **css: str) -> Shape:
        return Shape("line", {**css, "x1": x1, "x2": x2, "y1": y1, "y2": y2})

    shapes = [line(0, _WIDTH, y(limit), y(limit)) for limit in near]
    after = [place for place, point in enumerate(points) if row["since_run"] in point["runs"]]
    if row["trend"] in _MOVED and after:
        turn = x(after[0])
        shapes.append(line(turn, turn, 0, _HEIGHT, **{"class": "turn"}))
    dots = []
    for place, point in enumerate(points):
        css = {"class": "bad"} if point["differing"] else {}
        at = {"cx": x(place + 0.5), "cy": y(point["value"])}
        dots.append(Shape("circle", {**at, "r": 1.2, **css}, title=_day(point, unit)))
    joined = " ".join(f"{dot.attributes['cx']},{dot.attributes['cy']}" for dot in dots)
    words = f"{_words(row)}; {_runs_on_days(row['runs'], row['n'])}"
    title = RULES[row["rule"]].title if row["rule"] in RULES else ""
    about = [
        f"{row['experiment']}, {row['client']}",
        protocol_said(row["protocol"]),
        f"Kafka {row['kafka']}",
    ]
    about += [row["backend"], *([f"set up as {row['setup']}"] if row["setup"] else [])]
    return Plot(
        f"{name_of(row['rule'])} {title}".strip(),
        words,
        (_WIDTH, _HEIGHT),
        [*shapes, Shape("polyline", {"points": joined}), *dots],
        ", ".join(about),
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
    if row["trend"] in _MOVED:
        before, after = number(row["before"], unit), number(row["after"], unit)
        since = f"{row['since']:%Y-%m-%d}"
        return f"{before} before, {after} since {since} (p = {row['p_adjusted']:.1g})"
    values = [point["value"] for point in row["points"]]
    return f"{number(min(values), unit)} to {number(max(values), unit)}"
