"""Runs, verdicts and rules of a suite, ready to be shown."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from harness.base.errors import Exit, NoData
from harness.base.words import plural
from harness.experiment import CLIENTS, PROTOCOLS
from harness.history.suites import Entry, State, Suite
from harness.report.load import Row
from harness.report.many import documented
from harness.report.many.verdicts import differing, table_of, verdicts_of
from harness.report.outcome import (
    Standing,
    expected_of,
    in_order,
    sign_of,
    standing,
    verdict_of,
)
from harness.report.words import clip, duration, names

MOST_ROWS: Final = 200
MOST_REASON: Final = 300
_UNJUDGED: Final = "unjudged"
Verdicts = Mapping[str, list[Row]]  # by the label of their run


def read_verdicts(suite: Suite) -> Verdicts:
    """The verdicts of every run, by its label."""
    return {entry.label: verdicts_of(suite, entry) for entry in suite.entries}


@dataclass(frozen=True)
class RunRow:
    """One run, ready to be shown."""

    name: str
    claim: str
    client: str
    protocol: str
    kafka: str
    outcome: str
    standing: str
    sign: str
    reason: str
    rules: str
    took: str
    estimate: str
    link: str


@dataclass(frozen=True)
class DifferingRow:
    """Verdicts of a run that are not as expected, all for the same reason, ready to be shown."""

    label: str
    rules: str
    verdict: str
    expected: str
    sign: str
    reason: str
    link: str


@dataclass(frozen=True)
class Cell:
    """One rule for one client and protocol; without a verdict, `note` says why."""

    verdict: str = ""
    standing: str = ""
    sign: str = ""
    runs: str = ""
    link: str = ""
    note: str = ""


@dataclass(frozen=True)
class RuleRow:
    """One rule for every client and protocol of the suite."""

    rule: str
    title: str
    cells: tuple[Cell, ...]


def documents_sentence(verdicts: Verdicts) -> str:
    """How the statements of the documents stand by these verdicts, in one sentence."""
    rows = table_of([row for rows in verdicts.values() for row in rows])
    return documented.sentence(documented.judged(rows.to_pylist()))


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


def why_unreadable(run_dir: Path, error: NoData) -> tuple[str, str]:
    """The state of a judged run that cannot be read, and why, with no path of this machine."""
    if not run_dir.exists():
        return "cannot be read", "its folder has been removed"
    reason = str(error).replace(f"{run_dir}/", "").replace(str(run_dir), "its folder")
    return "cannot be read", reason


def _standing(entry: Entry) -> str:
    if entry.state is State.AS_EXPECTED:
        return Standing.AS_EXPECTED
    return Standing.DIFFERS if entry.state is State.DIFFERS else _UNJUDGED


def sign_of_run(entry: Entry) -> str:
    """The sign of how a run stands."""
    signs = {State.AS_EXPECTED: "✓", State.DIFFERS: "✗", State.PLANNED: "–"}
    return signs.get(entry.state, "?")


def run_row(suite: Suite, entry: Entry, rows: Sequence[Row]) -> RunRow:
    """One run of a suite, ready to be shown."""
    return RunRow(
        name=entry.experiment if suite.kind == "nightly" else entry.label,
        claim=entry.claim,
        client=entry.client,
        protocol=entry.protocol,
        kafka=entry.kafka,
        outcome=outcome_of_run(entry, rows),
        standing=_standing(entry),
        sign=sign_of_run(entry),
        reason=clip(entry.reason, MOST_REASON),
        rules=str(len(rows)),
        took=duration(entry.took_s * 1_000),
        estimate=f"≈ {entry.estimate_s:.0f} s",
        link=link_to(suite, entry),
    )


def outcome_of_run(entry: Entry, rows: Sequence[Row]) -> str:
    """What became of a run, in a few words."""
    if entry.state is not State.DIFFERS:
        return str(entry.state)
    bad = len(differing(rows))
    return f"{bad} of {plural(len(rows), 'verdict')} {'differs' if bad == 1 else 'differ'}"


def differing_rows(suite: Suite, verdicts: Verdicts) -> list[DifferingRow]:
    """Verdicts that are not as expected, run by run; those of one run and reason are one row."""
    found = []
    for entry in suite.entries:
        alike: dict[tuple[str, str, str], list[Row]] = {}
        for row in differing(verdicts[entry.label]):
            alike.setdefault((verdict_of(row), expected_of(row), row["reason"]), []).append(row)
        found += [
            DifferingRow(
                label=entry.label,
                rules=names([row["rule"] for row in rows]),
                verdict=verdict,
                expected=expected,
                sign=sign_of(rows[0]),
                reason=clip(reason, MOST_REASON),
                link=link_to(suite, entry),
            )
            for (verdict, expected, reason), rows in alike.items()
        ]
    return found


def left_out(total: int) -> str:
    """How many rows a table leaves out, as a sentence; empty where it has all."""
    hidden = total - MOST_ROWS
    return "" if hidden <= 0 else f"{hidden:,} more are in verdicts.parquet."


def columns_of(suite: Suite) -> list[tuple[str, str]]:
    """Client and protocol of every run, in the order in which they are offered."""
    there = {(entry.client, entry.protocol) for entry in suite.entries}
    return [
        (client, protocol)
        for client in CLIENTS
        for protocol in PROTOCOLS
        if (client, protocol) in there
    ]


def matrix_of(
    suite: Suite, verdicts: Verdicts, columns: Sequence[tuple[str, str]]
) -> list[RuleRow]:
    """Every rule, with its verdict for each client and protocol."""
    from harness.rules import RULES

    judged: dict[tuple[str, str, str], list[tuple[Row, str]]] = defaultdict(list)
    for entry in suite.entries:
        for row in verdicts[entry.label]:
            judged[row["rule"], entry.client, entry.protocol].append((row, link_to(suite, entry)))
    rows = []
    for rule in RULES.values():
        cells = []
        for client, protocol in columns:
            found = judged.get((rule.id, client, protocol), [])
            applies = rule.speaks_of(client, protocol)
            cells.append(_cell(found) if found else Cell(note="not judged" if applies else ""))
        rows.append(RuleRow(rule.id, rule.title, tuple(cells)))
    return rows


def _cell(found: Sequence[tuple[Row, str]]) -> Cell:
    """The worst of a rule's verdicts, as `in_order` has them."""
    worst = in_order([row for row, _ in found])[0]
    link = next(link for row, link in found if row is worst)
    return Cell(
        verdict=verdict_of(worst),
        standing=standing(worst),
        sign=sign_of(worst),
        runs=f"× {len(found)}" if len(found) > 1 else "",
        link=link,
    )
