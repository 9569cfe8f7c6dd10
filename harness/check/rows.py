"""What a row of a rule's query comes to: true, false or unknown, and one clause that says why.

This is the only place that compares a measurement with its bounds, so the verdict, the bound that
is printed beside it and the clause cannot contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.rules.rule import COLUMNS, Rule

Row = dict[str, Any]
_NUMBERS: Final = ("measured", "bound_low", "bound_high")
_CLAUSES: Final = ("wrong", "unknown", "excused", "note", "too_low", "too_high", "on_the_way")


class Malformed(Exception):
    """A row that no rule may give; the message says which, and what is wrong with it.

    It never leaves the judge: the rule becomes UNKNOWN with this reason.
    """


def judged(rule: Rule, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows of a rule's query, in order of time, each with `ok`, `why` and `outside`.

    `outside` says on which side of its bounds a row was measured: "too_low", "too_high", or "" for
    neither. `excused` stays where it was needed only, so that a reader can trust it. Raises
    Malformed.
    """
    return sorted((_judged(rule, row) for row in rows), key=in_order)


def _judged(rule: Rule, given: Mapping[str, Any]) -> Row:
    row = _checked(rule, given)
    outside = side_of(row)
    unmeasured = row["measured"] is None and (row["bound_low"], row["bound_high"]) != (None, None)
    excused = row["excused"] if outside or unmeasured else None
    ok: bool | None
    if row["unknown"] is not None:
        ok, why, excused = None, row["unknown"], None
    elif row["wrong"] is not None:
        ok, why, excused = False, row["wrong"], None
    elif excused is not None:
        ok, why = True, excused
    elif unmeasured:
        ok, why = None, "nothing was measured"
    elif outside:
        said = str(row[outside] or getattr(rule, outside))
        ok, why = False, "; ".join(filter(None, [said, row["note"]]))
    else:
        ok, why = True, row["note"]
    return {**row, "excused": excused, "ok": ok, "why": why, "outside": outside}


def beside(rows: Sequence[Row]) -> Sequence[Row]:
    """Those of a rule's judged rows whose numbers and bounds are shown beside its verdict.

    Law: The number that is shown beside a violation is one that violates the bound shown with it.

    All rows, as long as one that is accused lies outside the bounds of all; or else those that lie
    outside their own; or none, where all are accused of something that is no number.
    """
    accused = [row for row in rows if row["ok"] is False]
    lows = [row["bound_low"] for row in rows if row["bound_low"] is not None]
    highs = [row["bound_high"] for row in rows if row["bound_high"] is not None]
    if not accused or not (lows or highs):
        return rows
    too_high = [row for row in accused if row["outside"] == "too_high"]
    too_low = [row for row in accused if row["outside"] == "too_low"]
    if any(row["measured"] > max(highs) for row in too_high):
        return rows
    if any(row["measured"] < min(lows) for row in too_low):
        return rows
    return too_high or too_low


def _checked(rule: Rule, given: Mapping[str, Any]) -> Row:
    unknown = [name for name in given if name not in COLUMNS]
    if unknown:
        raise Malformed(
            f"the query of {rule.id} gives a column {unknown[0]!r}, and a row of a rule has only "
            f"{', '.join(COLUMNS)}"
        )
    row: Row = {**dict.fromkeys(COLUMNS), **given}
    if not row["subject"]:
        raise Malformed(f"the query of {rule.id} gives a row without a subject")
    where = f"{rule.id}, row {row['subject']!r}"
    for name in _NUMBERS:
        if row[name] is not None:
            row[name] = float(row[name])
            if math.isnan(row[name]):
                raise Malformed(f"{where}: {name} is not a number")
    for name in _CLAUSES:
        if row[name] is not None and not isinstance(row[name], str):
            raise Malformed(f"{where}: {name} is {row[name]!r}, and a clause is a text")
    if row["timings"] is not None and not row["timings"] >= 1:
        raise Malformed(f"{where}: it is the mean of {row['timings']} timings, and needs one")
    low, high = row["bound_low"], row["bound_high"]
    if low is not None and high is not None and low > high:
        raise Malformed(f"{where}: its bounds from {low:g} to {high:g} allow nothing")
    begin, end = row["guard_from"], row["guard_to"]
    if begin is not None and end is not None and begin > end:
        raise Malformed(f"{where}: its guard window ends before it starts ({begin} to {end})")
    return row


def side_of(row: Row) -> str:
    """On which side of its bounds a row was measured: "too_low", "too_high", or neither."""
    measured, low, high = (row[name] for name in _NUMBERS)
    if measured is None:
        return ""
    if low is not None and measured < low:
        return "too_low"
    return "too_high" if high is not None and measured > high else ""


def in_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The order of rows: by time, then by everything that is stored of them.

    Rows that differ for a reader differ in it, so the order in which an engine gives them never
    matters.
    """
    at = row["at"]
    numbers = [(row[name] is None, row[name] or 0.0) for name in _NUMBERS]
    texts = [row[name] or "" for name in ("subject", "why", "evidence")]
    return (at is None, at.timestamp() if at else 0.0, texts[0], *numbers, *texts[1:])
