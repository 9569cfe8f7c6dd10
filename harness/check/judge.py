"""Judging: rules in, one row per thing examined and one verdict per rule out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

import pyarrow as pa

from harness.base.progress import Steps, unheard
from harness.base.words import plural
from harness.check import doubt
from harness.check import rows as one_row
from harness.check.rows import Row
from harness.experiment import Verdict
from harness.history.derived import TABLES
from harness.rules import RULES, Rule
from harness.rules.own import is_own
from harness.tables.base import Tables
from harness.tables.source import Unreadable

if TYPE_CHECKING:
    from harness.tables.many_runs import One

    OfARun = Tables | One

JUDGEMENTS: Final = TABLES["judgements"]
_LIST: Final = "`python -m harness list`"
FAILED: Final = "the rule could not be judged: "
_ABSENT: Final = (
    "the rule is the owner's own, and not here: check the run in its project, or with --own-rules "
    "and the folder own/rules of the run"
)


@dataclass(frozen=True)
class Asked:
    """A rule to judge, and what is expected of it.

    `if_seen`: a run that does not exercise it says nothing of it.
    """

    rule: str
    expected: str = Verdict.HOLDS.value
    because: str = ""
    if_seen: bool = False


@dataclass
class Outcome:
    """Rows of the rules that could be judged, and why the others could not."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)


def is_absent(rule: str) -> bool:
    """Whether it is a rule of the owner's own that is not here."""
    return is_own(rule) and rule not in RULES


def examine(
    tables: OfARun,
    rules: Sequence[str],
    lacking: Mapping[str, str] = MappingProxyType({}),
    steps: Steps = unheard,
) -> Outcome:
    """Rows of every named rule; `steps` hears after each of them how many are judged.

    `lacking` says why history files are not whole, by their names: no rule that reads one of them
    is judged, but for that which is about the record itself.

    One Spark job per rule, not one for all: uniting the plans of thirty rules took three times as
    long as running them one by one, and one broken rule would take the others down. Two at a time,
    so that one is planned while another runs.
    """
    outcome = Outcome()

    def judge(name: str) -> None:
        with _unknown_if_broken(name, outcome):
            outcome.rows[name] = _rows_of(tables, name, lacking)

    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="judge") as workers:
        for done, _ in enumerate(workers.map(judge, rules), start=1):
            steps("rules", done, len(rules))
    outcome.rows = {name: outcome.rows[name] for name in rules if name in outcome.rows}
    touched = _guard(tables, outcome, lacking.get("host"))
    _say_withheld(outcome, touched + _doubt(tables, outcome))
    _say_pressure(tables, outcome)
    return outcome


@contextmanager
def _unknown_if_broken(name: str, outcome: Outcome) -> Iterator[None]:
    try:
        yield
    except Unreadable as reason:
        outcome.unknown[name] = str(reason)
    except Exception as error:  # noqa: BLE001 (whatever is wrong with a rule, others are judged)
        lines = str(error).strip().splitlines() or [""]
        kind = type(error).__name__
        outcome.unknown[name] = f"{FAILED}{kind}: {lines[0][:300]}"


def _rows_of(tables: OfARun, name: str, lacking: Mapping[str, str]) -> list[Row]:
    rule = RULES.get(name)
    if rule is None:
        raise Unreadable(_ABSENT if is_absent(name) else f"there is no rule {name}; see {_LIST}")
    frame, files = tables.files_behind(lambda: tables.answer(rule.examine))
    reasons = {lacking[file] for file in sorted(files & lacking.keys())}
    if reasons and not rule.of_record:
        raise Unreadable("; ".join(sorted(reasons)))
    return one_row.judged(rule, frame.toArrow().to_pylist())


def _guard(tables: OfARun, outcome: Outcome, unwatched: str | None) -> list[str]:
    """Where this machine stood still within a row's guard, its `ok` becomes null.

    `unwatched` says why it is not known whether it did. Returned is what each timing was withheld
    for.
    """
    timings, accused = _timed(tables, outcome), doubt.accusations(outcome.rows)
    if not timings and not accused:
        return []
    try:
        if unwatched:
            raise Unreadable(unwatched)
        stalls = tables.table("late_ticks").toArrow().to_pylist()
    except Unreadable as reason:
        why = f"it is not known whether this machine kept time: {reason}"
        for each in timings:
            if not each.accusation:
                each.row.update(ok=None, excused=None, why=why)
        return []
    touched = _withheld(doubt.by_stalls(timings, stalls))
    still_accused = [row for row in accused if row["ok"] is False]
    return touched + _withheld(doubt.by_the_time_of_day(still_accused, stalls))


