"""A sweep as a page, as Markdown, as JSON and on a terminal; all say the same of every point."""

from typing import Final

from rich.console import Console

from harness.base.paths import here
from harness.base.words import plural
from harness.history.suites import Suite
from harness.report.many.blocks import (
    PAGE as ON_PAGE,
)
from harness.report.many.blocks import (
    WRITTEN,
    Block,
    Cell,
    Line,
    Overview,
    Row,
    Table,
    TableColumn,
    print_shown,
)
from harness.report.many.suite_rows import (
    Verdicts,
    read_verdicts,
    runs,
    shown_of,
    write_suite,
)
from harness.report.many.sweep import (
    AGAIN,
    EVICTED,
    IN_ALL,
    LOST,
    STANDSTILL,
    Measure,
    Spot,
    Sweep,
    as_json,
    sweep_of,
)
from harness.report.many.sweep_plot import plot
from harness.report.many.sweep_words import reading, sentences, value_text
from harness.report.run.files import write_whole
from harness.report.run.page import Fact
from harness.report.words import NOTHING, duration, number, spread

PAGE: Final = "sweep.html"
TEXT: Final = "sweep.md"
RECORD: Final = "sweep.json"
_PLOTTED: Final = (EVICTED, AGAIN)


def write(suite: Suite) -> None:
    """Write what there is by now: `sweep.html`, `sweep.md`, `sweep.json` and `junit.xml`.

    `verdicts.parquet` is what is left of runs whose folders are removed.
    """
    sweep, verdicts = sweep_of(suite), read_verdicts(suite)
    write_whole(suite.path / RECORD, as_json(sweep, sentences(sweep)))
    write_suite(suite, verdicts, shown(suite, sweep, verdicts), PAGE, TEXT)


def print_sweep(suite: Suite, console: Console | None = None) -> None:
    """Print what each setting buys and costs, the numbers behind it, and where the page is."""
    print_shown(shown(suite, sweep_of(suite), read_verdicts(suite)), console)


def shown(suite: Suite, sweep: Sweep, verdicts: Verdicts) -> Overview:
    """All that is shown of a sweep."""
    words = sentences(sweep)
    none = "No setting has two values with runs yet that show something."
    plots = [found for measure in _PLOTTED if (found := plot(sweep, measure)) is not None]
    key = "its value" if len(sweep.axes) == 1 else "its number in the table below"
    blocks = [
        Block(
            "buys",
            "What it buys and costs",
            items=words,
            notes=(*(() if words else (none,)), *sweep.left_out),
        ),
        Block(
            "plots",
            "Plots",
            f"A small dot is a run. A ring is the median of a point, with {key}. Nearer to the "
            "lower left corner is better.",
            plots=plots,
            legend=[(f"m{place % 10}", name) for place, name in enumerate(sweep.claims)],
            on=(ON_PAGE,) if plots else (),
        ),
        Block(
            "points",
            "Points",
            table=_points(sweep),
            notes=[
                Line(f"{each.label}: {_why(each.state, each.reason)}", "doubt")
                for each in sweep.unshown
            ],
        ),
        Block(
            "reading",
            "How to read it",
            items=[*((name, sweep.about(name)) for name in sweep.claims), *reading(sweep)],
            notes=("It was made by this command:",) if sweep.command else (),
            code=sweep.command,
            on=WRITTEN,
        ),
        runs(suite, verdicts),
    ]
    points = len({spot.number for spot in sweep.spots})
    grid = " × ".join(str(len(axis.values)) for axis in sweep.axes) + " values"
    facts = (
        Fact("points", str(points), grid),
        Fact("experiments", str(len(sweep.claims)), ""),
        Fact("shown", str(sweep.shown), f"of {plural(len(sweep.runs), 'run')}"),
        Fact("Kafka", " / ".join(sorted({entry.kafka for entry in suite.entries})), ""),
    )
    title = f"{', '.join(sweep.claims)} over {' and '.join(axis.name for axis in sweep.axes)}"
    files = (
        ("page", here(suite.path / PAGE)),
        ("text", f"{TEXT} and {RECORD} beside it"),
    )
    return shown_of(suite, title, _made(sweep), blocks, facts, files=files)


def _why(state: str, reason: str) -> str:
    return f"{state} ({reason})" if reason else state


def _made(sweep: Sweep) -> str:
    counts = sorted({len(spot.shown) for spot in sweep.spots})
    each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{each} {'run' if counts == [1] else 'runs'} of each point shown."


def _points(sweep: Sweep) -> Table:
    """A row for each point; on a terminal what a point buys stands above what it costs."""
    columns = [
        TableColumn("experiment", free=True),
        *([TableColumn("point", narrow=False)] if len(sweep.axes) > 1 else []),
        *(TableColumn(axis.name, narrow=False) for axis in sweep.axes),
        TableColumn("runs", number=True),
        *(TableColumn(measure.title) for measure in (STANDSTILL, EVICTED, AGAIN, LOST)),
        *(TableColumn(measure.title, narrow=False) for measure in sweep.of_group),
        *([TableColumn("where the longest went", narrow=False)] if sweep.of_group else []),
    ]
    if any(interval(spot) for spot in sweep.spots):
        columns.append(TableColumn("median of the standstill lies in", narrow=False))
    rows = sorted(sweep.spots, key=lambda spot: spot.number)
    return Table(columns, [_point(sweep, spot, len(columns)) for spot in rows])


def _point(sweep: Sweep, spot: Spot, columns: int) -> Row:
    shown, planned = len(spot.shown), len(spot.runs)
    cells: list[Cell] = [
        spot.experiment,
        *([str(spot.number)] if len(sweep.axes) > 1 else []),
        *(value_text(spot.settings[axis.name]) for axis in sweep.axes),
        str(shown) if shown == planned else f"{shown} of {planned}",
        Line(cell(spot, STANDSTILL), link=spot.longest),
        *(cell(spot, measure) for measure in (EVICTED, AGAIN, LOST, *sweep.of_group)),
        *([spot.where or NOTHING] if sweep.of_group else []),
        interval(spot),
    ]
    words = [f"{name}={value_text(value)}" for name, value in spot.settings.items()]
    tone = "unjudged" if shown < planned else ""
    return Row(cells[:columns], tone, above=", ".join(words))


def cell(spot: Spot, measure: Measure) -> str:
    """What a point shows of a measure: its median, and the smallest and largest of its runs."""
    found = spot.spread(measure)
    if not found.n:
        return NOTHING
    words = spread(found, duration if measure in (STANDSTILL, IN_ALL) else number)
    known = "" if found.n == len(spot.shown) else f", known of {found.n}"
    values = spot.values(measure)
    some = sum(value > 0 for value in values)
    if measure is EVICTED and 0 < some < len(values):
        return f"{words}, in {some} of {plural(len(values), 'run')}{known}"
    return f"{words}{known}"


def interval(spot: Spot) -> str:
    """Where the median of the longest standstill lies; empty where too few runs say."""
    found = spot.interval(STANDSTILL)
    if found is None:
        return ""
    return f"{duration(found.low)} – {duration(found.high)} ({found.confidence:.0%})"
