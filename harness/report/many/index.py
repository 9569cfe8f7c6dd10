"""What a night of runs says: a page, a Markdown summary, JUnit, one file of verdicts, a table."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from harness.base.errors import Exit
from harness.base.paths import here
from harness.experiment import CLIENTS, PROTOCOLS
from harness.history import store
from harness.history.schema import VERDICTS_FILE
from harness.report.load import Row
from harness.report.many import documented
from harness.report.many.since import Since, since
from harness.report.many.suites import (
    SUITE_VERDICTS,
    Entry,
    State,
    Suite,
    differing,
    headline,
    table_of,
    verdicts_of,
)
from harness.report.outcome import (
    Standing,
    expected_of,
    in_order,
    sign_of,
    standing,
    verdict_of,
)
from harness.report.run.files import write_whole
from harness.report.run.page import Fact, environment
from harness.report.text.columns import align, show, width_of
from harness.report.text.junit import NOT_XML
from harness.report.text.markdown import safe, table_row
from harness.report.words import clip, duration, plural

MOST_ROWS: Final = 200
_MOST_REASON: Final = 300
_MOST_TOLD: Final = 20  # changes on a terminal; the page has all
_UNJUDGED: Final = "unjudged"
_STYLES: Final = {
    State.AS_EXPECTED: "green",
    State.DIFFERS: "red",
    State.PLANNED: "dim",
}

Verdicts = Mapping[str, list[Row]]  # by the label of their run


def write(suite: Suite) -> None:
    """Write `index.html`, `summary.md`, `junit.xml` and `verdicts.parquet` of a suite, and what the
    documents say beside what its runs showed of it (`documented.html`, `.md` and `.parquet`).

    Raises NoData where the verdicts of a run that was judged cannot be read.
    """
    verdicts = read_verdicts(suite)
    rows = table_of([row for entry in suite.entries for row in verdicts[entry.label]])
    store.write(suite.path / VERDICTS_FILE, [rows], SUITE_VERDICTS)
    documented.write(suite.path, rows.to_pylist())
    documents = told_of_documents(verdicts)
    news = since(suite, rows.to_pylist())
    write_whole(suite.path / "index.html", page(suite, verdicts, documents, news))
    write_whole(suite.path / "summary.md", summary(suite, verdicts, documents, news))
    write_whole(suite.path / "junit.xml", junit_of(suite))


def read_verdicts(suite: Suite) -> Verdicts:
    """The verdicts of every run, by its label."""
    return {entry.label: verdicts_of(suite, entry) for entry in suite.entries}


@dataclass(frozen=True)
class RunRow:
    """One run, ready to be shown."""

    name: str
    claim: str
    client: str
    protocol: str
    kafka: str
    outcome: str
    standing: str
    sign: str
    reason: str
    rules: str
    took: str
    estimate: str
    link: str


@dataclass(frozen=True)
class DifferingRow:
    """One verdict that is not the expected one, ready to be shown."""

    label: str
    rule: str
    verdict: str
    expected: str
    sign: str
    reason: str
    link: str


@dataclass(frozen=True)
class Cell:
    """One rule for one client and protocol; without a verdict, `note` says why."""

    verdict: str = ""
    standing: str = ""
    sign: str = ""
    runs: str = ""
    link: str = ""
    note: str = ""


@dataclass(frozen=True)
class RuleRow:
    """One rule for every client and protocol of the suite."""

    rule: str
    title: str
    cells: tuple[Cell, ...]


def page(suite: Suite, verdicts: Verdicts, documents: str, news: Since) -> str:
    """The text of `index.html`; `documents` is how the statements of the documents stand, `news`
    what is different since the night before.
    """
    bad = _differing_rows(suite, verdicts)
    columns = _columns(suite)
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            kind=suite.kind,
            title=f"{suite.kind} {suite.name}",
            claim="",
            headline=headline(suite),
            outcome=kind_of(suite),
            detail=detail_of(verdicts),
            figures=_figures(suite, verdicts),
            sections=(
                ("differs", "What differs"),
                ("since", "Since the night before"),
                ("runs", "Runs"),
                ("documents", "Documents"),
                ("rules", "Rules"),
                ("gaps", "What is not covered"),
            ),
            made_from="suite.json and the folders of the runs",
            differing=bad[:MOST_ROWS],
            differing_left_out=_left_out(len(bad)),
            runs=[run_row(suite, entry, verdicts[entry.label]) for entry in suite.entries],
            notes=suite.notes,
            news=news,
            changes=news.changes[:MOST_ROWS],
            changes_left_out=_left_out(len(news.changes)),
            documented=documents,
            columns=columns,
            matrix=_matrix(suite, verdicts, columns),
            gaps=(
                ("By no experiment", suite.uncovered),
                ("Only by runs that this one leaves out", suite.elsewhere),
            ),
        )
    )


def told_of_documents(verdicts: Verdicts) -> str:
    """How the statements of the documents stand by these verdicts, in one sentence."""
    rows = table_of([row for rows in verdicts.values() for row in rows])
    return documented.told(documented.judged(rows.to_pylist()))


def kind_of(suite: Suite) -> str:
    """The overall result: as-expected, differs or unjudged."""
    code = suite.exit_code
    if code is Exit.AS_EXPECTED and not suite.count(State.PLANNED):
        return "as-expected"
    return "differs" if code is Exit.DIFFERS else _UNJUDGED


def detail_of(verdicts: Verdicts) -> str:
    """How many verdicts there are and how they stand, in one sentence."""
    rows = [row for rows in verdicts.values() for row in rows]
    results = sum(standing(row) is Standing.RESULT for row in rows)
    said = f"{plural(len(rows), 'verdict')}, {len(differing(rows)):,} not as expected"
    if results:
        said += f"; {plural(results, 'documented statement')} measured otherwise, as expected"
    return said + "."


def _figures(suite: Suite, verdicts: Verdicts) -> list[Fact]:
    rows = [row for rows in verdicts.values() for row in rows]
    late = [row["measured_max"] for row in rows if row["rule"] == "E04" and row.get("measured_max")]
    bad = len(differing(rows))
    unplayed = suite.count(State.VOID, State.FAILED)
    return [
        Fact("runs", str(len(suite.played)), f"of {len(suite.entries)}"),
        Fact("verdicts", f"{len(rows):,}", f"of {plural(_rules(rows), 'rule')}"),
        Fact("differ", f"{bad:,}", "verdicts", "bad" if bad else ""),
        Fact("void or failed", str(unplayed), "runs", "bad" if unplayed else ""),
        Fact(
            "took",
            duration(suite.took_s * 1_000),
            f"of about {duration(sum(e.estimate_s for e in suite.played) * 1_000)}",
        ),
        Fact("this machine", duration(max(late, default=None)), "late at most, in any run"),
    ]


def _rules(rows: Iterable[Row]) -> int:
    return len({row["rule"] for row in rows})


def _link(suite: Suite, entry: Entry) -> str:
    run_dir = suite.run_dir(entry)
    if run_dir is None or not (run_dir / "report.html").exists():
        return ""
    return quote(f"{entry.folder}/report.html")


def _standing(entry: Entry) -> str:
    if entry.state is State.AS_EXPECTED:
        return Standing.AS_EXPECTED
    return Standing.DIFFERS if entry.state is State.DIFFERS else _UNJUDGED


def _sign(entry: Entry) -> str:
    signs = {State.AS_EXPECTED: "✓", State.DIFFERS: "✗", State.PLANNED: "–"}
    return signs.get(entry.state, "?")


def run_row(suite: Suite, entry: Entry, rows: Sequence[Row]) -> RunRow:
    """One run of a suite, ready to be shown."""
    return RunRow(
        name=entry.experiment if suite.kind == "nightly" else entry.label,
        claim=entry.claim,
        client=entry.client,
        protocol=entry.protocol,
        kafka=entry.kafka,
        outcome=_told(entry, rows),
        standing=_standing(entry),
        sign=_sign(entry),
        reason=clip(entry.reason, _MOST_REASON),
        rules=str(len(rows)),
        took=duration(entry.took_s * 1_000),
        estimate=f"≈ {entry.estimate_s:.0f} s",
        link=_link(suite, entry),
    )


def _told(entry: Entry, rows: Sequence[Row]) -> str:
    if entry.state is not State.DIFFERS:
        return str(entry.state)
    bad = len(differing(rows))
    return f"{bad} of {plural(len(rows), 'verdict')} {'differs' if bad == 1 else 'differ'}"


def _differing_rows(suite: Suite, verdicts: Verdicts) -> list[DifferingRow]:
    return [
        DifferingRow(
            label=entry.label,
            rule=row["rule"],
            verdict=verdict_of(row),
            expected=expected_of(row),
            sign=sign_of(row),
            reason=clip(row["reason"], _MOST_REASON),
            link=_link(suite, entry),
        )
        for entry in suite.entries
        for row in differing(verdicts[entry.label])
    ]


def _left_out(total: int) -> str:
    hidden = total - MOST_ROWS
    return "" if hidden <= 0 else f"{hidden:,} more are in verdicts.parquet."


def _columns(suite: Suite) -> list[tuple[str, str]]:
    """Client and protocol of every run, in the order in which they are offered."""
    there = {(entry.client, entry.protocol) for entry in suite.entries}
    return [
        (client, protocol)
        for client in CLIENTS
        for protocol in PROTOCOLS
        if (client, protocol) in there
    ]


def _matrix(suite: Suite, verdicts: Verdicts, columns: Sequence[tuple[str, str]]) -> list[RuleRow]:
    from harness.rules import RULES

    judged: dict[tuple[str, str, str], list[tuple[Row, str]]] = defaultdict(list)
    for entry in suite.entries:
        for row in verdicts[entry.label]:
            judged[row["rule"], entry.client, entry.protocol].append((row, _link(suite, entry)))
    rows = []
    for rule in RULES.values():
        cells = []
        for client, protocol in columns:
            found = judged.get((rule.id, client, protocol), [])
            applies = client in rule.clients and protocol in rule.protocols
            cells.append(_cell(found) if found else Cell(note="not judged" if applies else ""))
        rows.append(RuleRow(rule.id, rule.title, tuple(cells)))
    return rows


def _cell(found: Sequence[tuple[Row, str]]) -> Cell:
    """The worst of a rule's verdicts, as `in_order` has them."""
    worst = in_order([row for row, _ in found])[0]
    link = next(link for row, link in found if row is worst)
    return Cell(
        verdict=verdict_of(worst),
        standing=standing(worst),
        sign=sign_of(worst),
        runs=f"× {len(found)}" if len(found) > 1 else "",
        link=link,
    )


