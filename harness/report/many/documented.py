"""Documented against measured: every statement of the documents beside what runs showed of it.

Made from the verdicts of many runs (the nightly set's `verdicts.parquet`); starts no Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.whole import whole
from harness.base.words import plural
from harness.experiment import Verdict
from harness.report.many.blocks import (
    ASIDE,
    Block,
    Line,
    Overview,
    Table,
    TableColumn,
    in_markdown,
    page,
)
from harness.report.many.blocks import Row as TableRow
from harness.report.run.files import write_whole
from harness.report.words import measured_range
from harness.rules.documents import DOCUMENTS, STATEMENTS, Statement

Row = Mapping[str, Any]

# Applications that break rules on purpose prove the judge; they say nothing about Kafka.
_SABOTEUR: Final = "saboteur-"
_TITLE: Final = "Documented against measured"
FILES: Final = ("documented.html", "documented.md", "documented.parquet")

HOLDS: Final = "holds"
NOT: Final = "does not hold"
PARTLY: Final = "holds in part"
UNTOLD: Final = "cannot be judged"
UNSEEN: Final = "not judged"
_SIGNS: Final = {HOLDS: "✓", NOT: "✗", PARTLY: "≠", UNTOLD: "?", UNSEEN: "–"}

_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("statement", pa.string()),
    ("document", pa.string()),
    ("says", pa.string()),
    ("status", pa.string()),  # holds | does not hold | holds in part | cannot be judged | not …
    ("rule", pa.string()),
    ("part", pa.string()),  # stated: the statement itself; instead: what replaced it
    ("client", pa.string()),
    ("protocol", pa.string()),
    ("kafka", pa.string()),
    ("holds", pa.int64()),  # how many runs gave which verdict
    ("violated", pa.int64()),
    ("unknown", pa.int64()),
    ("examined", pa.int64()),
    ("measured_min", pa.float64()),
    ("measured_max", pa.float64()),
    ("unit", pa.string()),
    ("because", pa.string()),
    ("today", pa.string()),
    ("since", pa.string()),
]
SCHEMA: Final = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class Finding:
    """What runs with one client, protocol and Kafka showed of one rule.

    `because` are the reasons that experiments gave for expecting it violated.
    """

    rule: str
    client: str
    protocol: str
    kafka: str
    verdicts: tuple[str, ...]
    examined: int
    measured: Row  # measured_min, measured_max, unit
    because: tuple[str, ...]

    def count(self, verdict: Verdict) -> int:
        """How many runs gave this verdict."""
        return self.verdicts.count(verdict.value)

    @property
    def mark(self) -> str:
        """The verdicts in a word: holds, does not hold, both, or cannot be judged."""
        words = {verdict for verdict in self.verdicts if verdict != Verdict.UNKNOWN}
        if words == {Verdict.HOLDS.value}:
            return HOLDS
        if words == {Verdict.VIOLATED.value}:
            return NOT
        return PARTLY if words else UNTOLD

    @property
    def where(self) -> str:
        """The runs that it is about."""
        return f"{self.client}, {self.protocol}, Kafka {self.kafka}"

    @property
    def text(self) -> str:
        """One line for a reader."""
        runs = plural(len(self.verdicts), "run")
        if unknown := self.count(Verdict.UNKNOWN):
            runs += f", {unknown} of them UNKNOWN"
        numbers = measured_range({**self.measured})
        return f"{self.mark} ({runs}{'' if numbers == '–' else f', {numbers}'})"


@dataclass(frozen=True)
class Judged:
    """A statement, its status by what was measured, and the findings behind it."""

    statement: Statement
    status: str
    stated: tuple[Finding, ...]
    instead: tuple[Finding, ...]

    @property
    def sign(self) -> str:
        """The status as one character."""
        return _SIGNS[self.status]


def judged(verdicts: Sequence[Row]) -> list[Judged]:
    """Every statement with its findings. `verdicts` are rows of VERDICTS with `experiment` and
    `kafka`.
    """
    honest = [row for row in verdicts if not str(row["experiment"]).startswith(_SABOTEUR)]
    return [_judge(statement, honest) for statement in STATEMENTS]


def _judge(statement: Statement, verdicts: Sequence[Row]) -> Judged:
    rows = [row for row in verdicts if row["experiment"] not in statement.apart]
    stated = tuple(_findings(statement.rules, rows))
    instead = tuple(_findings(statement.instead, rows))
    return Judged(statement, _status(statement, stated, instead), stated, instead)


def _status(statement: Statement, stated: Sequence[Finding], instead: Sequence[Finding]) -> str:
    """Where a protocol has something else instead, a statement holds for the others only.

    Its own rules are about those others, in whichever of them they were judged.
    """
    from harness.rules import RULES

    replaced = {finding.protocol for finding in instead if finding.mark == HOLDS}
    if not statement.rules:
        return NOT if replaced else UNTOLD if instead else UNSEEN
    if not stated:
        return UNSEEN
    marks = {finding.mark for finding in stated} - {UNTOLD}
    if not marks:
        return UNTOLD
    about = {protocol for rule in statement.rules for protocol in RULES[rule].protocols}
    if marks == {HOLDS} and replaced - about:
        return PARTLY
    return marks.pop() if len(marks) == 1 else PARTLY


def _findings(rules: Iterable[str], verdicts: Sequence[Row]) -> Iterable[Finding]:
    for rule in rules:
        groups: dict[tuple[str, str, str], list[Row]] = {}
        for row in verdicts:
            if row["rule"] == rule:
                key = (str(row["client"]), str(row["protocol"]), str(row["kafka"]))
                groups.setdefault(key, []).append(row)
        for (client, protocol, kafka), rows in sorted(groups.items()):
            yield Finding(
                rule,
                client,
                protocol,
                kafka,
                tuple(str(row["verdict"]) for row in rows),
                sum(int(row["examined"] or 0) for row in rows),
                _measured(rows),
                tuple(sorted({str(row["because"]) for row in rows if row["because"]})),
            )


def _measured(rows: Sequence[Row]) -> Row:
    lows = [row["measured_min"] for row in rows if row["measured_min"] is not None]
    highs = [row["measured_max"] for row in rows if row["measured_max"] is not None]
    return {
        "measured_min": min(lows, default=None),
        "measured_max": max(highs, default=None),
        "unit": rows[0]["unit"],
    }


def write(folder: Path, verdicts: Sequence[Row]) -> None:
    """Write documented.html, documented.md and documented.parquet into `folder`."""
    found = judged(verdicts)
    write_whole(folder / "documented.html", page(shown(found)))
    text = [f"# {_TITLE}", "", sentence(found), "", *in_markdown(shown(found).blocks, "##")]
    write_whole(folder / "documented.md", "\n".join(text))
    with whole(folder / "documented.parquet") as half:
        pq.write_table(to_table(found), half, compression="zstd", write_page_checksum=True)


def to_table(found: Sequence[Judged]) -> pa.Table:
    """One row per statement, rule, client, protocol and Kafka; one without a rule if unjudged."""
    rows: list[dict[str, Any]] = []
    for each in found:
        statement = each.statement
        common = {
            "statement": statement.id,
            "document": statement.document,
            "says": statement.says,
            "status": each.status,
            "today": statement.today or None,
            "since": statement.since or None,
        }
        parts = [("stated", finding) for finding in each.stated]
        parts += [("instead", finding) for finding in each.instead]
        rows += [{**common, **_columns(part, finding)} for part, finding in parts] or [common]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _columns(part: str, finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "part": part,
        "client": finding.client,
        "protocol": finding.protocol,
        "kafka": finding.kafka,
        "holds": finding.count(Verdict.HOLDS),
        "violated": finding.count(Verdict.VIOLATED),
        "unknown": finding.count(Verdict.UNKNOWN),
        "examined": finding.examined,
        **finding.measured,
        "because": "; ".join(finding.because) or None,
    }


def sentence(found: Sequence[Judged]) -> str:
    """How many statements there are of each status, in a sentence."""
    counts = {status: sum(each.status == status for each in found) for status in _SIGNS}
    parts = [plural(count, *_ONE_AND_SEVERAL[status]) for status, count in counts.items() if count]
    return f"Of {plural(len(found), 'statement')}, {', '.join(parts)}."


_ONE_AND_SEVERAL: Final = {
    HOLDS: ("holds", "hold"),
    NOT: ("does not hold any more", "do not hold any more"),
    PARTLY: (
        "holds for some clients, protocols or situations only",
        "hold for some clients, protocols or situations only",
    ),
    UNTOLD: ("could not be judged", "could not be judged"),
    UNSEEN: ("was not judged", "were not judged"),
}


def shown(found: Sequence[Judged]) -> Overview:
    """The page: each document with its statements, and what was measured of each."""
    return Overview(
        kind="documents",
        name="",
        title=_TITLE,
        claim="Five documents about consumer groups, compared with measurements on real clusters, "
        "statement by statement. Where a statement does not hold any more, what replaced it is "
        "judged beside it. Runs of applications that break rules on purpose are left out.",
        headline=sentence(found),
        outcome="",
        detail="",
        blocks=[
            Block(
                f"d{number}",
                f"{number}: {title}",
                table=Table(
                    [
                        TableColumn(""),
                        *map(TableColumn, ("the document says", "measured", "today")),
                    ],
                    [_row(each) for each in found if each.statement.document == number],
                ),
            )
            for number, title in DOCUMENTS.items()
        ],
        made_from="verdicts.parquet",
    )


def _row(each: Judged) -> TableRow:
    statement = each.statement
    since = f" (since {statement.since})" if statement.since else ""
    today = [Line(f"{statement.today}{since}")] if statement.today else []
    return TableRow(
        (
            each.sign,
            [Line(statement.says), Line(f"{statement.id}, {each.status}", ASIDE)],
            _lines(each.stated) or "not judged",
            [*today, *_lines(each.instead)],
        ),
        id=f"s{statement.id}",
    )


def _lines(findings: Iterable[Finding]) -> list[Line]:
    return [
        line
        for finding in findings
        for line in (
            Line(f"{finding.rule} {finding.where}: {finding.text}"),
            *(Line(reason, ASIDE) for reason in finding.because),
        )
    ]
