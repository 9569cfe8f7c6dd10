"""What every suite shows: its runs, how they ended, and the files that are written of it."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from harness.base.errors import Exit, NoData
from harness.base.words import plural
from harness.history import store
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import Entry, State, Suite
from harness.report.load import Row as Verdict
from harness.report.load import Run, load
from harness.report.many.blocks import (
    ASIDE,
    EVERYWHERE,
    MARKDOWN,
    PAGE,
    TERMINAL,
    Block,
    Line,
    Overview,
    Row,
    Table,
    TableColumn,
    markdown,
    page,
)
from harness.report.many.verdicts import (
    SUITE_VERDICTS,
    differing,
    headline,
    table_of,
    verdicts_of,
)
from harness.report.outcome import Standing, standing
from harness.report.run.files import write_whole
from harness.report.run.page import Fact
from harness.report.text.junit import NOT_XML
from harness.report.words import clip, duration

MOST_REASON: Final = 300
_UNJUDGED: Final = "unjudged"
Found = TypeVar("Found")
Verdicts = Mapping[str, list[Verdict]]  # by the label of their run


def read_verdicts(suite: Suite) -> Verdicts:
    """The verdicts of every run, by its label."""
    return {entry.label: verdicts_of(suite, entry) for entry in suite.entries}


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
        said += (
            f"; {plural(results, 'documented statement')} contradicted by measurement, as expected"
        )
    return said + "."


def link_to(suite: Suite, entry: Entry) -> str:
    """The address of a run's page, from the suite's folder; empty where there is none."""
    run_dir = suite.run_dir(entry)
    if run_dir is None or not (run_dir / "report.html").exists():
        return ""
    return quote(f"{entry.folder}/report.html")


def read_run(
    suite: Suite, entry: Entry, read: Callable[[Run], Found]
) -> tuple[Found | None, str, str]:
    """What a judged run shows, with its state and, if it shows nothing, why.

    The reason has no path of this machine.
    """
    run_dir = suite.run_dir(entry)
    if not entry.judged or run_dir is None:
        return None, str(entry.state), entry.reason
    try:
        return read(load(run_dir)), str(entry.state), entry.reason
    except NoData as error:
        reason = str(error).replace(f"{run_dir}/", "").replace(str(run_dir), "its folder")
        there = run_dir.exists()
        return None, "cannot be read", reason if there else "its folder has been removed"


def _standing(entry: Entry) -> str:
    if entry.state is State.AS_EXPECTED:
        return Standing.AS_EXPECTED
    return Standing.DIFFERS if entry.state is State.DIFFERS else _UNJUDGED


def sign_of_run(entry: Entry) -> str:
    """The sign of how a run stands."""
    signs = {State.AS_EXPECTED: "✓", State.DIFFERS: "✗", State.PLANNED: "–"}
    return signs.get(entry.state, "?")


def outcome_of_run(entry: Entry, rows: Sequence[Verdict]) -> str:
    """What became of a run, in a few words."""
    if entry.state is not State.DIFFERS:
        return str(entry.state)
    bad = len(differing(rows))
    return f"{bad} of {plural(len(rows), 'verdict')} {'differs' if bad == 1 else 'differ'}"


_COLUMNS: Final = (
    TableColumn("run", free=True),
    TableColumn("client"),
    TableColumn("protocol"),
    TableColumn("Kafka", narrow=False),
    TableColumn("outcome", free=True),
    TableColumn("rules", number=True),
    TableColumn("took", number=True),
)


def runs(suite: Suite, verdicts: Verdicts) -> Block:
    """Every run of a suite; on a terminal those of a night, which has nothing else of them."""
    night = suite.kind == "nightly"
    return Block(
        "runs",
        "Runs",
        table=Table(
            _COLUMNS,
            tuple(
                _run(suite, entry, verdicts[entry.label], night=night) for entry in suite.entries
            ),
        ),
        on=EVERYWHERE if night else (PAGE, MARKDOWN),
    )


def _run(suite: Suite, entry: Entry, rows: Sequence[Verdict], *, night: bool) -> Row:
    how = _standing(entry)
    name = Line(entry.experiment if night else entry.label, link=link_to(suite, entry))
    reason = clip(entry.reason, MOST_REASON)
    outcome = Line(outcome_of_run(entry, rows), how, sign=sign_of_run(entry))
    return Row(
        (
            [name, *([Line(entry.claim, ASIDE)] if night else [])],
            entry.client,
            entry.protocol,
            entry.kafka,
            [outcome, *([Line(f"({reason})", "sub")] if reason else [])],
            str(len(rows)),
            [
                Line(duration(entry.took_s * 1_000)),
                Line(f"of ≈ {entry.estimate_s:.0f} s", ASIDE),
            ],
        ),
        how,
    )


def unlike(suite: Suite) -> Block:
    """On a terminal, the runs that did not end as expected."""
    words = [
        f"{entry.label}: {entry.state}{f' ({entry.reason})' if entry.reason else ''}"
        for entry in suite.entries
        if entry.state is not State.AS_EXPECTED
    ]
    return Block("unlike", "", notes=tuple(words), on=(TERMINAL,))


def shown_of(
    suite: Suite,
    title: str,
    detail: str,
    blocks: Sequence[Block],
    facts: Sequence[Fact],
    **more: Any,
) -> Overview:
    """A suite as it is shown; `more` are further fields."""
    count = Fact("runs", str(len(suite.played)), f"of {len(suite.entries)}")
    took = Fact("took", duration(suite.took_s * 1_000), "")
    known = {
        "kind": suite.kind,
        "name": f"{suite.kind} {suite.name}",
        "facts": (count, *facts, took),
    }
    return Overview(
        title=title,
        headline=headline(suite),
        outcome=kind_of(suite),
        detail=detail,
        blocks=blocks,
        **{**known, **more},
    )


def write_suite(
    suite: Suite, verdicts: Verdicts, shown: Overview, page_name: str, summary_name: str
) -> None:
    """Write the page, the summary, `junit.xml` and `verdicts.parquet`.

    The last of these is what is left of runs whose folders are removed.
    """
    rows = [row for entry in suite.entries for row in verdicts[entry.label]]
    store.write(suite.path / VERDICTS_FILE, [table_of(rows)], SUITE_VERDICTS)
    write_whole(suite.path / page_name, page(shown))
    write_whole(suite.path / summary_name, markdown(shown))
    write_whole(suite.path / "junit.xml", junit_of(suite))


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