def summary(suite: Suite, verdicts: Verdicts, documents: str, news: Since) -> str:
    """The text of `summary.md`: what differs first, what is new, every run, every rule."""
    bad = _differing_rows(suite, verdicts)
    lines = [
        f"## {suite.kind} {suite.name}: {headline(suite)}",
        "",
        detail_of(verdicts),
        "",
    ]
    if bad:
        lines += ["| run | rule | verdict | expected | why |", "|---|---|---|---|---|"]
        lines += [
            table_row(safe(d.label), safe(d.rule), f"**{d.verdict}**", d.expected, safe(d.reason))
            for d in bad[:MOST_ROWS]
        ]
        lines += ["", _left_out(len(bad)), ""]
    lines += [f"{note}\n" for note in suite.notes]
    lines += [news.told(), ""]
    if news.changes:
        lines += ["| run | rule | before | now |", "|---|---|---|---|"]
        lines += [
            table_row(safe(each.label), safe(each.rule), each.before, f"**{each.now}**")
            for each in news.changes[:MOST_ROWS]
        ]
        lines += ["", _left_out(len(news.changes)), ""]
    lines += runs_lines(suite, verdicts)
    lines += ["", *_matrix_lines(suite, verdicts)]
    lines += ["", f"[What is documented](documented.md): {documents}", ""]
    lines += [f"Not covered by any experiment: {len(suite.uncovered)}.", ""]
    return "\n".join(lines)


