"""Documented against measured: every statement of the documents beside what runs showed of it.

Made from the verdicts of many runs (the nightly set's `verdicts.parquet`); starts no Spark.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from harness.base.words import plural
from harness.experiment import Verdict
from harness.history import store
from harness.report.formats import NOTHING, measured_range
from harness.report.load import Row
from harness.report.many import blocks
from harness.report.many.blocks import ASIDE, Line
from harness.report.outcome import name_of
from harness.report.run.page_files import write_whole
from harness.rules.documents import DOCUMENTS, Statement
from harness.rules.statements import STATEMENTS

# Applications that break rules on purpose prove the judge; they say nothing about Kafka.
_SABOTEUR: Final = "saboteur-"
_TITLE: Final = "Documented against measured"

HOLDS: Final = "holds"
NOT: Final = "does not hold"
PARTLY: Final = "holds in part"
UNCLEAR: Final = "cannot be judged"
UNSEEN: Final = "not judged"
# By status: its sign, and how one statement and several are counted.
_STATUSES: Final = {
    HOLDS: ("✓", "holds", "hold"),
    NOT: ("✗", "does not hold any more", "do not hold any more"),
    PARTLY: (
        "≠",
        "holds for some clients, protocols or situations only",
        "hold for some clients, protocols or situations only",
    ),
    UNCLEAR: ("?", "could not be judged", "could not be judged"),
    UNSEEN: ("–", "was not judged", "were not judged"),
}
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    *((name, pa.string()) for name in ("statement", "document", "says", "status", "rule")),
    ("part", pa.string()),  # stated: the statement itself; instead: what replaced it
    *((name, pa.string()) for name in ("client", "protocol", "kafka")),
    # How many runs gave which verdict, and how many things were examined in all of them.
    *((name, pa.int64()) for name in ("holds", "violated", "unknown", "examined")),
    *((name, pa.float64()) for name in ("measured_min", "measured_max")),
    *((name, pa.string()) for name in ("unit", "because", "today", "since")),
]
SCHEMA: Final = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class Judged:
    """A statement, its status by what was measured, and the findings behind it.

    A finding is a row of the table, with the reasons and the verdicts in a word (`mark`).
    """

    statement: Statement
    status: str
    stated: Sequence[Row]
    instead: Sequence[Row]


def judged(verdicts: Sequence[Row]) -> list[Judged]:
    """Every statement with its findings. `verdicts` are rows of VERDICTS with `experiment` and
    `kafka`.
    """
    by_rule: dict[str, list[Row]] = {}
    for row in verdicts:
        if not row["experiment"].startswith(_SABOTEUR):
            by_rule.setdefault(row["rule"], []).append(row)
    found = []
    for each in STATEMENTS:
        stated, instead = (
            [finding for rule in rules for finding in _findings(each, rule, by_rule.get(rule, ()))]
            for rules in (each.rules, each.instead)
        )
        found.append(Judged(each, _status(each, stated, instead), stated, instead))
    return found


def _status(statement: Statement, stated: Sequence[Row], instead: Sequence[Row]) -> str:
    """Where a protocol has something else instead, a statement holds for the others only.

    Its own rules are about those others, in whichever of them they were judged.
    """
    from harness.rules import RULES

    replaced = {each["protocol"] for each in instead if each["mark"] == HOLDS}
    if not statement.rules:
        return NOT if replaced else UNCLEAR if instead else UNSEEN
    if not stated:
        return UNSEEN
    marks = {each["mark"] for each in stated} - {UNCLEAR}
    if not marks:
        return UNCLEAR
    about = {protocol for rule in statement.rules for protocol in RULES[rule].protocols}
    if marks == {HOLDS} and replaced - about:
        return PARTLY
    return marks.pop() if len(marks) == 1 else PARTLY


def _findings(statement: Statement, rule: str, verdicts: Sequence[Row]) -> Iterator[Row]:
    """What runs with one client, protocol and Kafka showed of a rule."""
    names = ("client", "protocol", "kafka")
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in verdicts:
        if row["experiment"] not in statement.apart:
            groups.setdefault(tuple(str(row[name]) for name in names), []).append(row)
    for key, rows in sorted(groups.items()):
        yield {"rule": rule, **dict(zip(names, key, strict=True)), **_finding(rows)}


def _finding(rows: Sequence[Row]) -> Row:
    """Verdicts of one rule together; `because` are reasons to expect it violated."""
    count = Counter(str(row["verdict"]) for row in rows)
    holds, violated = count[Verdict.HOLDS], count[Verdict.VIOLATED]
    lows, highs = (
        [row[name] for row in rows if row[name] is not None]
        for name in ("measured_min", "measured_max")
    )
    return {
        "holds": holds,
        "violated": violated,
        "unknown": count[Verdict.UNKNOWN],
        "examined": sum(int(row["examined"] or 0) for row in rows),
        "measured_min": min(lows, default=None),
        "measured_max": max(highs, default=None),
        "unit": rows[0]["unit"],
        "because": sorted({str(row["because"]) for row in rows if row["because"]}),
        "mark": PARTLY if holds and violated else HOLDS if holds else NOT if violated else UNCLEAR,
    }


def write(folder: Path, verdicts: Sequence[Row]) -> None:
    """Write documented.html, documented.md and documented.parquet into `folder`."""
    found = judged(verdicts)
    overview = shown(found)
    text = [f"# {_TITLE}", "", overview.headline, "", *blocks.in_markdown(overview.blocks, "##")]
    write_whole(folder / "documented.html", blocks.page(overview))
    write_whole(folder / "documented.md", "\n".join(text))
    table = pa.Table.from_pylist([row for each in found for row in _kept(each)], schema=SCHEMA)
    store.write(folder / "documented.parquet", [table], SCHEMA)


def _kept(each: Judged) -> Iterator[Row]:
    """One row per rule, client, protocol and Kafka; one without a rule if unjudged."""
    statement = each.statement
    common = {
        "statement": statement.id,
        "document": statement.document,
        "says": statement.says,
        "status": each.status,
        "today": statement.today or None,
        "since": statement.since or None,
    }
    if not each.stated and not each.instead:
        yield common
    for part, findings in (("stated", each.stated), ("instead", each.instead)):
        for finding in findings:
            because = "; ".join(finding["because"]) or None
            yield {**common, **finding, "part": part, "because": because}


def sentence(found: Sequence[Judged]) -> str:
    counts = Counter(each.status for each in found)
    parts = [
        plural(counts[status], one, several)
        for status, (_, one, several) in _STATUSES.items()
        if counts[status]
    ]
    return f"Of {plural(len(found), 'statement')}, {', '.join(parts)}."


def shown(found: Sequence[Judged]) -> blocks.Overview:
    """The page: each document with its statements, and what was measured of each."""
    return blocks.Overview(
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
            blocks.Block(
                f"d{number}",
                f"{number}: {title}",
                columns=("", "the document says", "measured", "today"),
                rows=[_row(each) for each in found if each.statement.document == number],
            )
            for number, title in DOCUMENTS.items()
        ],
        made_from="verdicts.parquet",
    )


def _row(each: Judged) -> blocks.Row:
    statement = each.statement
    since = f" (since {statement.since})" if statement.since else ""
    today = [Line(f"{statement.today}{since}")] if statement.today else []
    says = [Line(statement.says), Line(f"{statement.id}, {each.status}", ASIDE)]
    sign, measured = _STATUSES[each.status][0], _lines(each.stated) or UNSEEN
    cells = (sign, says, measured, [*today, *_lines(each.instead)])
    return blocks.Row(cells, id=f"s{statement.id}")


def _lines(findings: Iterable[Row]) -> list[Line]:
    lines = []
    for each in findings:
        where = f"{each['client']}, {each['protocol']}, Kafka {each['kafka']}"
        lines.append(Line(f"{name_of(each['rule'])} {where}: {text_of(each)}"))
        lines += [Line(reason, ASIDE) for reason in each["because"]]
    return lines


def text_of(finding: Row) -> str:
    unknown, numbers = finding["unknown"], measured_range(finding)
    runs = plural(finding["holds"] + finding["violated"] + unknown, "run")
    doubt = f", {unknown} of them UNKNOWN" if unknown else ""
    range_ = "" if numbers == NOTHING else f", {numbers}"
    return f"{finding['mark']} ({runs}{doubt}{range_})"
