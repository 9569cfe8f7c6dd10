"""The page's tables: each row ready to be shown, each table cut where it would flood the page.

`page.html.j2` names what it reads of a row; what a row does not have is an error there.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from types import SimpleNamespace as Shown
from typing import Any, Final
from urllib.parse import quote

from harness.base.words import plural
from harness.experiment import Verdict
from harness.report.load import Row, Run
from harness.report.outcome import (
    Standing,
    expected_of,
    in_order,
    is_excused,
    name_of,
    others_in,
    sign_of,
    standing,
    title_of,
    verdict_of,
)
from harness.report.parts import stops
from harness.report.parts.faults import FaultStory, stories
from harness.report.parts.members import Members
from harness.report.words import (
    NOTHING,
    absent,
    bound,
    clip,
    duration,
    number,
    partition_name,
    seconds,
)

MOST_ROWS: Final = 200
_MOST_TEXT: Final = 600
_UNITS: Final = ("s", "ms", "us")


@dataclass(frozen=True)
class Gauge:
    """A measurement against its bound, in percent of a small drawing."""

    bound_left: float
    bound_width: float
    left: float
    width: float
    middle: float


def verdict_rows(run: Run) -> list[Shown]:
    """Make the rows of the verdict table, what differs first."""
    others = others_in(run).violated
    return [_verdict_row(run, row, others) for row in in_order(run.verdicts or [])]


def _verdict_row(run: Run, row: Row, others: Collection[str]) -> Shown:
    how = standing(row)
    unit = row["unit"] or ""
    return Shown(
        rule=row["rule"] or NOTHING,
        name=name_of(row["rule"]) or NOTHING,
        title=title_of(row),
        statement=clip(row["statement"], _MOST_TEXT),
        source=clip(row["source"], _MOST_TEXT),
        applies_to=", ".join(text for text in (row["client"], row["protocol"]) if text),
        expected=expected_of(row),
        declared=row["rule"] not in others,  # by the experiment, or judged in every run
        verdict=verdict_of(row),
        standing=how,
        sign=sign_of(row),
        # It held, and nobody has to look at it.
        folded=how is Standing.AS_EXPECTED
        and verdict_of(row) == Verdict.HOLDS
        and not is_excused(row),
        bound=bound(row["bound_low"], row["bound_high"], unit),
        measured=_measured(row),
        unit=unit,
        gauge=gauge(row),
        examined=number(row["examined"]),
        violations=number(row["violations"]),
        unknowns=number(row["unknowns"]) if row["unknowns"] else "",
        reason=clip(row["reason"], _MOST_TEXT),
        because=clip(row["because"], _MOST_TEXT),
        evidence=row["evidence"] or "",
        link=link(run, row["evidence"]),
    )


def _measured(row: Row) -> tuple[tuple[str, str], ...]:
    values = [(name, row[f"measured_{name}"]) for name in ("min", "p50", "max")]
    texts = [(name, number(value)) for name, value in values]
    if all(absent(value) for _, value in values):
        return ()
    if len({text for _, text in texts}) == 1:
        return (("", texts[0][1]),)
    return tuple(texts)


def gauge(row: Row) -> Gauge | None:
    """Scale bound and measurement to one drawing; null without both or when all is one point."""
    values = [row[f"measured_{name}"] for name in ("min", "p50", "max")]
    low, high = row["bound_low"], row["bound_high"]
    if any(map(absent, values)) or (absent(low) and absent(high)):
        return None
    given = [value for value in (*values, low, high) if not absent(value)]
    if not all(abs(value) < float("inf") for value in given) or min(given) == max(given):
        return None
    margin = 0.12 * (max(given) - min(given))
    start, length = min(given) - margin, max(given) - min(given) + 2 * margin

    def percent(value: Any) -> float:
        return float(round(100 * (value - start) / length, 2))

    left = 0.0 if absent(low) else percent(low)
    right = 100.0 if absent(high) else percent(high)
    smallest, middle, largest = map(percent, values)
    return Gauge(left, max(right - left, 0.8), smallest, max(largest - smallest, 0.8), middle)


def link(run: Run, evidence: str | None) -> str:
    """Return a relative address of the evidence, or nothing if it is no file of this run."""
    if not evidence:
        return ""
    path = PurePosixPath(evidence.split("#")[0])
    if path.is_absolute() or ".." in path.parts or not (run.path / path).exists():
        return ""
    return quote(str(path))


def rebalance_rows(run: Run, members: Members, zero: datetime | None) -> list[Shown]:
    """Make the rows of the rebalance table, by generation as recorded."""
    rows = run.tables["rebalances"]
    longest_ms = max((ms for row in rows if (ms := _length_ms(row)) is not None), default=0.0)
    still = stops.longest_by(run, "generation")
    return [
        _rebalance_row(row, members, zero, longest_ms, still.get((row["generation"],)))
        for row in rows[:MOST_ROWS]
    ]


def _rebalance_row(
    row: Row, members: Members, zero: datetime | None, longest_ms: float, still: Row | None
) -> Shown:
    member = row["trigger_member"] or ""
    if not member and row["trigger_member_id"]:
        member = members.of_id(row["trigger_member_id"])
    return Shown(
        generation=number(row["generation"]),
        at=seconds(row["started_at"], zero),
        trigger=row["trigger"] or NOTHING,
        member=member,
        colour=members.colour(member),
        reason=clip(row["reason"], 200),
        members=f"{number(row['members_before'])} → {number(row['members_after'])}",
        leader=row["leader"] or NOTHING,
        duration=duration(row["duration_ms"]) if row["completed_at"] else "not completed",
        steps=_steps(row, longest_ms),
        moved=number(row["partitions_moved"]),
        kept=number(row["partitions_kept"]),
        revoked=number(row["partitions_revoked"]),
        standstill=duration(still["ms"]) if still else NOTHING,
        where=partition_name(still["topic"], still["partition"]) if still else "",
    )


def _length_ms(row: Row) -> float | None:
    if row["started_at"] is None:
        return None
    end = row["completed_at"] or row["synced_at"] or row["joined_at"]
    return None if end is None else _ms(row["started_at"], end)


_STEPS: Final = ("join", "sync", "assign")


def _steps(row: Row, longest_ms: float) -> tuple[Shown, ...]:
    """Split a rebalance: all joined, leader's assignment in, last member told."""
    at: datetime | None = row["started_at"]
    if at is None or longest_ms <= 0:
        return ()
    started = at
    steps = []
    # In KIP-848: target computed, every member at its epoch, last change told.
    names = ("target", "epoch", "assign") if row["protocol"] == "consumer" else _STEPS
    for css, name, column in zip(
        ("joining", "syncing", "telling"),
        names,
        ("joined_at", "synced_at", "completed_at"),
        strict=True,
    ):
        end: datetime | None = row[column]
        if end is None or end < at:
            continue
        left = 100 * _ms(started, at) / longest_ms
        width = 100 * _ms(at, end) / longest_ms
        steps.append(stops.part(css, name, left, width, _ms(at, end)))
        at = end
    return tuple(steps)


