"""The page of changes that no test noticed: each with the reason why, by the sort of the change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]

# Why a survivor was not noticed, in the order of the page. The last is what tests lack.
_SORTS: Final[Mapping[str, str]] = {
    "A row always has a partner": (
        "In the histories of the tests every row of the left side has a row on the right, as it "
        "has in recorded runs (a request has its member, a generation its joins), or one without "
        "falls to a later condition."
    ),
    "Two moments never touch": (
        "The change concerns moments that are equal to the microsecond, and that are not due to "
        "one log line. The record has none, and either reading of them would be right."
    ),
    "Only how it is worded": (
        "The change is in a clause that helps a reader, or in which of several equal lines is "
        "named as evidence or as the moment. It never decides a verdict."
    ),
    "The value does not matter": (
        "Any number would do there: it is asked whether a row exists, what is sorted first, or it "
        "stands for a null that no recorded value is equal to."
    ),
    "None to speak of": (
        "It is asked whether there are any of something. Where there are none the sentence about "
        "them is null, or there is no row to ask, so that nothing is said either way."
    ),
    "One of several that are alike": (
        "In the histories of the tests the rows have one value, so the least is the greatest. In "
        "most cases that is so in every run (a setting of one member, one phase of a fault)."
    ),
    "Not tested": (
        "A history that shows the difference could be written, and nobody has: most need several "
        "members, generations or time-outs in an order that the runs have not had."
    ),
}
_TOUCHING: Final = ({"<", "<="}, {">", ">="})
_TIMES: Final = re.compile(r"(_at|\bat|_ms|\bms|from_at|to_at)\b")
_WORD: Final = re.compile(r"[\w<>=]")
_NAMED: Final = re.compile(r"(AS (at|evidence|note)\b|evidence\)|concat\(|' )")
_NO_MATTER: Final = re.compile(
    r"SELECT $|PARTITION BY $|coalesce\(.*, -?$|nullif\(|IF\((event|anew).*, $|\d, \d+\)|DIV"
)


def page(found: Sequence[Row]) -> str:
    """The summary and every change that no test noticed, in Markdown."""
    noticed = sum(bool(each["noticed_by"]) for each in found)
    score = f"{noticed / max(1, len(found)):.1%}"
    lines = [
        "# What the tests of the rules do not notice",
        "",
        "`make mutants` changes the SQL of rules and of derived tables (`tables/…` below) in small",
        "ways, one at a time. The rules that a change reaches judge their hand-written histories",
        "and kept runs again, and for a table 150 of those for which it is another one.",
        f"{noticed:,} of {len(found):,} changes are noticed: {score}.",
        "The rest is below, by the reason why; a pattern of the change decides which is given",
        "(`tests/mutation/survivors.py`), so a single line may be under a neighbouring heading.",
        "",
        "| change | noticed | of |",
        "|---|---|---|",
    ]
    made = Counter(each["kind"] for each in found)
    lost = Counter(each["kind"] for each in found if not each["noticed_by"])
    lines += [f"| {kind} | {made[kind] - lost[kind]:,} | {made[kind]:,} |" for kind in sorted(made)]
    for sort, reason in _SORTS.items():
        rows = [each for each in found if not each["noticed_by"] and sort_of(each) == sort]
        if rows:
            lines += ["", f"## {sort} ({len(rows)})", "", reason, ""]
            lines += [
                f"- `{each['file'].removeprefix('rules/')} {each['within']}`: `{change(each)}`"
                for each in rows
            ]
    return "\n".join(lines) + "\n"


def sort_of(row: Row) -> str:
    """Which of the sorts a change is."""
    before, old, new, after = _parts(row)
    touching = any({old, new} == pair for pair in _TOUCHING)
    partner, moments, words, value, none, alike, untested = _SORTS
    match row["kind"]:
        case "join":
            return partner
        case "compare" if touching and _TIMES.search(before[-40:] + after[:40]):
            return moments
        case "compare" if {old, new} == {">", ">="} and after.strip().startswith("0"):
            return none
        case "aggregate" if _NAMED.search(before[-30:] + after[:60]):
            return words
        case "aggregate" if not {old, new} & {"bool_and", "bool_or", "and", "or"}:
            return alike
        case "number" | "arithmetic" | "constant" if _NO_MATTER.search(before[-90:]):
            return value
        case "number" | "arithmetic" if "' " in after[:20]:
            return words
    return untested


def change(row: Row) -> str:
    """The changed line, with what became of what in brackets."""
    before, old, new, after = _parts(row)
    text = f"{before[-60:]}[{old} → {new}]{after[:50]}"
    return re.sub(r"\s+", " ", text.replace("`", "")).strip()


def _parts(row: Row) -> tuple[str, str, str, str]:
    """What stands before a change in its line, the old and the new text, and what stands after.

    Whole words, so that `min` and `max` differ as such.
    """
    old, new = (line[2:] for line in row["diff"].split("\n"))
    start = _alike(old, new)
    while start and _WORD.match(old[start - 1]):
        start -= 1
    end = _alike(old[start:][::-1], new[start:][::-1])
    while end and _WORD.match(old[-end]):
        end -= 1
    stop_old, stop_new = len(old) - end, len(new) - end
    return old[:start], old[start:stop_old].strip(), new[start:stop_new].strip(), old[stop_old:]


def _alike(one: str, other: str) -> int:
    """With how many letters both texts begin."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
