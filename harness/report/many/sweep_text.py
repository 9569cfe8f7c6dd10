"""A sweep as a page, as Markdown, as JSON and on a terminal; all say the same of every point."""

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from harness.base.paths import here
from harness.base.words import plural
from harness.history import store
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import Suite
from harness.report.many.suite_junit import junit_of
from harness.report.many.suite_rows import Verdicts, kind_of, read_verdicts, run_row
from harness.report.many.suite_text import runs_lines, style_of
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
from harness.report.many.sweep_plot import HEIGHT, WIDTH, key_of, plot
from harness.report.many.sweep_words import reading, sentences, value_text
from harness.report.many.verdicts import SUITE_VERDICTS, headline, table_of
from harness.report.run.files import write_whole
from harness.report.run.page import Fact, environment
from harness.report.text.columns import align, show, width_of
from harness.report.text.markdown import safe, table_row
from harness.report.words import NOTHING, duration, number, spread

PAGE: Final = "sweep.html"
TEXT: Final = "sweep.md"
RECORD: Final = "sweep.json"
_PLOTTED: Final = (EVICTED, AGAIN)
_NO_BREAK: Final = "\u00a0"


def write(suite: Suite) -> None:
    """Write what there is by now: `sweep.html`, `sweep.md`, `sweep.json` and `junit.xml`.

    `verdicts.parquet` is what is left of runs whose folders are removed.
    """
    sweep, verdicts = sweep_of(suite), read_verdicts(suite)
    told = sentences(sweep)
    rows = [row for entry in suite.entries for row in verdicts[entry.label]]
    store.write(suite.path / VERDICTS_FILE, [table_of(rows)], SUITE_VERDICTS)
    texts = {
        RECORD: as_json(sweep, told),
        TEXT: markdown(suite, sweep, told, verdicts),
        PAGE: page(suite, sweep, told, verdicts),
        "junit.xml": junit_of(suite),
    }
    for name, text in texts.items():
        write_whole(suite.path / name, text)


def title_of(sweep: Sweep) -> str:
    """What was played, and what was swept."""
    names = " and ".join(axis.name for axis in sweep.axes)
    return f"{', '.join(sweep.claims)} over {names}"


def cell(spot: Spot, measure: Measure) -> str:
    """What a point shows of a measure: its median, and the smallest and largest of its runs."""
    found = spot.spread(measure)
    if not found.n:
        return NOTHING
    told = spread(found, duration if measure in (STANDSTILL, IN_ALL) else number)
    known = "" if found.n == len(spot.shown) else f", known of {found.n}"
    values = spot.values(measure)
    some = sum(value > 0 for value in values)
    if measure is EVICTED and 0 < some < len(values):
        return f"{told}, in {some} of {plural(len(values), 'run')}{known}"
    return f"{told}{known}"


def interval(spot: Spot) -> str:
    """Where the median of the longest standstill lies; empty where too few runs say."""
    found = spot.interval(STANDSTILL)
    if found is None:
        return ""
    return f"{duration(found.low)} – {duration(found.high)} ({found.confidence:.0%})"


def _counted(spot: Spot) -> str:
    shown, planned = len(spot.shown), len(spot.runs)
    return str(shown) if shown == planned else f"{shown} of {planned}"


_HEAD: Final = ("runs", STANDSTILL.title, EVICTED.title, AGAIN.title, LOST.title)
_WHERE: Final = "where the longest went"


def _cells(sweep: Sweep, spot: Spot) -> list[str]:
    """A point as a row, without its experiment."""
    point = [str(spot.number)] if len(sweep.axes) > 1 else []
    return [
        *point,
        *(value_text(spot.settings[axis.name]) for axis in sweep.axes),
        _counted(spot),
        *(cell(spot, measure) for measure in (STANDSTILL, EVICTED, AGAIN, LOST)),
        *(cell(spot, measure) for measure in sweep.of_group),
        *([spot.where or NOTHING] if sweep.of_group else []),
    ]


def _heads(sweep: Sweep) -> list[str]:
    point = ["point"] if len(sweep.axes) > 1 else []
    more = [*(measure.title for measure in sweep.of_group), _WHERE] if sweep.of_group else []
    return [*point, *(axis.name for axis in sweep.axes), *_HEAD, *more]


def markdown(suite: Suite, sweep: Sweep, told: Sequence[str], verdicts: Verdicts) -> str:
    """The text of `sweep.md`."""
    heads = ["experiment", *_heads(sweep)]
    rows = [table_row(spot.experiment, *_cells(sweep, spot)) for spot in sweep.spots]
    lies = [(spot, interval(spot)) for spot in sweep.spots if interval(spot)]
    lines = [
        f"## {safe(title_of(sweep))}: {headline(suite)}",
        "",
        *(f"- {safe(sentence)}" for sentence in told),
        "",
        table_row(*heads),
        f"|{'---|' * len(heads)}",
        *rows,
        "",
        *(
            f"- {spot.experiment}, {key_of(sweep, spot)}: the median of the longest standstill "
            f"lies in {text}"
            for spot, text in lies
        ),
        *([""] if lies else []),
        *(f"{safe(sentence)}\n" for sentence in sweep.left_out),
        "### How to read it",
        "",
        *(f"- {name}: {safe(sweep.about(name))}" for name in sweep.claims),
        *(f"- {sentence}" for sentence in reading(sweep)),
        "",
        "### Runs",
        "",
        *runs_lines(suite, verdicts),
        "",
    ]
    if sweep.command:
        lines += ["```", sweep.command, "```", ""]
    return "\n".join(lines)


