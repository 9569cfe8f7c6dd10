"""What a night showed: a page, a Markdown summary, JUnit, one file of verdicts, a terminal."""

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console

from harness.base.paths import here
from harness.base.words import plural
from harness.experiment import CLIENTS, PROTOCOLS
from harness.history.suites import State, Suite
from harness.report.load import Row as Verdict
from harness.report.many import blocks, documented
from harness.report.many.blocks import Block, Cell, Column, Line, Overview, Row
from harness.report.many.since import since
from harness.report.many.suite_rows import (
    MOST_REASON,
    Verdicts,
    detail_of,
    link_to,
    read_verdicts,
    runs,
    shown_of,
    write_suite,
)
from harness.report.many.verdicts import differing, table_of
from harness.report.outcome import expected_of, in_order, sign_of, standing, verdict_of
from harness.report.run.page import Fact
from harness.report.words import clip, duration, names
from harness.rules import RULES

MOST_ROWS: Final = 200
_MOST_ON_TERMINAL: Final = 20
PAGE: Final = "index.html"


def write(suite: Suite) -> None:
    """Write `index.html`, `summary.md`, `junit.xml` and `verdicts.parquet` of a suite, and what the
    documents say beside what its runs showed of it (`documented.html`, `.md` and `.parquet`).

    Raises NoData where the verdicts of a run that was judged cannot be read.
    """
    verdicts = read_verdicts(suite)
    documented.write(suite.path, _as_kept(verdicts))
    write_suite(suite, verdicts, shown(suite, verdicts), PAGE, "summary.md")


def print_suite(suite: Suite, console: Console | None = None) -> None:
    """Print what differs, one line per run, and where the page is."""
    blocks.print_shown(shown(suite, read_verdicts(suite)), console)


def _as_kept(verdicts: Verdicts) -> list[dict[str, Any]]:
    """The verdicts as `verdicts.parquet` has them."""
    return list(table_of([row for rows in verdicts.values() for row in rows]).to_pylist())


def shown(suite: Suite, verdicts: Verdicts) -> Overview:
    """All that is shown of a night."""
    rows = _as_kept(verdicts)
    documents = documented.sentence(documented.judged(rows))
    differs = _differing(suite, verdicts)
    none = () if differs else (Line("No verdict differs from the expected one."),)
    sentence, changes = since(suite, rows)
    parts = (
        Block(
            "differs",
            "What differs",
            columns=("run", "rules", "verdict", "expected", Column("why", free=True)),
            rows=differs[:MOST_ROWS],
            notes=(*_left_out(differs), *none, *suite.notes),
            most=_MOST_ON_TERMINAL,
        ),
        Block(
            "since",
            "Since the night before",
            columns=(Column("run", free=True), "rule", "before", "now"),
            rows=changes[:MOST_ROWS],
            notes=(Line(sentence), *_left_out(changes)),
            most=_MOST_ON_TERMINAL,
        ),
        runs(suite, verdicts),
        Block(
            "documents",
            "Documented against measured",
            notes=(Line(documents, link="documented.html"),),
        ),
        _by_client(suite, verdicts),
        *_gaps(suite),
    )
    title = f"{suite.kind} {suite.name}"
    files = (("index", here(suite.path / PAGE)),)
    return shown_of(suite, title, detail_of(verdicts), parts, _facts(suite, verdicts), files=files)


def _differing(suite: Suite, verdicts: Verdicts) -> list[Row]:
    """Verdicts that are not as expected, run by run; those of one run and reason are one row."""
    found = []
    for entry in suite.entries:
        alike: dict[tuple[str, str, str], list[Verdict]] = {}
        for row in differing(verdicts[entry.label]):
            alike.setdefault((verdict_of(row), expected_of(row), row["reason"]), []).append(row)
        run = Line(entry.label, link=link_to(suite, entry))
        for (verdict, expected, reason), rows in alike.items():
            rules = names([row["rule"] for row in rows])
            what = Line(verdict, "differs", sign=sign_of(rows[0]))
            found.append(Row((run, rules, what, expected, clip(reason, MOST_REASON)), "differs"))
    return found


