"""What every suite shows: its runs, how they ended, their verdicts, and the files of it."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import Exit, NoData
from harness.base.words import plural
from harness.experiment import Verdict, protocol_said
from harness.history import store
from harness.history.derived import VERDICTS, VERDICTS_FILE
from harness.history.suites import AGAIN, UNJUDGED, Entry, State, Suite
from harness.report.formats import NOTHING, clip, duration
from harness.report.load import JudgedRun, Row, load, load_verdicts
from harness.report.many import blocks
from harness.report.many.blocks import ASIDE, Block, Column, Line
from harness.report.outcome import Standing, exit_code, standing
from harness.report.run.page import Fact
from harness.report.run.page_files import write_whole
from harness.report.text.junit import NOT_XML

# `verdicts.parquet` of a suite: one row per run and rule.
SUITE_VERDICTS: Final = pa.schema(
    [
        ("run", pa.string()),
        ("experiment", pa.string()),
        ("kafka", pa.string()),
        ("seed", pa.int64()),
        ("folder", pa.string()),  # of the run, from the suite's folder
        ("withheld", pa.bool_()),  # unknown for no fault of the group (outcome.is_withheld)
        *((column.name, column.type) for column in VERDICTS),
    ]
)


_ENDED: Final = {
    State.DIFFERS: "with a verdict that differs",
    State.BUSY: "not judged in full because this machine was busy",
    State.VOID: "void",
    State.FAILED: "failed",
    State.INTERRUPTED: "interrupted",
    State.SPOILT: "spoilt and played again",
    State.PLANNED: "not played",
}
MOST_REASON: Final = 300
_UNJUDGED: Final = "unjudged"
_SHOWS_NOTHING: Final = "the run is"  # begins the reason of each rule of a void run
Found = TypeVar("Found")
Verdicts = Mapping[str, list[Row]]  # by the label of their run


def refresh_states(suite: Suite) -> None:
    """Have the states of its runs say what their folders say: they may have been judged again.

    A suite that was killed has the runs that it had not judged yet as interrupted. A run whose
    verdicts are gone could not be judged; one that was removed whole stays what it was.
    """
    for entry in suite.entries:
        run_dir = suite.run_dir(entry)
        unjudged = entry.state is State.FAILED and entry.reason.startswith(UNJUDGED)
        may_be = entry.judged or unjudged or entry.state is State.INTERRUPTED
        if not may_be or run_dir is None or not run_dir.exists():
            continue
        state, reason = state_of(run_dir)
        if state is not State.FAILED or entry.judged:
            entry.state, entry.reason = state, reason


def state_of(run_dir: Path) -> tuple[State, str]:
    """What judging a run came to, and why, if that is nothing."""
    states = {
        Exit.AS_EXPECTED: State.AS_EXPECTED,
        Exit.DIFFERS: State.DIFFERS,
        Exit.BUSY: State.BUSY,
    }
    try:
        state, problem = states.get(exit_code(run_dir), State.FAILED), "no rule was"
    except NoData as error:
        state, problem = State.FAILED, str(error)
    return state, f"{UNJUDGED}: {problem}" if state is State.FAILED else ""


def verdicts_of(suite: Suite, entry: Entry) -> list[Row]:
    """The verdicts of one run, as rows of SUITE_VERDICTS.

    Of a run that shows nothing every declared rule is UNKNOWN, with the reason; of one that was
    not played, or played again in its place, there is no row. What was to take another's place and
    shows nothing leaves it to that one. Of a run that was removed whole, the suite's own table has
    them.
    """
    if entry.state in (State.PLANNED, State.SPOILT):
        return []
    if entry.label.endswith(AGAIN) and not entry.judged:
        return []
    run_dir, folder = suite.run_dir(entry), entry.folder
    run = Path(folder).name if folder else ""
    if entry.judged and run_dir is not None and run_dir.exists():
        rows = load_verdicts(run_dir)[1] or []
    elif entry.judged:
        remedy = f"{run_dir} was removed, so what it showed is nowhere else"
        rows = [row for row in rows_in(suite.path / VERDICTS_FILE, remedy) if row["run"] == run]
    else:
        rows = [_unknown(entry, rule) for rule in entry.rules]
    about = {**dict.fromkeys(SUITE_VERDICTS.names), "run": run, "folder": folder}
    about |= {name: getattr(entry, name) for name in ("seed", "experiment", "kafka")}
    return [{**about, **row} for row in rows]


def rows_in(path: Path, remedy: str, columns: list[str] | None = None) -> list[Row]:
    """All rows of a table. Raises NoData with the remedy where it is damaged or gone."""
    try:
        table = pq.read_table(path, columns=columns, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise NoData(f"{path} cannot be read ({error}): {remedy}") from error
    return list(table.to_pylist())


def _unknown(entry: Entry, rule: Row) -> Row:
    from harness.rules import RULES

    found = RULES.get(rule["id"])
    return {
        "rule": rule["id"],
        **{name: getattr(found, name, None) for name in ("source", "statement", "unit")},
        "protocol": entry.protocol,
        "client": entry.client,
        "expected": rule["expected"],
        "verdict": str(Verdict.UNKNOWN),
        **dict.fromkeys(("examined", "violations", "unknowns", "left_out"), 0),
        "reason": f"{_SHOWS_NOTHING} {entry.state}: {entry.reason}",
        "withheld": True,  # it has no verdict that could differ
    }


def headline(suite: Suite) -> str:
    if not suite.entries:
        return "Nothing was played"
    spoilt = suite.count(State.SPOILT)
    total = plural(len(suite.entries) - spoilt, "run")
    if suite.exit_code is Exit.AS_EXPECTED and suite.count(State.PLANNED) == 0:
        but = f", {spoilt} of them only when played again" if spoilt else ""
        return f"All {total} as expected{but}"
    parts = [f"{suite.count(State.AS_EXPECTED)} of {total} as expected"]
    parts += [
        f"{count} {words}" for state, words in _ENDED.items() if (count := suite.count(state))
    ]
    return ", ".join(parts)


def differing(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if standing(row) is Standing.DIFFERS]


def shown_in(rows: Iterable[Row]) -> list[Row]:
    """Verdicts without those of runs that show nothing, which are unknown as the run is void."""
    return [row for row in rows if not (row["reason"] or "").startswith(_SHOWS_NOTHING)]


def read_verdicts(suite: Suite) -> Verdicts:
    return {entry.label: verdicts_of(suite, entry) for entry in suite.entries}


def kind_of(suite: Suite) -> str:
    code = suite.exit_code
    if code is Exit.AS_EXPECTED and not suite.count(State.PLANNED):
        return "as-expected"
    return {Exit.DIFFERS: "differs", Exit.BUSY: "withheld"}.get(code, _UNJUDGED)


def detail_of(verdicts: Verdicts) -> str:
    """How many verdicts there are and how they stand, in one sentence."""
    rows = shown_in(row for rows in verdicts.values() for row in rows)
    results, withheld = (
        sum(standing(row) is each for row in rows) for each in (Standing.RESULT, Standing.WITHHELD)
    )
    said = f"{plural(len(rows), 'verdict')}, {len(differing(rows)):,} not as expected"
    said += f", {withheld:,} not judged because this machine was busy" if withheld else ""
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
    return f"{protocol_said(run['label'])}: {run['state']}{reason}"


_STANDINGS: Final = {
    State.AS_EXPECTED: (Standing.AS_EXPECTED, "✓"),
    State.DIFFERS: (Standing.DIFFERS, "✗"),
    State.BUSY: (Standing.WITHHELD, "?"),
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


def _run(suite: Suite, entry: Entry, rows: Sequence[Row], *, night: bool) -> blocks.Row:
    how, sign = _STANDINGS.get(entry.state, (_UNJUDGED, "?"))
    outcome, bad = str(entry.state), len(differing(rows))
    if entry.state is State.DIFFERS:
        outcome = f"{bad} of {plural(len(rows), 'verdict')} {'differs' if bad == 1 else 'differ'}"
    reason = f"({clip(entry.reason, MOST_REASON)})" if entry.reason else ""
    of_run = _of_run(suite, entry)  # which says what it found
    found = "" if of_run is None else of_run.findtext("system-out", "")
    name = entry.experiment if night else protocol_said(entry.label)
    took = duration(entry.took_s * 1_000) if entry.took_s else NOTHING
    return blocks.Row(
        (
            [Line(name, link=link_to(suite, entry)), Line(entry.claim if night else "", ASIDE)],
            entry.client,
            protocol_said(entry.protocol),
            entry.kafka,
            [Line(outcome, how, sign=sign), Line(reason, "sub"), Line(found, ASIDE)],
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
    store.write(
        suite.path / VERDICTS_FILE,
        [pa.Table.from_pylist(rows, schema=SUITE_VERDICTS)],
        SUITE_VERDICTS,
    )
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
