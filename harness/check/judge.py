"""Judging: rules in, one row per thing examined and one verdict per rule out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from harness.check.history import SLACK_MS, Unreadable
from harness.check.tables import Tables
from harness.experiment import Verdict
from harness.history.schema import TABLES
from harness.rules import RULES, Rule

Row = dict[str, Any]
JUDGEMENTS: Final = TABLES["judgements"]
# Columns of a rule's rows and their types; one that a rule does not give is null.
_COLUMNS: Final = {
    "subject": "STRING",
    "at": "TIMESTAMP",
    "ok": "BOOLEAN",
    "measured": "DOUBLE",
    "bound_low": "DOUBLE",
    "bound_high": "DOUBLE",
    "why": "STRING",
    "evidence": "STRING",
    "guard_from": "TIMESTAMP",
    "guard_to": "TIMESTAMP",
}
_CLIENT_FILES: Final = frozenset({"client_events", "deliveries", "commits"})
# The rule about the machine's clock, whose verdict depends on where others judged a timing.
_CLOCK_RULE: Final = "E04"


@dataclass(frozen=True)
class Asked:
    """A rule to judge, and what is expected of it."""

    rule: str
    expected: str = Verdict.HOLDS.value
    because: str = ""


@dataclass
class Outcome:
    """Rows of the rules that could be judged, and why the others could not."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)


def asked_of(tables: Tables) -> list[Asked]:
    """The rules to judge in a run: those its experiment declares, and all evidence rules.

    A run without faults is not asked whether its faults took effect.
    """
    declared = [
        Asked(each["rule"], str(each.get("verdict", Verdict.HOLDS.value)), each.get("because", ""))
        for each in tables.run.expected
    ]
    named = {each.rule for each in declared}
    evidence = [rule.id for rule in RULES.values() if rule.evidence and rule.id not in named]
    if not tables.run.settings["faults"]:
        evidence.remove("E01")
    return declared + [Asked(rule) for rule in evidence]


def examine(tables: Tables, rules: Sequence[str], torn: Sequence[str] = ()) -> Outcome:
    """Rows of every named rule, all found in one Spark job.

    `torn` names members whose journal is cut off though nobody killed them: what the consumers
    recorded is not whole then, and no rule that needs it is judged.
    """
    outcome = Outcome()
    frames: dict[str, DataFrame] = {}
    for name in rules:
        rule = RULES.get(name)
        if rule is None:
            outcome.unknown[name] = f"there is no rule {name}; `python -m harness list` names them"
            continue
        try:
            frames[name] = _rows_of(tables, rule, torn)
        except Unreadable as reason:
            outcome.unknown[name] = str(reason)
        except Exception as error:  # noqa: BLE001 (whatever is wrong with a rule, others are judged)
            outcome.unknown[name] = _crashed(error)
    _run(frames, outcome)
    _blame_clock(outcome)
    return outcome


def _rows_of(tables: Tables, rule: Rule, torn: Sequence[str]) -> DataFrame:
    frame, files = tables.files_behind(lambda: _guarded(tables, rule))
    if torn and not rule.evidence and files & _CLIENT_FILES:
        raise Unreadable(f"the journal of {' and of '.join(torn)} is torn")
    return frame


def _guarded(tables: Tables, rule: Rule) -> DataFrame:
    """The rule's rows; where the machine was late within a row's guard, its `ok` is null.

    A row of `host` tells the latest tick of the 100 ms before it.
    """
    frame = rule.examine(tables)
    given = set(frame.columns)
    columns = [
        f"CAST({name if name in given else 'NULL'} AS {kind}) AS {name}"
        for name, kind in _COLUMNS.items()
    ]
    rows = frame.selectExpr(f"'{rule.id}' AS rule", *columns)
    if "guard_from" not in given:
        return rows.selectExpr(*JUDGEMENTS.names, "false AS stalled")
    late = tables.table("late_ticks")
    stalls = (
        "filter(stalls, s -> s.from_at <= guard_to AND s.to_at >= guard_from"
        " AND ok IS NOT NULL).late_ms"
    )
    judged = rows.crossJoin(late).selectExpr("*", f"array_max({stalls}) AS stall_ms")
    clause = "concat('this machine stood still for ', CAST(round(stall_ms) AS INT), ' ms')"
    replaced = {
        "ok": "IF(stall_ms IS NULL, ok, NULL) AS ok",
        "why": f"IF(stall_ms IS NULL, why, {clause}) AS why",
    }
    picked = [replaced.get(name, name) for name in JUDGEMENTS.names]
    return judged.selectExpr(*picked, "stall_ms IS NOT NULL AS stalled")


def _run(frames: Mapping[str, DataFrame], outcome: Outcome) -> None:
    """All rules at once; if that fails, one by one, so that only the broken one is UNKNOWN."""
    if not frames:
        return
    try:
        _keep(reduce(DataFrame.unionByName, frames.values()), frames, outcome)
    except Exception:  # noqa: BLE001 (found out below which rule it was)
        outcome.rows.clear()
        for name, frame in frames.items():
            try:
                _keep(frame, [name], outcome)
            except Exception as error:  # noqa: BLE001 (the rule's verdict says what it was)
                outcome.unknown[name] = _crashed(error)