def _matrix_lines(suite: Suite, verdicts: Verdicts) -> list[str]:
    """Every rule that was judged, by client and protocol, as a table in Markdown."""
    columns = _columns(suite)
    heads = [f"{client} {protocol}" for client, protocol in columns]
    lines = [table_row("rule", "", *heads), f"|---|---|{'---|' * len(heads)}"]
    for row in _matrix(suite, verdicts, columns):
        if any(cell.verdict for cell in row.cells):
            told = [" ".join(filter(None, (c.sign, c.verdict, c.runs, c.note))) for c in row.cells]
            lines.append(table_row(row.rule, safe(row.title), *told))
    return lines


def runs_lines(suite: Suite, verdicts: Verdicts) -> list[str]:
    """Every run of a suite, as a table in Markdown."""
    lines = ["| | run | Kafka | outcome | rules | took |", "|---|---|---|---|---:|---:|"]
    for entry in suite.entries:
        rows = verdicts[entry.label]
        told = safe(_told(entry, rows))
        if entry.reason:
            told += f": {safe(clip(entry.reason, _MOST_REASON))}"
        link = _link(suite, entry)
        name = f"[{safe(entry.label)}]({link})" if link else safe(entry.label)
        took = duration(entry.took_s * 1_000)
        lines.append(table_row(_sign(entry), name, entry.kafka, told, str(len(rows)), took))
    return lines