def _left_out(rows: Sequence[Row]) -> tuple[str, ...]:
    """What a table leaves to the file of verdicts; none where it has all."""
    hidden = len(rows) - MOST_ROWS
    return () if hidden <= 0 else (f"{hidden:,} more are in verdicts.parquet.",)


def _by_client(suite: Suite, verdicts: Verdicts) -> Block:
    """Every rule, with its worst verdict for each client and protocol."""
    there = {(entry.client, entry.protocol) for entry in suite.entries}
    columns = [(c, p) for c in CLIENTS for p in PROTOCOLS if (c, p) in there]
    judged: dict[tuple[str, str, str], list[tuple[Verdict, str]]] = {}
    for entry in suite.entries:
        for row in verdicts[entry.label]:
            key = row["rule"], entry.client, entry.protocol
            judged.setdefault(key, []).append((row, link_to(suite, entry)))
    rows = []
    for rule in RULES.values():
        found = [judged.get((rule.id, *each), []) for each in columns]
        cells: list[Cell] = [
            _worst(every) if every else Line("not judged" if rule.speaks_of(*each) else "", "sub")
            for every, each in zip(found, columns, strict=True)
        ]
        rows.append(Row((rule.id, rule.title, *cells), "" if any(found) else blocks.ASIDE))
    return Block(
        "rules",
        "Rules by client and protocol",
        "The worst verdict of all runs, linked to the run that it comes from, and how many runs "
        "judged it. Empty where the statement is about others.",
        columns=("rule", "", *map(" ".join, columns)),
        rows=rows,
        on=blocks.WRITTEN,
    )


def _worst(found: Sequence[tuple[Verdict, str]]) -> list[Line]:
    """The worst of a rule's verdicts, as `in_order` has them."""
    worst = in_order([row for row, _ in found])[0]
    link = next(link for row, link in found if row is worst)
    times = f"× {len(found)}" if len(found) > 1 else ""
    return [Line(verdict_of(worst), standing(worst), link, sign_of(worst)), Line(times, "sub")]


def _gaps(suite: Suite) -> list[Block]:
    """What no run of it covers; a summary has only the count."""
    count = f"Not covered by any experiment: {len(suite.uncovered)}."
    gaps = (
        ("gaps", "Covered by no experiment", suite.uncovered),
        ("elsewhere", "Covered only by runs that this one leaves out", suite.elsewhere),
    )
    return [
        Block("uncovered", "", notes=(Line(count),), on=(blocks.MARKDOWN,)),
        *(
            Block(id_, heading, notes=(", ".join(goals) or "None.",), on=(blocks.PAGE,))
            for id_, heading, goals in gaps
        ),
    ]


def _facts(suite: Suite, verdicts: Verdicts) -> list[Fact]:
    rows = [row for rows in verdicts.values() for row in rows]
    clocks = {id_ for id_, rule in RULES.items() if rule.clock}
    late = [
        row["measured_max"] for row in rows if row["rule"] in clocks and row.get("measured_max")
    ]
    bad = len(differing(rows))
    unplayed = suite.count(State.VOID, State.FAILED)
    estimate_ms = sum(entry.estimate_s for entry in suite.played) * 1_000
    rules = plural(len({row["rule"] for row in rows}), "rule")
    return [
        Fact("verdicts", f"{len(rows):,}", f"of {rules}"),
        Fact("differ", f"{bad:,}", "verdicts", "bad" if bad else ""),
        Fact("void or failed", str(unplayed), "runs", "bad" if unplayed else ""),
        Fact("this machine", duration(max(late, default=None)), "late at most, in any run"),
        Fact("estimate", duration(estimate_ms), ""),
    ]
