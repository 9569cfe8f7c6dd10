"""JUnit fails exactly where a verdict differs, and never passes a run that shows nothing."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.report import report
from tests.report.sample_run import verdict, verdicts, write_manifest, write_run


def suite_of(run_dir: Path) -> ET.Element:
    report(run_dir)
    suite = ET.parse(run_dir / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    return suite


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> ET.Element:
    return suite_of(write_run(tmp_path_factory.mktemp("results") / "run"))


def test_one_case_per_rule_and_failures_exactly_where_verdicts_differ(suite: ET.Element) -> None:
    failed = {
        case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None
    }
    assert failed == {row["rule"] for row in verdicts() if row["verdict"] != row["expected"]}
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["8", "2", "0"]
    assert {case.get("classname") for case in suite.findall("testcase")} == {"consumer-freeze"}


def test_a_case_has_the_name_of_its_rule_and_its_id_as_a_property(tmp_path: Path) -> None:
    case = suite_of(write_run(tmp_path / "run", verdicts=[verdict("R01")])).find("testcase")

    assert case is not None
    assert "session/silent-member-is-evicted" == case.get("name")
    kept = {each.get("name"): each.get("value") for each in case.iterfind("properties/property")}
    assert {"id": "R01", "left_out": "0"} == kept


def test_failure_says_verdict_expectation_and_reason(suite: ET.Element) -> None:
    failure = suite.find("testcase/failure[@type='UNKNOWN']")

    assert failure is not None
    said = failure.get("message") or ""
    assert said.startswith("The freeze of member-2 outlasted the session timeout (6 s), ")
    assert "costs more. UNKNOWN, expected HOLDS: no rebalance had" in said


def test_run_and_seed_are_properties(suite: ET.Element) -> None:
    found = {p.get("name"): p.get("value") for p in suite.iterfind("properties/property")}
    assert found == {"run": "2026-11-20T09-59-48Z-7f3a", "seed": "421337"}


def test_order_and_attributes_are_those_of_the_common_schema(suite: ET.Element) -> None:
    order = list(dict.fromkeys(child.tag for child in suite))
    assert order == ["properties", "testcase", "system-out", "system-err"]
    assert suite.get("timestamp") == "2026-11-20T09:59:48"
    assert suite.get("time") == "85.000"
    for case in suite.findall("testcase"):
        assert {"name", "classname", "time"} == set(case.keys())


def test_void_run_is_an_error_even_if_its_verdicts_are_fine(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", verdicts=[verdict("fine")])
    write_manifest(run_dir, status="void", status_reason="broker-3 died by itself")

    suite = suite_of(run_dir)

    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["2", "0", "1"]
    error = suite.find("testcase/error")
    assert error is not None
    assert "broker-3 died by itself" in (error.get("message") or "")


def test_no_verdict_at_all_is_an_error(tmp_path: Path) -> None:
    suite = suite_of(write_run(tmp_path / "run", verdicts=()))

    assert suite.get("errors") == "1"


def test_characters_that_xml_cannot_hold_do_not_break_it(tmp_path: Path) -> None:
    rows = [verdict("odd", "VIOLATED", reason="nul \x00 bell \x07 <&> ]]> \ufffe ok")]

    failure = suite_of(write_run(tmp_path / "run", verdicts=rows)).find("testcase/failure")

    assert failure is not None
    assert "<&> ]]>" in (failure.text or "")
