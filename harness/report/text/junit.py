"""JUnit XML: one test case per rule, a failure where the verdict is not the expected one."""

import re
import xml.etree.ElementTree as ET
from typing import Final

from harness.report import outcome
from harness.report.formats import bound, measured, number
from harness.report.load import JudgedRun, Row

# XML 1.0 cannot hold these, not even escaped; a reader would refuse the whole file.
NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: JudgedRun) -> str:
    manifest = run.manifest
    rows = run.verdicts or []
    unjudged = not manifest.complete or not rows
    failures = sum(map(outcome.differs, rows))
    suites = ET.Element("testsuites")
    suite = ET.SubElement(
        suites,
        "testsuite",
        {
            "id": "0",
            "package": "kafka-chaos",
            "name": _clean(manifest.experiment),
            # The common schema wants neither fractions nor a zone, and a host name.
            "timestamp": f"{manifest.started_at:%Y-%m-%dT%H:%M:%S}"
            if manifest.started_at
            else "1970-01-01T00:00:00",
            "hostname": "localhost",
            "tests": str(len(rows) + unjudged),
            "failures": str(failures),
            "errors": str(int(unjudged)),
            "skipped": "0",
            "time": f"{_lasted_s(run):.3f}",
        },
    )
    properties = ET.SubElement(suite, "properties")
    named = [("run", manifest.run), ("seed", manifest.seed)]
    if sentence := outcome.others_in(run).sentence:
        named.append(("others", sentence))
    for name, value in named:
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    if unjudged:
        _error(suite, run)
    for row in rows:
        _case(suite, manifest.experiment, row)
    ET.SubElement(suite, "system-out").text = _clean(outcome.of_run(run).headline)
    ET.SubElement(suite, "system-err")
    ET.indent(suites)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"
    )


def _case(suite: ET.Element, experiment: str, row: Row) -> None:
    case = _new_case(suite, experiment, outcome.name_of(row["rule"]))
    kept = ET.SubElement(case, "properties")
    ET.SubElement(kept, "property", {"name": "id", "value": _clean(str(row["rule"]))})
    if not outcome.differs(row):
        return
    reason, verdict = str(row["reason"] or "no reason given"), outcome.verdict_of(row)
    failure = ET.SubElement(
        case,
        "failure",
        {
            "type": verdict,
            "message": _clean(f"{verdict}, expected {outcome.expected_of(row)}: {reason}"),
        },
    )
    failure.text = _clean("\n".join(_lines(row, reason)))


def _lines(row: Row, reason: str) -> list[str]:
    lines = [
        reason,
        f"statement: {row['statement'] or ''} ({row['source'] or 'no source'})",
        f"bound: {bound(row['bound_low'], row['bound_high'], row['unit'] or '')}",
        f"measured (min / median / max): {measured(row)}",
        f"examined: {number(row['examined'])}, violations: {number(row['violations'])}",
    ]
    return [*lines, f"evidence: {row['evidence']}"] if row["evidence"] else lines


def _error(suite: ET.Element, run: JudgedRun) -> None:
    """Add a case that cannot pass: a run that shows nothing must not turn a build green."""
    result = outcome.of_run(run)
    case = _new_case(suite, run.manifest.experiment, "the run can be judged")
    message = _clean(f"{result.headline}. {result.detail}")
    ET.SubElement(case, "error", {"type": run.manifest.status.upper(), "message": message})


def _new_case(suite: ET.Element, experiment: str, name: str) -> ET.Element:
    attributes = {"classname": _clean(experiment), "name": _clean(name), "time": "0"}
    return ET.SubElement(suite, "testcase", attributes)


def _lasted_s(run: JudgedRun) -> float:
    manifest = run.manifest
    if manifest.started_at is None or manifest.ended_at is None:
        return 0.0
    return max(0.0, (manifest.ended_at - manifest.started_at).total_seconds())


def _clean(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
