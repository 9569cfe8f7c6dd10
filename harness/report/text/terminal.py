"""The short table that a run ends with on standard output."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.paths import here
from harness.experiment import Verdict
from harness.report import outcome
from harness.report.formats import NOTHING, bound, measured_range, number
from harness.report.headline import of_run
from harness.report.load import JudgedRun, Manifest, Row, load
from harness.report.parts.story import figures
from harness.report.text.columns import align, show, width_of

_STYLES: Final = {
    outcome.Standing.AS_EXPECTED: "green",
    outcome.Standing.RESULT: "cyan",
    outcome.Standing.DIFFERS: "red",
    outcome.Standing.WITHHELD: "yellow",
}
_MEANINGS: Final = {
    "✗": "differs from what the experiment expects",
    "?": "could not be judged",
    "≠": "is violated as the experiment expects: documented, and measured otherwise",
}
_FREE: Final = (1, 3, 4)  # sign, verdict and count are never cut


def print_summary(run_dir: Path, console: Console | None = None) -> None:
    """Print one line per rule, one on rebalances, one on records, and where the page is.

    Raises:
        NoData: as `load` does.
    """
    run = load(run_dir)
    console = console or Console(highlight=False)
    show(console, _lines(run, width_of(console)))


def print_verdicts(
    manifest: Manifest,
    verdicts: Sequence[Row],
    others: Sequence[Row] = (),
    console: Console | None = None,
) -> None:
    """Print one line per rule, and the sentence of each that differs from what was expected.

    `others` are rows of the table `other_rules`; what they come to is one line.
    """
    console = console or Console(highlight=False)
    rows = outcome.in_order(verdicts)
    result = outcome.of_verdicts(manifest, verdicts)
    lines = [_headline(manifest, result), Text(result.detail), Text()]
    lines += [*_table(rows, width_of(console)), *_sentences(rows)]
    if sentence := outcome.others_in_words(others):
        lines += [Text(), Text(f"others      {sentence}")]
    show(console, lines)


def _sentences(rows: Sequence[Row]) -> list[Text]:
    """The reason of each verdict that differs; what was withheld is one sentence for all."""
    wrong = [row for row in rows if outcome.standing(row) is outcome.Standing.DIFFERS]
    found = [Text(f"{outcome.name_of(row['rule'])}: {row['reason']}") for row in wrong]
    return [Text(), *found] if found else []


def _headline(manifest: Manifest, result: outcome.Overall) -> Text:
    style = {"as-expected": "bold green", "differs": "bold red"}.get(result.kind, "bold yellow")
    headline = Text(f"{manifest.experiment} {manifest.run}: ")
    return headline.append(result.headline, style)


def _lines(run: JudgedRun, width: int) -> list[Text]:
    result = of_run(run)
    lines = [_headline(run.manifest, result), Text(result.detail)]
    if run.problems:
        lines.append(Text(outcome.files_lost(run)))
    if run.verdicts:
        rows = outcome.in_order(run.verdicts)
        lines += [Text(), *_table(rows, width)]
        signs = {outcome.sign_of(row) for row in rows}
        lines += [Text(f"{sign} {text}") for sign, text in _MEANINGS.items() if sign in signs]
        lines += _sentences(rows)
    lines.append(Text())
    before = ""
    for about, said in figures(run):
        lines.append(Text(f"{'' if about == before else about:<12}{said}"))
        before = about
    return [*lines, Text(f"report      {here(run.path / 'report.html')}")]


def _table(rows: list[Row], width: int) -> list[Text]:
    head = ("", "rule", "verdict", "measured", "bound", "rows")
    first, *others = align([head, *map(_cells, rows)], width, free=_FREE, right=(5,))
    marked = first.index(head[3])  # all before it carries the colour
    lines = [Text(first, "bold")]
    for row, line in zip(rows, others, strict=True):
        lines.append(Text(line))
        lines[-1].stylize(_STYLES[outcome.standing(row)], 0, marked)
    return lines


def _cells(row: Row) -> tuple[str, ...]:
    verdict = outcome.verdict_of(row)
    if outcome.differs(row) and outcome.expected_of(row) != Verdict.HOLDS:
        verdict = f"{verdict}, not {outcome.expected_of(row)}"
    found = measured_range(row)
    unit = "" if found != NOTHING else row["unit"] or ""  # said once is enough on one line
    limits = bound(row["bound_low"], row["bound_high"], unit)
    rows = number(row["examined"])
    return outcome.sign_of(row), outcome.name_of(row["rule"]), verdict, found, limits, rows


def print_rows(rows: Mapping[str, Sequence[Row]]) -> None:
    """Print each thing that rules examined: verdict, what was measured, its bounds, and why."""
    lines = []
    for rule, found in rows.items():
        lines += [Text(), Text(f"{outcome.name_of(rule)}: {len(found):,} examined")]
        lines += [Text(f"  {row_text(row)}") for row in found]
    show(Console(highlight=False), lines)


def row_text(row: Row) -> str:
    """One thing that a rule examined: verdict, what was measured, its bounds, and why.

    Of one that is accused of something else than its number, only that is said.
    """
    states = {True: Verdict.HOLDS, False: Verdict.VIOLATED, None: Verdict.UNKNOWN}
    parts = [f"{states[row['ok']]:<8} {row['subject']}"]
    measured, low, high = row["measured"], row["bound_low"], row["bound_high"]
    if row["ok"] is False and (low, high) != (None, None) and not row["outside"]:
        measured = low = high = None
    if measured is not None:
        parts.append(f"measured {number(measured)}")
    if low is not None:
        parts.append(f"at least {number(low)}")
    if high is not None:
        parts.append(f"at most {number(high)}")
    return ", ".join([*parts, *filter(None, (row["why"] or row["excused"],))])
