"""`explain` finds in the logs of incidents what a person has found in them.

tests/data/logs/findings.toml was written by hand, from the logs alone. Most of these logs are made
up in the shape of public reports.
"""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from harness.history.foreign import events
from harness.report.incident.terminal import print_view
from harness.report.incident.view import view_of

LOGS: Final = Path(__file__).parents[1] / "data" / "logs"
EXPECTED: Final[dict[str, dict[str, Any]]] = tomllib.loads((LOGS / "findings.toml").read_text())
# Logs whose lines are not read yet.
NOT_READ: Final = {
    "c12c-filter-log-events.json": "JSON around lines",
    "c12d-logs-insights.csv": "quotes around lines",
    "c15-kafka23-static-fenced.log": "words of Kafka 2.3",
    "c17-streams-group-44.log": "words of Streams groups",
    "c19-managed-rebalance-log.json": "lines without the coordinator's mark",
    "c20a-librdkafka-client.log": "a client's log",
    "c20b-java-client.log": "a client's log",
    "c22-kv.log": "a note behind lines",
    "c22-one-line-array.json": "a file of one line",
    "c22-pretty.json": "JSON around lines",
    "c22-quoted.csv": "quotes around lines",
    "c37-group-with-blank.log": "a group id with a blank",
}


def case(log: str, expected: dict[str, Any]) -> Any:
    reason = NOT_READ.get(log)
    raises = (AssertionError, ValueError)
    marks = pytest.mark.xfail(strict=True, raises=raises, reason=reason or "")
    return pytest.param(log, expected, id=log, marks=[marks] if reason else [])


@pytest.mark.parametrize(
    ("log", "expected"),
    [case(log, expected) for expected in EXPECTED.values() for log in expected["logs"]],
)
def test_what_a_person_finds_is_found(log: str, expected: dict[str, Any]) -> None:
    shown = view_of(events.read([LOGS / log]))
    file = io.StringIO()
    print_view(shown, Console(file=file, width=2_000))

    [only] = shown.groups
    group = only.group
    found = {finding.cause.name: finding.count for finding in only.findings}
    assert [expected[name] for name in ("group", "rebalances", "evictions", "joins")] == [
        group.name, len(group.rebalances), len(group.removals), len(group.joins)
    ]  # fmt: skip
    assert expected["causes"] == {name: found.get(name) for name in expected["causes"]}
    assert only.findings[0].cause.name in expected["causes"]
    for words in (*expected.get("who", ()), *expected["advice"]):
        assert words in file.getvalue()