def _doubt(tables: OfARun, outcome: Outcome) -> list[str]:
    """What is outside its bounds by no more than processes waited becomes null.

    Returned is what each timing was withheld for.
    """
    doubtful = doubt.doubtful(_timed(tables, outcome))
    if not doubtful:
        return []
    try:
        waits = tables.table("waits").toArrow().to_pylist()
    except Unreadable as reason:
        for each in doubtful:
            each.row.update(ok=None, why=f"it is not known who waited for a processor: {reason}")
        return []
    return _withheld(doubt.by_waits(doubtful, waits, unrecorded=tables.run.contained))


def _timed(tables: OfARun, outcome: Outcome) -> list[doubt.Timed]:
    return doubt.timed(outcome.rows, cast("int", tables.run.settings.get("heartbeat_ms", 0)))


def _withheld(found: Iterable[doubt.Withheld]) -> list[str]:
    """Make these rows null; what each was withheld for."""
    touched = []
    for each in found:
        each.row.update(ok=None, excused=None, why=each.why)
        touched.append(each.what)
    return touched


def _say_withheld(outcome: Outcome, touched: Sequence[str]) -> None:
    """The rule about this machine's clock is not judged where a timing was withheld for it."""
    if touched:
        what, _ = Counter(touched).most_common(1)[0]  # of equals the first
        for row in _of_clocks(outcome):
            row.update(ok=None, why=f"{what} near {plural(len(touched), 'judged timing')}")


def _of_clocks(outcome: Outcome) -> list[Row]:
    return [row for name, rows in outcome.rows.items() if RULES[name].clock for row in rows]


def _say_pressure(tables: OfARun, outcome: Outcome) -> None:
    """The rule about this machine's clock says how busy it was, whether or not that mattered.

    Who sleeps is woken at once, so a clock may tick on time while everybody else waits.
    """
    rows = _of_clocks(outcome)
    if not rows:
        return
    settings = tables.run.settings
    lasted = cast("datetime", settings["ended_at"]) - cast("datetime", settings["started_at"])
    waits: list[Row] = []
    with suppress(Unreadable):  # the rules that need it say why
        waits = tables.table("waits").toArrow().to_pylist()
    said = doubt.pressure(waits, lasted / timedelta(milliseconds=1), tables.run.cpu_pressure)
    for row in rows:
        row["why"] = "; ".join(filter(None, [row["why"], said]))


def verdicts_of(asked: Iterable[Asked], outcome: Outcome, tables: OfARun) -> list[Row]:
    """The verdicts on these rules; none where one is asked `if_seen` and examined nothing."""
    return [
        verdict_of(each, outcome, tables)
        for each in asked
        if not each.if_seen or outcome.rows.get(each.rule) or each.rule in outcome.unknown
    ]


def verdict_of(asked: Asked, outcome: Outcome, tables: OfARun) -> Row:
    rule = RULES.get(asked.rule)
    rows = outcome.rows.get(asked.rule, [])
    unknown = outcome.unknown.get(asked.rule)
    verdict = Verdict.UNKNOWN if unknown else _worst(rows)
    shown = one_row.beside(rows)
    measured = sorted(row["measured"] for row in shown if row["measured"] is not None)
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
        "left_out": sum(row["ok"] is None or row["excused"] is not None for row in rows),
        "measured_min": measured[0] if measured else None,
        "measured_p50": _rank(measured, 0.50),
        "measured_p99": _rank(measured, 0.99),
        "measured_max": measured[-1] if measured else None,
        "bound_low": _least(row["bound_low"] for row in shown),
        "bound_high": _most(row["bound_high"] for row in shown),
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
    shown = one_row.beside(rows)
    measured = _span(rule, [row["measured"] for row in shown])
    if measured:
        sentence += f", {measured}"
    bound = _bound(shown)
    if bound:
        sentence += f"; bound {bound}"
    for found, one, many in (
        ([row for row in rows if row["ok"] is False], "violates it", "violate it"),
        ([row for row in rows if row["ok"] is None], "cannot be judged", "cannot be judged"),
        ([row for row in rows if row["excused"]], "is excused", "are excused"),
    ):
        if found:
            kind = one if len(found) == 1 else f"{many}, the first"
            return f"{sentence}; {len(found):,} {kind}: {found[0]['subject']}, {found[0]['why']}"
    return f"{sentence}; {rows[0]['why']}" if rule.clock else sentence


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
    """All rows as the table `judgements`, rule by rule, each rule's rows in order of time."""
    rows = [
        {"rule": rule} | {name: row[name] for name in JUDGEMENTS.names if name != "rule"}
        for rule, each in outcome.rows.items()
        for row in each
    ]
    return pa.Table.from_pylist(rows, schema=JUDGEMENTS)
