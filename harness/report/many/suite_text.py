"""What a suite showed, as Markdown and on a terminal."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.paths import here
from harness.base.words import plural
from harness.history.suites import State, Suite
from harness.report.load import Row
from harness.report.many.since import Since, since
from harness.report.many.suite_rows import (
    MOST_REASON,
    MOST_ROWS,
    Verdicts,
    columns_of,
    detail_of,
    differing_rows,
    documents_sentence,
    kind_of,
    left_out,
    link_to,
    matrix_of,
    outcome_of_run,
    read_verdicts,
    sign_of_run,
)
from harness.report.many.verdicts import differing, headline
from harness.report.outcome import (
    expected_of,
    verdict_of,
)
from harness.report.text.columns import align, show, width_of
from harness.report.text.markdown import safe, table_row
from harness.report.words import clip, duration

_MOST_TOLD: Final = 20  # changes on a terminal; the page has all
_MOST_NAMED: Final = 3  # rules of one run with one verdict, likewise

_STYLES: Final = {
    State.AS_EXPECTED: "green",
    State.DIFFERS: "red",
    State.PLANNED: "dim",
}


def summary(suite: Suite, verdicts: Verdicts, documents: str, news: Since) -> str:
    """The text of `summary.md`: what differs first, what is new, every run, every rule."""
    bad = differing_rows(suite, verdicts)
    lines = [
        f"## {suite.kind} {suite.name}: {headline(suite)}",
        "",
        detail_of(verdicts),
        "",
    ]
    if bad:
        lines += ["| run | rules | verdict | expected | why |", "|---|---|---|---|---|"]
        lines += [
            table_row(safe(d.label), safe(d.rules), f"**{d.verdict}**", d.expected, safe(d.reason))
            for d in bad[:MOST_ROWS]
        ]
        lines += ["", left_out(len(bad)), ""]
    lines += [f"{note}\n" for note in suite.notes]
    lines += [news.sentence(), ""]
    if news.changes:
        lines += ["| run | rule | before | now |", "|---|---|---|---|"]
        lines += [
            table_row(safe(each.label), safe(each.rule), each.before, f"**{each.now}**")
            for each in news.changes[:MOST_ROWS]
        ]
        lines += ["", left_out(len(news.changes)), ""]
    lines += runs_lines(suite, verdicts)
    lines += ["", *_matrix_lines(suite, verdicts)]
    lines += ["", f"[What is documented](documented.md): {documents}", ""]
    lines += [f"Not covered by any experiment: {len(suite.uncovered)}.", ""]
    return "\n".join(lines)


def _matrix_lines(suite: Suite, verdicts: Verdicts) -> list[str]:
    """Every rule that was judged, by client and protocol, as a table in Markdown."""
    columns = columns_of(suite)
    heads = [f"{client} {protocol}" for client, protocol in columns]
    lines = [table_row("rule", "", *heads), f"|---|---|{'---|' * len(heads)}"]
    for row in matrix_of(suite, verdicts, columns):
        if any(cell.verdict for cell in row.cells):
            told = [" ".join(filter(None, (c.sign, c.verdict, c.runs, c.note))) for c in row.cells]
            lines.append(table_row(row.rule, safe(row.title), *told))
    return lines


def runs_lines(suite: Suite, verdicts: Verdicts) -> list[str]:
    """Every run of a suite, as a table in Markdown."""
    lines = ["| | run | Kafka | outcome | rules | took |", "|---|---|---|---|---:|---:|"]
    for entry in suite.entries:
        rows = verdicts[entry.label]
        told = safe(outcome_of_run(entry, rows))
        if entry.reason:
            told += f": {safe(clip(entry.reason, MOST_REASON))}"
        link = link_to(suite, entry)
        name = f"[{safe(entry.label)}]({link})" if link else safe(entry.label)
        took = duration(entry.took_s * 1_000)
        lines.append(table_row(sign_of_run(entry), name, entry.kafka, told, str(len(rows)), took))
    return lines


def print_suite(suite: Suite, console: Console | None = None) -> None:
    """Print one line per run, and where the page is."""
    console = console or Console(highlight=False)
    verdicts = read_verdicts(suite)
    took = duration(suite.took_s * 1_000)
    first = Text(f"{suite.kind} {suite.name}: ")
    first.append(headline(suite), style_of(suite))
    first.append(f", in {took}")
    cells = [("", "run", "rules", "took", "outcome")]
    for entry in suite.entries:
        rows = verdicts[entry.label]
        told = _differing_told(rows)
        if not entry.judged:
            told = f"{entry.state}: {entry.reason}" if entry.reason else str(entry.state)
        seconds = f"{entry.took_s:.0f} s"
        cells.append(
            (sign_of_run(entry), entry.label, str(len(rows)), seconds, told or "as expected")
        )
    texts = align(cells, width_of(console), free=(4,), right=(2, 3))
    lines = [first, Text(), Text(texts[0], "bold")]
    for entry, text in zip(suite.entries, texts[1:], strict=True):
        lines.append(Text(text, _STYLES.get(entry.state, "yellow")))
    documents = Text(f"documented  {documents_sentence(verdicts)}")
    news = since(suite, [row for rows in verdicts.values() for row in rows])
    changes = [Text(f"since       {news.sentence()}")]
    changes += [
        Text(f"            {each.sign} {each.label}: {each.rule} {each.before} → {each.now}")
        for each in news.changes[:_MOST_TOLD]
    ]
    notes = [Text(f"note        {note}", "yellow") for note in suite.notes]
    index = Text(f"index       {here(suite.path / 'index.html')}")
    show(console, [*lines, Text(), *notes, *changes, documents, index])


def _differing_told(rows: Iterable[Row]) -> str:
    """What differs in a run, as "R01 VIOLATED (expected HOLDS), 28 rules UNKNOWN (…)"."""
    alike: dict[str, list[str]] = {}
    for row in differing(rows):
        how = f"{verdict_of(row)} (expected {expected_of(row)})"
        alike.setdefault(how, []).append(row["rule"])
    return ", ".join(
        f"{plural(len(rules), 'rule')} {how}"
        if len(rules) > _MOST_NAMED
        else ", ".join(f"{rule} {how}" for rule in rules)
        for how, rules in alike.items()
    )


def style_of(suite: Suite) -> str:
    """How a terminal shows the overall result."""
    styles = {"as-expected": "bold green", "differs": "bold red"}
    return styles.get(kind_of(suite), "bold yellow")
