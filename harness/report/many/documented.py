"""Documented against measured: every statement of the documents beside what runs showed of it.

Made from the verdicts of many runs (the nightly set's `verdicts.parquet`); starts no Spark.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from harness.base.words import plural
from harness.experiment import PROTOCOLS, Verdict
from harness.history import store
from harness.report.formats import NOTHING, bound, measured_range
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
_INSTEAD: Final = "→"
_WORDS: Final = {"java": "Java", "consumer": "KIP-848"}
_CODES: Final = "error code"  # a unit that is no quantity
_ID: Final = re.compile(r"\b[RX]\d\d(?:-\w+)*")
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

    A finding is a row of the table, with the reasons, the verdicts in a word (`mark`), the bounds,
    and the verdict that shows it best (`best`).
    """

    statement: Statement
    status: str
    stated: Sequence[Row]
    instead: Sequence[Row]


# Where a reader sees what was measured of a statement.
See = Callable[[Judged], Sequence[Line]]


def judged(verdicts: Sequence[Row]) -> list[Judged]:
    """Every statement with its findings. `verdicts` are rows of VERDICTS with `experiment`, `run`
    and `kafka`.
    """
    by_rule: dict[str, list[Row]] = {}
    places: Counter[tuple[str, str]] = Counter()
    for row in verdicts:
        places[_run_of(row)] += 1  # an experiment declares first what it is made for
        if not row["experiment"].startswith(_SABOTEUR):
            by_rule.setdefault(row["rule"], []).append({**row, "place": places[_run_of(row)]})
    found = []
    for each in STATEMENTS:
        stated, instead = (
            [finding for rule in rules for finding in _findings(each, rule, by_rule.get(rule, ()))]
            for rules in (each.rules, each.instead)
        )
        found.append(Judged(each, _status(each, stated, instead), stated, instead))
    return found


def _run_of(row: Row) -> tuple[str, str]:
    return row["experiment"], row.get("run", "")


def seen_in(each: Judged) -> list[Row]:
    """The verdicts by which a reader sees it best: one that holds, and one that says otherwise."""
    otherwise = [finding for finding in each.stated if finding["violated"]] or each.instead
    holds = [finding for finding in each.stated if finding["mark"] == HOLDS]
    parts = (holds, otherwise if each.status in (NOT, PARTLY) else ())
    best = (
        min((finding["best"] for finding in part if finding["rule"] == part[0]["rule"]), key=_place)
        for part in parts
        if part
    )
    return list({_run_of(row): row for row in best}.values())


def _place(row: Row) -> int:
    return int(row["place"])


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
        "bounds": {(row.get("bound_low"), row.get("bound_high")) for row in rows},
        "best": min(rows, key=lambda row: (row["verdict"] != Verdict.VIOLATED, _place(row))),
        "because": sorted({str(row["because"]) for row in rows if row["because"]}),
        "mark": PARTLY if holds and violated else HOLDS if holds else NOT if violated else UNCLEAR,
    }


def write(folder: Path, verdicts: Sequence[Row], see: See = lambda _: ()) -> None:
    """Write documented.html, documented.md and documented.parquet into `folder`."""
    found = judged(verdicts)
    overview = shown(found, see)
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
    kafka = sorted({row["kafka"] for each in found for row in (*each.stated, *each.instead)})
    brokers = f" Brokers: Kafka {', '.join(kafka)}." if kafka else ""
    return f"Of {plural(len(found), 'statement')}, {', '.join(parts)}.{brokers}"


def shown(found: Sequence[Judged], see: See = lambda _: ()) -> blocks.Overview:
    """The page: each document with its statements, and what was measured of each."""
    first: dict[str, str] = {}
    legend = [(sign, meaning) for sign, meaning, _ in _STATUSES.values()]
    legend += [(_INSTEAD, 'what is so instead; the column "today" says why')]
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
            blocks.Block("signs", "Signs", items=legend),
            *(
                blocks.Block(
                    f"d{number}",
                    f"{number}: {title}",
                    columns=("", "the document says", "measured", "today", "see it"),
                    rows=[
                        _row(each, see, first)
                        for each in found
                        if each.statement.document == number
                    ],
                )
                for number, title in DOCUMENTS.items()
            ),
        ],
        made_from="verdicts.parquet",
    )


