"""A sweep as a page, as Markdown, as JSON and on a terminal; all say the same of every point."""

from typing import Final

from harness.base.paths import here
from harness.base.words import plural
from harness.history.suites import Suite
from harness.report.formats import NOTHING, duration, number, spread
from harness.report.many import blocks, suite_rows
from harness.report.many.blocks import Block, Cell, Column, Line, Row
from harness.report.many.numbers import interval_text
from harness.report.many.suite_rows import Verdicts, read_verdicts
from harness.report.many.sweep import (
    AGAIN,
    EVICTED,
    IN_ALL,
    MEASURES,
    STANDSTILL,
    Measure,
    Spot,
    Sweep,
    as_json,
    sweep_of,
    value_text,
)
from harness.report.many.sweep_plot import plot
from harness.report.many.sweep_words import reading, sentences
from harness.report.run.page import Fact
from harness.report.run.page_files import write_whole

PAGE: Final = "sweep.html"
TEXT: Final = "sweep.md"
RECORD: Final = "sweep.json"


def write(suite: Suite) -> blocks.Overview:
    """Write what there is by now: `sweep.html`, `sweep.md`, `sweep.json` and `junit.xml`.

    `verdicts.parquet` is what is left of runs whose folders are removed.
    """
    sweep, verdicts = sweep_of(suite), read_verdicts(suite)
    write_whole(suite.path / RECORD, as_json(sweep, sentences(sweep)))
    return suite_rows.write_suite(suite, verdicts, shown(sweep, verdicts), PAGE, TEXT)


def shown(sweep: Sweep, verdicts: Verdicts) -> blocks.Overview:
    suite, words, plots = sweep.suite, sentences(sweep), _plots(sweep)
    none = "No setting has two values with runs yet that show something."
    columns, rows = _points(sweep)
    parts = [
        Block(
            "buys",
            "What it buys and costs",
            items=words,
            notes=(*(() if words else (none,)), *suite.notes),
        ),
        *([plots] if plots.plots else []),
        Block(
            "points",
            "Points",
            columns=columns,
            rows=rows,
            notes=[Line(suite_rows.unshown(each), "doubt") for each in sweep.unshown],
        ),
        Block(
            "reading",
            "How to read it",
            items=[*_about(sweep), *reading(sweep)],
            notes=("It was made by this command:",) if sweep.command else (),
            code=sweep.command,
            on=blocks.WRITTEN,
        ),
        suite_rows.runs(suite, verdicts),
    ]
    counts = sorted({len(spot.shown) for spot in sweep.spots})
    each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    points = len({spot.number for spot in sweep.spots})
    runs = len(sweep.runs)
    grid = " × ".join(str(len(axis.values)) for axis in sweep.axes)
    facts = (
        Fact("points", str(points), f"{grid} values"),
        Fact("experiments", str(len(sweep.claims))),
        Fact("shown", str(runs - len(sweep.unshown)), f"of {plural(runs, 'run')}"),
        Fact("Kafka", " / ".join(sorted({entry.kafka for entry in suite.entries}))),
    )
    return suite_rows.shown_of(
        suite,
        f"{', '.join(sweep.claims)} over {' and '.join(axis.name for axis in sweep.axes)}",
        f"{each} {'run' if counts == [1] else 'runs'} of each point shown.",
        parts,
        facts,
        files=(("page", here(suite.path / PAGE)), ("text", f"{TEXT} and {RECORD} beside it")),
    )


def _about(sweep: Sweep) -> list[tuple[str, str]]:
    faults = sweep.suite.asked.get("faults") or {}
    done = {name: "; ".join(faults.get(name) or ()) for name in sweep.claims}
    return [
        (name, f"{claim} What is done: {done[name]}." if done[name] else claim)
        for name, claim in sweep.claims.items()
    ]


def _plots(sweep: Sweep) -> Block:
    plots = [plot(sweep, measure) for measure in (EVICTED, AGAIN)]
    key = "its value" if len(sweep.axes) == 1 else "its number in the table below"
    return Block(
        "plots",
        "Plots",
        f"A small dot is a run. A ring is the median of a point, with {key}. Nearer to the "
        "lower left corner is better.",
        plots=[each for each in plots if each is not None],
        legend=[(f"m{place % 10}", name) for place, name in enumerate(sweep.claims)],
        on=(blocks.PAGE,),
    )


def _points(sweep: Sweep) -> tuple[list[Column], list[Row]]:
    """A row for each point; on a terminal what a point buys stands above what it costs."""
    grid = len(sweep.axes) > 1
    columns = [
        Column("experiment", free=True),
        *(Column(name, narrow=False) for name in ("point",) if grid),
        *(Column(axis.name, narrow=False) for axis in sweep.axes),
        Column("runs", number=True),
        *(Column(measure.title) for measure in MEASURES),
        *(Column(measure.title, narrow=False) for measure in sweep.of_group),
        *(Column(title, narrow=False) for title in ("where the longest went",) if sweep.of_group),
    ]
    if any(map(interval, sweep.spots)):
        columns.append(Column("median of the standstill lies in", narrow=False))
    rows = []
    for spot in sorted(sweep.spots, key=lambda spot: spot.number):
        count, planned = len(spot.shown), len(spot.runs)
        still, *others = (cell(spot, measure) for measure in (*MEASURES, *sweep.of_group))
        cells: list[Cell] = [
            spot.experiment,
            *([str(spot.number)] if grid else []),
            *(axis.value(spot) for axis in sweep.axes),
            str(count) if count == planned else f"{count} of {planned}",
            Line(still, link=spot.longest["link"] if spot.longest else ""),
            *others,
            *([spot.where or NOTHING] if sweep.of_group else []),
            interval(spot),
        ]
        words = [f"{name}={value_text(value)}" for name, value in spot.settings.items()]
        tone = "unjudged" if count < planned else ""
        rows.append(Row(cells[: len(columns)], tone, above=", ".join(words)))
    return columns, rows


def cell(spot: Spot, measure: Measure) -> str:
    """What a point shows of a measure: its median, and the smallest and largest of its runs."""
    found = spot.of(measure)
    values = found.every
    if not values:
        return NOTHING
    words = spread(found.values, duration if measure in (STANDSTILL, IN_ALL) else number)
    known = "" if len(values) == len(spot.shown) else f", known of {len(values)}"
    some = sum(value > 0 for value in values)
    if measure is EVICTED and 0 < some < len(values):
        words += f", in {some} of {plural(len(values), 'run')}"
    return f"{words}{known}"


def interval(spot: Spot) -> str:
    """Where the median of the longest standstill lies; empty where too few runs say."""
    found = spot.of(STANDSTILL).sure
    return interval_text(found, duration) if found else ""
