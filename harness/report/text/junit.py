"""JUnit XML: one test case per rule, a failure where the verdict is not the expected one."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Final

from harness.report import outcome
from harness.report.formats import bound, measured, number
from harness.report.load import JudgedRun, Row

# XML 1.0 cannot hold these, not even escaped; a reader would refuse the whole file.
NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: JudgedRun, found: outcome.Overall) -> str:
    manifest, rows = run.manifest, run.verdicts or []
    unjudged, standings = not manifest.complete or not rows, [*map(outcome.standing, rows)]
    began, ended = manifest.started_at, manifest.ended_at
    lasted_s = max(0.0, (ended - began).total_seconds()) if began and ended else 0.0
    suites = ET.Element("testsuites")
    suite = _add(
        suites,
        "testsuite",
        id=0,
        package="kafka-chaos",
        name=manifest.experiment,
        # The common schema wants neither fractions nor a zone, and a host name.
        timestamp=f"{began:%Y-%m-%dT%H:%M:%S}" if began else "1970-01-01T00:00:00",
        hostname="localhost",
        tests=len(rows) + unjudged,
        failures=0 if unjudged else standings.count(outcome.Standing.DIFFERS),
        errors=int(unjudged),
        skipped=standings.count(outcome.Standing.WITHHELD) if not unjudged else len(rows),
        time=f"{lasted_s:.3f}",
    )
    others = outcome.others_in_words(outcome.others_in(run))
    named = {"run": manifest.run, "seed": manifest.seed, **({"others": others} if others else {})}
    _properties(suite, named)
    if unjudged:  # it cannot pass: a run that shows nothing must not turn a build green
        case = _case(suite, manifest.experiment, "the run can be judged")
        said = f"{found.headline}. {found.detail}"
        _add(case, "error", type=manifest.status.upper(), message=said)
    for row in rows:
        case = _case(suite, manifest.experiment, outcome.name_of(row["rule"]))
        _properties(case, {"id": row["rule"], "left_out": row["left_out"] or 0})
        if unjudged or outcome.standing(row) is outcome.Standing.WITHHELD:
            _add(case, "skipped", message=found.headline if unjudged else row["reason"])
        elif outcome.differs(row):
            _failure(case, row, found.headline)
    _add(suite, "system-out").text = _clean(found.headline)
    _add(suite, "system-err")
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add(parent: ET.Element, tag: str, **attributes: object) -> ET.Element:
    cleaned = {name: _clean(str(value)) for name, value in attributes.items()}
    return ET.SubElement(parent, tag, cleaned)


def _properties(parent: ET.Element, named: Mapping[str, object]) -> None:
    properties = _add(parent, "properties")
    for name, value in named.items():
        _add(properties, "property", name=name, value=value)


def _case(suite: ET.Element, experiment: str, name: str) -> ET.Element:
    return _add(suite, "testcase", classname=experiment, name=name, time=0)


def _failure(case: ET.Element, row: Row, headline: str) -> None:
    reason, verdict = str(row["reason"] or "no reason given"), outcome.verdict_of(row)
    said = f"{headline} {verdict}, expected {outcome.expected_of(row)}: {reason}"
    lines = [
        reason,
        f"statement: {row['statement'] or ''} ({row['source'] or 'no source'})",
        f"bound: {bound(row['bound_low'], row['bound_high'], row['unit'] or '')}",
        f"measured (min / median / max): {measured(row)}",
        f"examined: {number(row['examined'])}, violations: {number(row['violations'])}",
        *([f"evidence: {row['evidence']}"] if row["evidence"] else []),
    ]
    _add(case, "failure", type=verdict, message=said).text = _clean("\n".join(lines))


def _clean(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