def _row(each: Judged, see: See, first: dict[str, str]) -> blocks.Row:
    """The row of a statement. `first` has the statement that a finding stands beside."""
    statement = each.statement
    since = f" Since {statement.since}." if statement.since else ""
    says = [Line(statement.says), Line(statement.id, "quiet")]
    plain = HOLDS if each.status == HOLDS else ""  # the sign of the row says it
    stated = _lines(each.stated, first, statement.id, plain)
    instead = _lines(each.instead, first, statement.id, HOLDS, f"{_INSTEAD} ")
    measured = [*stated, *instead]
    today = _ID.sub(lambda found: name_of(found[0]), statement.today) + since  # rules have names
    cells = (_STATUSES[each.status][0], says, measured or UNSEEN, today, see(each))
    return blocks.Row(cells, id=f"s{statement.id}")


def _lines(
    findings: Iterable[Row], first: dict[str, str], at: str, plain: str, before: str = ""
) -> Iterator[Line]:
    """What was found of each rule: findings with the same verdict are put together.

    A finding with the verdict `plain` has no sign. One that stands beside an earlier statement,
    by `first`, is not repeated.
    """
    alike: dict[tuple[str, str], list[Row]] = {}
    for each in findings:
        alike.setdefault((each["rule"], each["mark"]), []).append(each)
    for (rule, mark), several in alike.items():
        sign = "" if mark == plain else f"{_STATUSES[mark][0]} "
        text = text_of(several)
        if (earlier := first.setdefault(f"{rule} {text}", at)) != at:
            yield Line(f"{before}{sign}{text.partition(':')[0]}: as in {earlier}")
            continue
        yield Line(f"{before}{sign}{text}")
        yield Line(f"{name_of(rule)}; {_where(several)}", "quiet")
        yield from (
            Line(text, ASIDE) for text in sorted({t for e in several for t in e["because"]})
        )


def text_of(several: Sequence[Row]) -> str:
    """What findings of one rule come to: how much was examined, and what was measured."""
    from harness.rules import RULES

    rule = RULES[several[0]["rule"]]
    count = {
        name: sum(each[name] for each in several)
        for name in ("examined", "holds", "violated", "unknown")
    }
    runs = count["holds"] + count["violated"] + count["unknown"]
    parts = [f"{rule.things}: {count['examined']:,} in {plural(runs, 'run')}"]
    if count["violated"] and count["holds"]:
        parts.append(f"violated in {count['violated']}")
    if count["unknown"]:
        parts.append(f"{count['unknown']} of them UNKNOWN")
    return ", ".join([*parts, *_numbers(several, rule.unit, rule.measures)])


def _numbers(several: Sequence[Row], unit: str, measures: str) -> Iterator[str]:
    """The measured range in words, and the bound if it was the same in all runs."""
    lows = [each["measured_min"] for each in several if each["measured_min"] is not None]
    highs = [each["measured_max"] for each in several if each["measured_max"] is not None]
    row = {"measured_min": min(lows, default=None), "measured_max": max(highs, default=None)}
    range_ = measured_range(row)
    if range_ == NOTHING or unit == _CODES:
        return
    word = "" if measures.split(" ")[0].startswith(unit) else unit
    word = word.removesuffix("s") if range_ == "1" and word != "ms" else word
    yield " ".join(filter(None, (range_, word, measures)))
    bounds = set().union(*(each["bounds"] for each in several))
    if len(bounds) == 1 and max(each or 0 for each in next(iter(bounds))) > 0:
        yield f"bound {bound(*bounds.pop())}"


def _where(several: Sequence[Row]) -> str:
    clients: dict[str, list[str]] = {}
    for client in dict.fromkeys(each["client"] for each in several):
        seen = {each["protocol"] for each in several if each["client"] == client}
        words = ", ".join(_WORDS.get(each, each) for each in PROTOCOLS if each in seen)
        clients.setdefault(words, []).append(_WORDS.get(client, client))
    return "; ".join(f"{' and '.join(names)}: {words}" for words, names in clients.items() if words)