def _ms(from_at: datetime, to_at: datetime) -> float:
    return (to_at - from_at).total_seconds() * 1_000


def redelivery_rows(run: Run, members: Members, zero: datetime | None) -> list[Shown]:
    """Make the rows of the redelivery table: the unexplained first, then the largest."""
    rows = run.tables["redeliveries"]
    ranked = sorted(rows, key=lambda row: (bool(row["explained"]), -(row["count"] or 0)))
    return [
        Shown(
            partition=partition_name(row["topic"], row["partition"]),
            offsets=_range(row["first_offset"], row["last_offset"]),
            count=number(row["count"]),
            first=row["first_member"] or NOTHING,
            first_colour=members.colour(row["first_member"]),
            second=row["member"] or NOTHING,
            second_colour=members.colour(row["member"]),
            at=seconds(row["polled_at"], zero),
            after=_between(row["first_polled_at"], row["polled_at"]),
            committed=number(row["committed"]) if row["committed"] is not None else "none yet",
            explained=bool(row["explained"]),
            why=row.get("why") or "",
        )
        for row in ranked[:MOST_ROWS]
    ]


def _between(first: datetime | None, second: datetime | None) -> str:
    return NOTHING if first is None or second is None else duration(_ms(first, second))


def _range(first: Any, last: Any) -> str:
    return number(first) if first == last else f"{number(first)} – {number(last)}"


def fault_rows(run: Run, zero: datetime | None) -> list[Shown]:
    """Make the rows of the fault table, in the order of injection."""
    return [_fault_row(story, zero) for story in stories(run.history["faults"])[:MOST_ROWS]]


def _fault_row(story: FaultStory, zero: datetime | None) -> Shown:
    effect, text = _effect(story)
    return Shown(
        name=story.fault,
        target=story.target or NOTHING,
        resolved=story.resolved or NOTHING,
        parameters=clip(_parameters(story), 200),
        planned=seconds(story.injecting_at or story.planned_at, zero),
        injected=seconds(story.injected_at, zero),
        healed=seconds(story.healed_at, zero),
        lasted=_between(story.injected_at, story.healed_at),
        effect=effect,
        effect_text=text,
        evidence=clip(story.evidence, _MOST_TEXT),
    )


def _parameters(story: FaultStory) -> str:
    """Write them as "latency 200 ms, lasts 3 s": a name ends in its unit."""
    given = {name: value for name, value in story.parameters.items() if value is not None}
    return ", ".join(_parameter(name, value) for name, value in sorted(given.items()))


def _parameter(name: str, value: object) -> str:
    text = number(value) if isinstance(value, int | float) else str(value)
    what, _, unit = name.rpartition("_")
    if unit in _UNITS:
        return f"{what.replace('_', ' ')} {text} {unit}"
    return f"{name.replace('_', ' ')} {text}".strip()


def _effect(story: FaultStory) -> tuple[str, str]:
    if story.failed_at is not None:
        return "no", "failed"
    if story.took_effect is None:
        return "unknown", "not known" if story.injected_at else "never injected"
    return ("yes", "took effect") if story.took_effect else ("no", "no effect")


def left_out(total: int, name: str) -> str:
    """Say how many rows a table does not show, and where they are."""
    hidden = total - MOST_ROWS
    return "" if hidden <= 0 else f"{hidden:,} more rows are in {name}."


def rebalanced(run: Run) -> str:
    """Say in one line how often the group was rebalanced, and how many were evicted."""
    if not run.has("rebalances"):
        return "not derived"
    rows = run.tables["rebalances"]
    evicted = len(run.tables["evictions"])
    return f"{len(rows):,}" + (f", {plural(evicted, 'eviction')}" if evicted else "")
