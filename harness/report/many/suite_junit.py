"""What a suite showed, for a CI system."""

import xml.etree.ElementTree as ET

from harness.history.suites import Entry, State, Suite
from harness.report.text.junit import NOT_XML


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