def _keep(frame: DataFrame, names: Iterable[str], outcome: Outcome) -> None:
    rows = frame.toArrow().to_pylist()
    for name in names:
        outcome.rows[name] = []
    for row in rows:
        outcome.rows[row["rule"]].append(row)


def _blame_clock(outcome: Outcome) -> None:
    stalled = [row for rows in outcome.rows.values() for row in rows if row["stalled"]]
    if not stalled:
        return
    for row in outcome.rows.get(_CLOCK_RULE, ()):
        row["ok"] = None
        row["why"] = f"late by more than {SLACK_MS} ms near {len(stalled)} judged timings"


def _crashed(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"the rule could not be judged: {type(error).__name__}: {lines[0][:300]}"


def verdict_of(asked: Asked, outcome: Outcome, tables: Tables) -> Row:
    """The row of `verdicts` for one rule."""
    rule = RULES.get(asked.rule)
    rows = outcome.rows.get(asked.rule, [])
    unknown = outcome.unknown.get(asked.rule)
    verdict = Verdict.UNKNOWN if unknown else _worst(rows)
    measured = sorted(row["measured"] for row in rows if row["measured"] is not None)
    violations = sum(row["ok"] is False for row in rows)
    unknowns = sum(row["ok"] is None for row in rows)
    return {
        "rule": asked.rule,
        "source": rule.source if rule else None,
        "statement": rule.statement if rule else None,
        "protocol": tables.run.protocol,
        "client": tables.run.client,
        "expected": str(asked.expected),
        "verdict": verdict.value,
        "examined": len(rows),
        "violations": violations,
        "unknowns": unknowns,
        "measured_min": measured[0] if measured else None,
        "measured_p50": _rank(measured, 0.50),
        "measured_p99": _rank(measured, 0.99),
        "measured_max": measured[-1] if measured else None,
        "bound_low": _least(row["bound_low"] for row in rows),
        "bound_high": _most(row["bound_high"] for row in rows),
        "unit": rule.unit if rule else None,
        "reason": unknown or (_reason(rule, rows) if rule else None),
        "because": asked.because or None,
        "evidence": f"violations/{asked.rule}.parquet"
        if violations or unknowns
        else "tables/judgements.parquet",
    }


def _worst(rows: Sequence[Row]) -> Verdict:
    if any(row["ok"] is False for row in rows):
        return Verdict.VIOLATED
    if not rows or any(row["ok"] is None for row in rows):
        return Verdict.UNKNOWN
    return Verdict.HOLDS


def _rank(ordered: Sequence[float], share: float) -> float | None:
    """Nearest-rank percentile: a number that was measured, never one in between."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else None


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _reason(rule: Rule, rows: Sequence[Row]) -> str:
    """One sentence with numbers: what was examined, what was measured, what was wrong."""
    if not rows:
        return f"0 {rule.things} examined: nothing that this run did exercises the rule"
    sentence = f"{len(rows):,} {rule.things}"
    measured = _span(rule, [row["measured"] for row in rows])
    if measured:
        sentence += f", {measured}"
    bound = _bound(rows)
    if bound:
        sentence += f"; bound {bound}"
    wrong = [row for row in rows if row["ok"] is False] or [row for row in rows if row["ok"] is None]
    if wrong:
        kind = "not so" if wrong[0]["ok"] is False else "cannot be told"
        sentence += f"; {kind} for {len(wrong):,}: {wrong[0]['subject']}, {wrong[0]['why']}"
    return sentence


def _span(rule: Rule, values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = _number(min(known)), _number(max(known))
    span = low if low == high else f"{low} to {high}"
    unit = "" if rule.measures.split(" ")[0].startswith(rule.unit) else f" {rule.unit}"
    return " ".join(f"{'each ' if len(known) > 1 else ''}{span}{unit} {rule.measures}".split())


def _bound(rows: Sequence[Row]) -> str:
    low, high = _least(r["bound_low"] for r in rows), _most(r["bound_high"] for r in rows)
    if low is not None and high is not None:
        return _number(low) if low == high else f"{_number(low)} to {_number(high)}"
    if high is not None:
        return f"at most {_number(high)}"
    return f"at least {_number(low)}" if low is not None else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def to_table(outcome: Outcome) -> pa.Table:
    """All rows as the table `judgements`, rule by rule in order of time."""
    rows = [
        {name: row[name] for name in JUDGEMENTS.names}
        for each in outcome.rows.values()
        for row in sorted(each, key=_in_order)
    ]
    return pa.Table.from_pylist(rows, schema=JUDGEMENTS)


def _in_order(row: Row) -> tuple[bool, float, str]:
    at = row["at"]
    return (at is None, at.timestamp() if at else 0.0, row["subject"] or "")