def page(suite: Suite, sweep: Sweep, told: Sequence[str], verdicts: Verdicts) -> str:
    """The text of `sweep.html`."""
    plots = [found for measure in _PLOTTED if (found := plot(sweep, measure)) is not None]
    kafka = sorted({entry.kafka for entry in suite.entries})
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            kind="sweep",
            title=title_of(sweep),
            claim="",
            headline=headline(suite),
            outcome=kind_of(suite),
            detail=_made(sweep),
            figures=[
                Fact("points", str(len({spot.number for spot in sweep.spots})), _grid(sweep)),
                Fact("experiments", str(len(sweep.claims)), ""),
                Fact("runs", str(sweep.shown), f"of {len(sweep.runs)} shown"),
                Fact("Kafka", " / ".join(kafka), ""),
                Fact("took", duration(suite.took_s * 1_000), ""),
            ],
            sections=[
                ("told", "What it buys and costs"),
                *([("plots", "Plots")] if plots else []),
                ("points", "Points"),
                ("reading", "How to read it"),
                ("runs", "Runs"),
            ],
            made_from="suite.json and the folders of the runs",
            told=[_unbroken(sentence) for sentence in told],
            plots=plots,
            plot_width=WIDTH,
            plot_height=HEIGHT,
            by_value=len(sweep.axes) == 1,
            experiments=[
                {"name": name, "about": sweep.about(name), "css": f"m{place % 10}"}
                for place, name in enumerate(sweep.claims)
            ],
            heads=_heads(sweep),
            intervals=any(interval(spot) for spot in sweep.spots),
            rows=[_row(sweep, spot) for spot in sweep.spots],
            left_out=sweep.left_out,
            reading=reading(sweep),
            command=sweep.command,
            runs=[run_row(suite, entry, verdicts[entry.label]) for entry in suite.entries],
        )
    )


def _row(sweep: Sweep, spot: Spot) -> dict[str, Any]:
    cells = _cells(sweep, spot)
    return {
        "experiment": spot.experiment,
        "cells": cells,
        "longest": spot.longest,
        "longest_at": _heads(sweep).index(STANDSTILL.title),
        "interval": interval(spot),
        "missing": len(spot.shown) < len(spot.runs),
    }


def _grid(sweep: Sweep) -> str:
    return " × ".join(str(len(axis.values)) for axis in sweep.axes) + " values"


def _unbroken(sentence: str) -> str:
    """The sentence, in which no number is left without its unit at the end of a line."""
    return re.sub(r"(?<=\d) (?=m?s\b)", _NO_BREAK, sentence)


def _made(sweep: Sweep) -> str:
    counts = sorted({len(spot.shown) for spot in sweep.spots})
    each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{each} {'run' if counts == [1] else 'runs'} of each point shown."


def print_sweep(suite: Suite, console: Console | None = None) -> None:
    """Print what each setting buys and costs, the numbers behind it, and where the page is."""
    console = console or Console(highlight=False)
    sweep, width = sweep_of(suite), width_of(console)
    first = Text(f"{suite.kind} {suite.name}: ")
    first.append(headline(suite), style_of(suite))
    lines = [first]
    for sentence in sentences(sweep):
        wrapped = wrap(_unbroken(sentence), width, break_on_hyphens=False)
        lines += [Text(), *(Text(line.replace(_NO_BREAK, " ")) for line in wrapped)]
    lines.append(Text())
    lines += _table(sweep, width)
    lines.append(Text())
    lines += [Text(f"note    {sentence}", "yellow") for sentence in sweep.left_out]
    lines += [
        Text(f"{each.label}: {each.state}{f' ({each.reason})' if each.reason else ''}", "yellow")
        for each in sweep.unshown
    ]
    page_at = Text(f"page    {here(suite.path / PAGE)}")
    show(console, [*lines, page_at, Text(f"text    {TEXT} and {RECORD} beside it")])


def _table(sweep: Sweep, width: int) -> list[Text]:
    """Point by point, so that what it buys stands above what it costs."""
    spots = sorted(sweep.spots, key=lambda spot: spot.number)
    cells: list[tuple[str, ...]] = [("", *_HEAD)]
    first = _heads(sweep).index(_HEAD[0])
    cells += [
        (f"  {spot.experiment}", *_cells(sweep, spot)[first : first + len(_HEAD)]) for spot in spots
    ]
    texts = align(cells, width, free=(0,), right=(1,))
    lines = [Text(texts[0], "bold")]
    for place, (spot, text) in enumerate(zip(spots, texts[1:], strict=True)):
        if place == 0 or spots[place - 1].number != spot.number:
            told = [f"{name}={value_text(value)}" for name, value in spot.settings.items()]
            lines.append(Text(", ".join(told), "cyan"))
        lines.append(Text(text, "yellow" if len(spot.shown) < len(spot.runs) else ""))
        more = [f"{measure.title}: {cell(spot, measure)}" for measure in sweep.of_group]
        if more and spot.where:
            more.append(f"{_WHERE}: {spot.where}")
            lines += [Text(f"    {line}") for line in wrap("; ".join(more), width - 4)]
    return lines
