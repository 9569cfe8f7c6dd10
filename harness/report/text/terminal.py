"""The short table that a run ends with on standard output."""

from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.paths import here
from harness.report.load import Row, Run, load
from harness.report.outcome import (
    Standing,
    expected_of,
    files_lost,
    in_order,
    outcome,
    sign_of,
    standing,
    verdict_of,
)
from harness.report.parts import standstill
from harness.report.parts.records import fate, records
from harness.report.parts.stops import told as told_stop
from harness.report.parts.tables import rebalanced
from harness.report.text.columns import align, show, width_of
from harness.report.words import NOTHING, bound, measured_range, number

_STYLES: Final = {Standing.AS_EXPECTED: "green", Standing.RESULT: "cyan", Standing.DIFFERS: "red"}
_FREE: Final = (1, 3, 4)  # sign, verdict and count are never cut


def print_summary(run_dir: Path, console: Console | None = None) -> None:
    """Print one line per rule, one on rebalances, one on records, and where the page is.

    Raises:
        NoData: as `load` does.
    """
    run = load(run_dir)
    console = console or Console(highlight=False)
    show(console, _lines(run, width_of(console)))


def _lines(run: Run, width: int) -> list[Text]:
    result = outcome(run)
    style = {"as-expected": "bold green", "differs": "bold red"}.get(result.kind, "bold yellow")
    headline = Text(f"{run.manifest.experiment} {run.manifest.run}: ")
    headline.append(result.headline, style)
    lines = [headline]
    if result.kind == "unjudged":
        lines.append(Text(result.detail))
    if run.problems:
        lines.append(Text(files_lost(run)))
    if run.verdicts:
        lines += [Text(), *_table(in_order(run.verdicts), width)]
    lines += [
        Text(),
        Text(f"rebalances  {rebalanced(run)}"),
        Text(f"standstill  {standstill.told(run)}"),
        Text(f"longest     {told_stop(run)}"),
        Text(f"records     {fate(records(run))}"),
    ]
    lines.append(Text(f"report      {here(run.path / 'report.html')}"))
    return lines


def _table(rows: list[Row], width: int) -> list[Text]:
    head = ("", "rule", "verdict", "measured", "bound", "examined")
    cells = [head, *(_cells(row) for row in rows)]
    styles = ["bold", *(_STYLES[standing(row)] for row in rows)]
    rows_of_text = align(cells, width, free=_FREE, right=(5,))
    marked = rows_of_text[0].index(head[3])  # sign, rule and verdict carry the colour
    lines = []
    for line, style in zip(rows_of_text, styles, strict=True):
        text = Text(line)
        if style == "bold":
            text.stylize("bold")
        else:
            text.stylize(style, 0, marked)
        lines.append(text)
    return lines


def _cells(row: Row) -> tuple[str, ...]:
    how = standing(row)
    verdict = verdict_of(row)
    if how is Standing.DIFFERS:
        verdict = f"{verdict} (expected {expected_of(row)})"
    elif how is Standing.RESULT:
        verdict = f"{verdict} (expected)"
    found = measured_range(row)
    unit = "" if found != NOTHING else row["unit"] or ""  # said once is enough on one line
    limits = bound(row["bound_low"], row["bound_high"], unit)
    return sign_of(row), row["rule"] or "", verdict, found, limits, number(row["examined"])
