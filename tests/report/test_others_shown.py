"""Rules that the experiment does not declare: folded where they hold, in plain sight where not."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.base.errors import Exit
from harness.report import exit_code, print_summary, report
from harness.report.load import load_manifest
from harness.report.outcome import name_of
from harness.report.text.terminal import print_verdicts
from tests.report.sample_run import measured, verdict, write_run
from tests.report.test_run_page import Parsed


def row(rule: str, verdict: str, reason: str = "3 joins") -> dict[str, Any]:
    return {"rule": rule, "verdict": verdict, "examined": 3, "reason": reason}


ROWS = [
    row("R13", "HOLDS"),
    row("R33", "HOLDS"),
    row("X12", "UNKNOWN", "this machine stood still for 80 ms"),
    row("R01", "VIOLATED"),
]
SENTENCE = (
    "4 rules that the experiment does not declare: 2 hold, 1 violated "
    f"({name_of('R01')}), 1 could not be judged ({name_of('X12')})"
)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    verdicts = [verdict("R02"), verdict("R01", "VIOLATED", violations=1)]
    made = write_run(tmp_path / "run", verdicts=verdicts, other_rules=ROWS)
    report(made)
    return made


def page_of(run_dir: Path) -> str:
    return Parsed((run_dir / "report.html").read_text()).text


def printed(run_dir: Path) -> str:
    file = io.StringIO()
    print_summary(run_dir, Console(file=file, width=200))
    return file.getvalue()


def test_an_undeclared_violation_differs_everywhere(run_dir: Path) -> None:
    assert Exit.DIFFERS == exit_code(run_dir)
    assert "1 verdict differs from the expected" in printed(run_dir)
    assert "**VIOLATED**, expected HOLDS" in (run_dir / "summary.md").read_text()
    assert "of every run: the experiment does not declare it" in page_of(run_dir)
    suite = ET.parse(run_dir / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert "1" == suite.get("failures")


def test_how_many_were_looked_at_is_said_everywhere(run_dir: Path) -> None:
    assert f"others      {SENTENCE}" in printed(run_dir)
    assert f"- others: {SENTENCE}" in (run_dir / "summary.md").read_text()
    assert SENTENCE in (run_dir / "junit.xml").read_text()
    assert f"{SENTENCE} {name_of('R13')}, {name_of('R33')}" in page_of(run_dir)


def test_why_one_could_not_be_judged_is_folded_and_fails_nothing(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", verdicts=[verdict("R02")], other_rules=ROWS[:3])
    report(run_dir)

    assert Exit.AS_EXPECTED == exit_code(run_dir)
    page = page_of(run_dir)
    assert f"{name_of('X12')} this machine stood still for 80 ms" in page
    assert "does not declare it" not in page


def test_a_run_that_was_judged_by_declared_rules_alone_lacks_nothing(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", verdicts=[verdict("R02")], other_rules=None)
    report(run_dir)

    said = printed(run_dir)
    assert "other_rules" not in said
    assert "does not declare" not in said
    assert "does not declare" not in (run_dir / "summary.md").read_text()


def test_a_look_at_a_run_says_it_too(run_dir: Path) -> None:
    file = io.StringIO()
    one = verdict("R02", **measured(1, 2, 3), bound_low=0, bound_high=9)
    print_verdicts(load_manifest(run_dir), [one], ROWS, Console(file=file, width=200))
    assert f"others      {SENTENCE}" in file.getvalue()


def answers(refusals: int, judged: int) -> list[dict[str, Any]]:
    return [
        {"what": "requests", "answered": 1_000, "judged": 990},
        {"what": "refusals", "answered": refusals, "judged": judged},
    ]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (answers(5, 4), "Every verdict as expected:"),
        (answers(50, 39), "Only 39 of 50 refusals could be judged:"),
        (answers(0, 0), "Every verdict as expected:"),
        (None, "Every verdict as expected:"),  # of an older version
    ],
)
def test_a_run_of_which_little_was_judged_is_not_called_clean(
    tmp_path: Path, found: list[dict[str, Any]] | None, said: str
) -> None:
    run_dir = write_run(tmp_path / "run", verdicts=[verdict("R02")], answers=found)
    report(run_dir)
    counts = "Judged: 990 of 1,000 requests" if found else ""

    for text in (printed(run_dir), page_of(run_dir), (run_dir / "summary.md").read_text()):
        words = " ".join(text.split())
        assert said in words
        assert counts in words
    assert ("Judged: " in printed(run_dir)) == bool(found)


def test_what_was_excused_is_said_beside_what_was_examined(tmp_path: Path) -> None:
    rows = [verdict("R02", unknowns=1, left_out=3), verdict("R03", unknowns=1, left_out=None)]
    run_dir = write_run(tmp_path / "run", verdicts=rows)
    report(run_dir)

    assert 1 == page_of(run_dir).count("2 excused")
    assert 'name="left_out" value="3"' in (run_dir / "junit.xml").read_text()