def junit_of(suite: Suite) -> str:
    """The text of `junit.xml`: one test suite per run, and an error where a run shows nothing."""
    every = ET.Element("testsuites", {"name": f"{suite.kind} {suite.name}"})
    for entry in suite.entries:
        every.append(_test_suite(suite, entry))
    for number, each in enumerate(every):
        each.set("id", str(number))
    ET.indent(every)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(every, encoding="unicode") + "\n"
    )


def _test_suite(suite: Suite, entry: Entry) -> ET.Element:
    run_dir = suite.run_dir(entry)
    found = None
    if entry.judged and run_dir is not None:
        try:
            found = ET.parse(run_dir / "junit.xml").getroot().find("testsuite")
        except (OSError, ET.ParseError):
            found = None
    if found is None:
        found = _unjudged(entry)
    found.set("name", entry.label)
    for case in found.iter("testcase"):
        case.set("classname", entry.label)
    return found


def _unjudged(entry: Entry) -> ET.Element:
    skipped = entry.state in (State.PLANNED, State.SPOILT)
    attributes = {
        "name": entry.label,
        "package": "kafka-chaos",
        "tests": "1",
        "failures": "0",
        "errors": str(int(not skipped)),
        "skipped": str(int(skipped)),
        "time": f"{entry.took_s:.3f}",
    }
    found = ET.Element("testsuite", attributes)
    case = ET.SubElement(found, "testcase", {"name": "the run can be judged", "time": "0"})
    said = NOT_XML.sub("\ufffd", entry.reason or str(entry.state))
    if skipped:
        ET.SubElement(case, "skipped", {"message": said})
    else:
        ET.SubElement(case, "error", {"type": entry.state.upper(), "message": said})
    return found


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
        told = ", ".join(
            f"{row['rule']} {verdict_of(row)} (expected {expected_of(row)})"
            for row in differing(rows)
        )
        if not entry.judged:
            told = f"{entry.state}: {entry.reason}" if entry.reason else str(entry.state)
        seconds = f"{entry.took_s:.0f} s"
        cells.append((_sign(entry), entry.label, str(len(rows)), seconds, told or "as expected"))
    texts = align(cells, width_of(console), free=(4,), right=(2, 3))
    lines = [first, Text(), Text(texts[0], "bold")]
    for entry, text in zip(suite.entries, texts[1:], strict=True):
        lines.append(Text(text, _STYLES.get(entry.state, "yellow")))
    documents = Text(f"documented  {told_of_documents(verdicts)}")
    news = since(suite, [row for rows in verdicts.values() for row in rows])
    changes = [Text(f"since       {news.told()}")]
    changes += [
        Text(f"            {each.sign} {each.label}: {each.rule} {each.before} → {each.now}")
        for each in news.changes[:_MOST_TOLD]
    ]
    notes = [Text(f"note        {note}", "yellow") for note in suite.notes]
    index = Text(f"index       {here(suite.path / 'index.html')}")
    show(console, [*lines, Text(), *notes, *changes, documents, index])


def style_of(suite: Suite) -> str:
    """How a terminal shows the overall result."""
    styles = {"as-expected": "bold green", "differs": "bold red"}
    return styles.get(kind_of(suite), "bold yellow")
