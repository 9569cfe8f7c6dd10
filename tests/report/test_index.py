"""The index of a night: all its runs, what differs first, and the same in four forms."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.base.errors import Exit, NoData
from harness.cli.main import main
from harness.history.suites import State, Suite, load_suite
from harness.report.load import Row
from harness.report.many import documented, index, suite_rows
from harness.report.outcome import name_of
from tests.report.sample_suite import entry, write_night


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A night that has been played and written; nothing changes it."""
    suite = write_night(tmp_path_factory.mktemp("results"))
    index.write(suite)
    return suite


def test_the_record_is_read_as_it_was_written(night: Suite) -> None:
    assert night == load_suite(night.path)


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([State.AS_EXPECTED, State.AS_EXPECTED], Exit.AS_EXPECTED),
        ([State.DIFFERS, State.AS_EXPECTED], Exit.DIFFERS),
        ([State.BUSY, State.AS_EXPECTED], Exit.BUSY),
        ([State.BUSY, State.DIFFERS], Exit.DIFFERS),
        ([State.BUSY, State.VOID], Exit.FAILED),
        ([State.VOID, State.DIFFERS], Exit.FAILED),
        ([State.FAILED, State.AS_EXPECTED], Exit.FAILED),
        ([State.VOID, State.INTERRUPTED, State.PLANNED], Exit.INTERRUPTED),
        ([], Exit.NO_DATA),
    ],
)
def test_the_worst_run_decides(states: list[State], code: Exit) -> None:
    entries = [entry("baseline:java/eager", state) for state in states]

    assert code is Suite(Path(), "nightly", "2026-11-20T10:00:00Z", entries).exit_code


def test_interrupted_between_two_runs_is_interrupted() -> None:
    entries = [entry("baseline:java/eager")]
    suite = Suite(Path(), "nightly", "2026-11-20T10:00:00Z", entries, interrupted=True)

    assert Exit.INTERRUPTED is suite.exit_code


def test_the_page_loads_nothing_and_escapes_what_runs_say(night: Suite) -> None:
    page = (night.path / "index.html").read_text()

    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "evicted &lt;b&gt;late&lt;/b&gt;" in page
    assert "prefers-color-scheme: dark" in page


def test_the_verdicts_of_all_runs_are_in_one_file(night: Suite) -> None:
    rows = pq.read_table(night.path / "verdicts.parquet").to_pylist()

    assert [
        ("baseline", "run-1", "R01", "HOLDS"),
        ("baseline", "run-1", "E04", "HOLDS"),
        ("consumer-crash", "run-2", "R01", "VIOLATED"),
        ("consumer-crash", "run-2", "R21", "VIOLATED"),
        ("consumer-crash", "run-2", "R12", "UNKNOWN"),
        ("broker-kill", "run-3", "R01", "UNKNOWN"),
        ("broker-kill", "run-3", "R21", "UNKNOWN"),
    ] == [(row["experiment"], row["run"], row["rule"], row["verdict"]) for row in rows]
    assert all(row["kafka"] and row["client"] and row["protocol"] for row in rows)
    assert all(row["source"] for row in rows)


def test_junit_has_a_suite_per_run_and_an_error_where_a_run_shows_nothing(night: Suite) -> None:
    suites = ET.parse(night.path / "junit.xml").getroot()

    assert [each.label for each in night.entries] == [each.get("name") for each in suites]
    counted = [
        tuple(int(each.get(name) or 0) for name in ("tests", "failures", "errors", "skipped"))
        for each in suites
    ]
    assert [(2, 0, 0, 0), (3, 2, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1)] == counted
    named = [(case.get("classname"), case.get("name")) for case in suites.iter("testcase")]
    assert len(named) == len(set(named))


def test_what_differs_in_a_run_for_one_reason_is_one_row(night: Suite) -> None:
    verdicts = {each.label: list[Row]() for each in night.entries}
    label = night.entries[1].label
    first = suite_rows.read_verdicts(night)[label][0]
    verdicts[label] = [
        {**first, "rule": rule, "verdict": verdict, "expected": expected, "reason": reason}
        for rule, verdict, expected, reason in (
            *((f"R0{n}", "UNKNOWN", "HOLDS", "a log is missing") for n in range(1, 6)),
            ("R06", "UNKNOWN", "VIOLATED", "a log is missing"),
            ("R07", "UNKNOWN", "HOLDS", "nothing was examined"),
            ("R08", "HOLDS", "HOLDS", "a log is missing"),
        )
    ]
    table = index.shown(night, verdicts).blocks[0]
    assert [
        (f"{name_of('R01')}, {name_of('R02')}, R03 and 2 more", "HOLDS", "a log is missing"),
        (name_of("R06"), "VIOLATED", "a log is missing"),
        (name_of("R07"), "HOLDS", "nothing was examined"),
    ] == [(row.cells[1], row.cells[3], row.cells[4]) for row in table.rows]


def test_a_night_without_a_record_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "suite.json").write_text("{}")

    assert Exit.NO_DATA == main(["report", str(tmp_path)])
    assert 1 == capsys.readouterr().err.count("\n")
    with pytest.raises(NoData, match="is not the folder of a suite"):
        load_suite(tmp_path / "nowhere")


def test_report_writes_the_index_again(night: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    before = (night.path / "index.html").read_text()
    (night.path / "index.html").unlink()

    assert Exit.FAILED == main(["report", str(night.path)])
    assert before == (night.path / "index.html").read_text()
    assert "nightly night-1" in capsys.readouterr().out


def test_what_is_documented_is_held_against_what_the_runs_showed(night: Suite) -> None:
    rows = pq.read_table(night.path / "documented.parquet").to_pylist()
    crash = {row["status"] for row in rows if row["rule"] == "R01" and row["part"] == "stated"}
    assert {documented.PARTLY} == crash  # it held in one run and not in the other
    assert 'href="documented.html"' in (night.path / "index.html").read_text()
    page = (night.path / "documented.html").read_text()
    assert 'href="../../consumer-crash/run-2/report.html">consumer-crash:' in page
