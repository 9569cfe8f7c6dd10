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
from harness.report.formats import clip, duration
from harness.report.load import JudgedRun, load
from harness.report.load import Row as Verdict
from harness.report.many import blocks
from harness.report.many.blocks import ASIDE, Block, Column, Line
from harness.report.many.suite_verdicts import (
    SUITE_VERDICTS,
    differing,
    headline,
    table_of,
    verdicts_of,
)
from harness.report.outcome import Standing, standing
from harness.report.run.page import Fact
from harness.report.run.page_files import write_whole
from harness.report.text.junit import NOT_XML

MOST_REASON: Final = 300
_UNJUDGED: Final = "unjudged"
Found = TypeVar("Found")
Verdicts = Mapping[str, list[Verdict]]  # by the label of their run


def read_verdicts(suite: Suite) -> Verdicts:
    return {entry.label: verdicts_of(suite, entry) for entry in suite.entries}


def kind_of(suite: Suite) -> str:
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
        documented = plural(results, "documented statement")
        said += f"; {documented} contradicted by measurement, as expected"
    return said + "."


def link_to(suite: Suite, entry: Entry) -> str:
    """The address of a run's page, from the suite's folder; empty where there is none."""
    run_dir = suite.run_dir(entry)
    if run_dir is None or not (run_dir / "report.html").exists():
        return ""
    return quote(f"{entry.folder}/report.html")


def read_run(
    suite: Suite, entry: Entry, read: Callable[[JudgedRun], Found]
) -> tuple[Found | None, dict[str, str]]:
    """What a judged run shows; where its page is, its state and, if it shows nothing, why.

    The reason has no path of this machine.
    """
    run_dir, found = suite.run_dir(entry), None
    about = {"link": link_to(suite, entry), "state": str(entry.state), "reason": entry.reason}
    if entry.judged and run_dir is not None:
        try:
            found = read(load(run_dir))
        except NoData as error:
            reason = str(error).replace(f"{run_dir}/", "").replace(str(run_dir), "its folder")
            reason = reason if run_dir.exists() else "its folder has been removed"
            about |= {"state": "cannot be read", "reason": reason}
    return found, about


def unshown(run: Mapping[str, Any]) -> str:
    reason = f" ({clip(run['reason'], MOST_REASON)})" if run["reason"] else ""
    return f"{run['label']}: {run['state']}{reason}"


_STANDINGS: Final = {
    State.AS_EXPECTED: (Standing.AS_EXPECTED, "✓"),
    State.DIFFERS: (Standing.DIFFERS, "✗"),
    State.PLANNED: (_UNJUDGED, "–"),
}


def runs(suite: Suite, verdicts: Verdicts) -> Block:
    """Every run of a suite; on a terminal those of a night, which has nothing else of them."""
    night = suite.kind == "nightly"
    return Block(
        "runs",
        "Runs",
        columns=(
            Column("run", free=True),
            "client",
            "protocol",
            Column("Kafka", narrow=False),
            Column("outcome", free=True),
            Column("rules", number=True),
            Column("took", number=True),
        ),
        rows=[_run(suite, entry, verdicts[entry.label], night=night) for entry in suite.entries],
        on=blocks.EVERYWHERE if night else blocks.WRITTEN,
    )


def _run(suite: Suite, entry: Entry, rows: Sequence[Verdict], *, night: bool) -> blocks.Row:
    how, sign = _STANDINGS.get(entry.state, (_UNJUDGED, "?"))
    outcome, bad = str(entry.state), len(differing(rows))
    if entry.state is State.DIFFERS:
        outcome = f"{bad} of {plural(len(rows), 'verdict')} {'differs' if bad == 1 else 'differ'}"
    reason = f"({clip(entry.reason, MOST_REASON)})" if entry.reason else ""
    name = entry.experiment if night else entry.label
    took = duration(entry.took_s * 1_000)
    return blocks.Row(
        (
            [Line(name, link=link_to(suite, entry)), Line(entry.claim if night else "", ASIDE)],
            entry.client,
            entry.protocol,
            entry.kafka,
            [Line(outcome, how, sign=sign), Line(reason, "sub")],
            str(len(rows)),
            [Line(took), Line(f"of ≈ {entry.estimate_s:.0f} s", ASIDE)],
        ),
        how,
    )


def shown_of(
    suite: Suite,
    title: str,
    detail: str,
    parts: Sequence[Block],
    facts: Sequence[Fact],
    **more: Any,
) -> blocks.Overview:
    """A suite as it is shown; `more` are further fields."""
    count = Fact("runs", str(len(suite.played)), f"of {len(suite.entries)}")
    took = Fact("took", duration(suite.took_s * 1_000))
    known = {
        "kind": suite.kind,
        "name": f"{suite.kind} {suite.name}",
        "title": title,
        "headline": headline(suite),
        "outcome": kind_of(suite),
        "detail": detail,
        "blocks": parts,
        "facts": (count, *facts, took),
    }
    return blocks.Overview(**{**known, **more})


def write_suite(
    suite: Suite, verdicts: Verdicts, shown: blocks.Overview, page_name: str, summary_name: str
) -> blocks.Overview:
    """Write the page, the summary, `junit.xml` and `verdicts.parquet`; what is shown.

    The last of these is what is left of runs whose folders are removed.
    """
    rows = [row for entry in suite.entries for row in verdicts[entry.label]]
    store.write(suite.path / VERDICTS_FILE, [table_of(rows)], SUITE_VERDICTS)
    write_whole(suite.path / page_name, blocks.page(shown))
    write_whole(suite.path / summary_name, blocks.markdown(shown))
    write_whole(suite.path / "junit.xml", junit_of(suite))
    return shown


def junit_of(suite: Suite) -> str:
    """The text of `junit.xml`: one test suite per run, and an error where a run shows nothing."""
    every = ET.Element("testsuites", {"name": f"{suite.kind} {suite.name}"})
    for number, entry in enumerate(suite.entries):
        found = _of_run(suite, entry)
        found = _unjudged(entry) if found is None else found
        found.attrib |= {"name": entry.label, "id": str(number)}
        for case in found.iter("testcase"):
            case.set("classname", entry.label)
        every.append(found)
    ET.indent(every)
    text = ET.tostring(every, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _of_run(suite: Suite, entry: Entry) -> ET.Element | None:
    run_dir = suite.run_dir(entry)
    if not entry.judged or run_dir is None:
        return None
    try:
        return ET.parse(run_dir / "junit.xml").getroot().find("testsuite")
    except (OSError, ET.ParseError):
        return None


def _unjudged(entry: Entry) -> ET.Element:
    skipped = entry.state in (State.PLANNED, State.SPOILT)
    counts = {"tests": 1, "failures": 0, "errors": int(not skipped), "skipped": int(skipped)}
    about = {name: str(count) for name, count in counts.items()}
    suite = {"name": "", "package": "kafka-chaos", **about, "time": f"{entry.took_s:.3f}"}
    found = ET.Element("testsuite", suite)
    case = ET.SubElement(found, "testcase", {"name": "the run can be judged", "time": "0"})
    said = {"message": NOT_XML.sub("\ufffd", entry.reason or str(entry.state))}
    kind = {} if skipped else {"type": entry.state.upper()}
    ET.SubElement(case, "skipped" if skipped else "error", kind | said)
    return found
