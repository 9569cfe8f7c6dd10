"""What was expected of a verdict as it came: what only some runs show, and what went beyond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from harness.check.judge import Outcome
from harness.check.rows import Row, side_of
from harness.experiment import Verdict, Within
from harness.tables.source import Unreadable

if TYPE_CHECKING:
    from harness.check.judge import OfARun

Hit = Mapping[str, Sequence[str]]  # whom faults hit, by their kinds


def as_it_came(
    verdicts: Sequence[dict[str, Any]], outcome: Outcome, tables: OfARun
) -> list[dict[str, Any]]:
    """The verdicts, each with what was expected of what came.

    HOLDS is as expected of a rule that is only sometimes violated. Where a violation goes beyond
    the limits that were declared of it, the rule was expected to hold, and the reason begins so.
    """
    declared = {each["rule"]: each for each in tables.run.expected}
    return [
        _as_it_came(row, declared.get(row["rule"], {}), outcome.rows.get(row["rule"], []), tables)
        for row in verdicts
    ]


def _as_it_came(
    verdict: dict[str, Any], declared: Mapping[str, Any], rows: Sequence[Row], tables: OfARun
) -> dict[str, Any]:
    if declared.get("sometimes") and verdict["verdict"] == Verdict.HOLDS:
        return {**verdict, "expected": verdict["verdict"], "because": None}
    limits = {name: declared.get(name) for name in ("at_most", "up_to")}  # older runs have none
    within = Within(by=declared.get("by") or "", **limits)
    if not within or {verdict["verdict"], verdict["expected"]} != {Verdict.VIOLATED}:
        return verdict
    hit = whom_faults_hit(tables) if within.kinds else {}
    found = beyond(within, rows, hit)
    if not found:
        return verdict
    reason = (
        f"{len(found):,} of {verdict['violations']:,} violations beyond what was expected "
        f"({within.in_words(verdict['unit'] or '', hit)}), the first: {_sentence(found[0])}; "
        f"{verdict['reason']}"
    )
    return {**verdict, "expected": str(Verdict.HOLDS), "because": None, "reason": reason}


def whom_faults_hit(tables: OfARun) -> Hit:
    """What the faults of each kind hit; nothing where that is not on record."""
    found: dict[str, set[str]] = {}
    with suppress(Unreadable):  # the verdicts about the faults say why
        for fault in tables.table("fault_windows").toArrow().to_pylist():
            if fault["resolved"] and fault["took_effect"]:
                found.setdefault(fault["kind"], set()).add(fault["resolved"])
    return {kind: sorted(names) for kind, names in found.items()}


def beyond(within: Within, rows: Sequence[Row], hit: Hit) -> list[Row]:
    """The violations that are not the expected ones, in order of time."""
    found, expected = [], 0
    for row in rows:
        if row["ok"] is not False:
            continue
        fits = within.is_by(_sentence(row), hit) and _is_near(within, row)
        if fits and (within.at_most is None or expected < within.at_most):
            expected += 1
        else:
            found.append(row)
    return found


def _sentence(row: Row) -> str:
    return f"{row['subject']}, {row['why']}"


def _is_near(within: Within, row: Row) -> bool:
    """Whether it is outside its bounds by no more than it may be."""
    if within.up_to is None:
        return True
    bound = {"too_low": row["bound_low"], "too_high": row["bound_high"]}.get(side_of(row))
    return bound is not None and bool(abs(row["measured"] - bound) <= within.up_to)
