"""What the tables of a run's page show beside the columns of a row."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from harness.experiment import Verdict
from harness.report.formats import NOTHING, absent, duration, number
from harness.report.load import JudgedRun, Row
from harness.report.outcome import Standing, is_excused, standing, verdict_of
from harness.report.parts import stops
from harness.report.parts.faults import FaultStory
from harness.report.parts.member_names import Members
from harness.report.parts.shapes import Shape, bar

_UNITS: Final = ("s", "ms", "us")


def is_folded(row: Row) -> bool:
    """Whether a verdict holds as expected and excuses nothing: a page names it and no more."""
    held = standing(row) is Standing.AS_EXPECTED and verdict_of(row) == Verdict.HOLDS
    return held and not is_excused(row)


def measured(row: Row) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict with their names; one without a name where all are alike."""
    values = {name: row[f"measured_{name}"] for name in ("min", "p50", "max")}
    if all(map(absent, values.values())):
        return ()
    texts = [(name, number(value)) for name, value in values.items()]
    alike = len({text for _, text in texts}) == 1
    return (("", texts[0][1]),) if alike else tuple(texts)


def gauge(row: Row) -> Sequence[Shape]:
    """A drawing of a measurement against its bound; none without both, or of a single point."""
    values = [row[f"measured_{name}"] for name in ("min", "p50", "max")]
    low, high = row["bound_low"], row["bound_high"]
    if any(map(absent, values)) or (absent(low) and absent(high)):
        return ()
    given = [value for value in (*values, low, high) if not absent(value)]
    if not all(abs(value) < float("inf") for value in given) or min(given) == max(given):
        return ()
    margin = 0.12 * (max(given) - min(given))
    start, length = min(given) - margin, max(given) - min(given) + 2 * margin

    def percent(value: Any) -> float:
        return float(round(100 * (value - start) / length, 2))

    def box(left: float, right: float, y: float, height: float, css: str) -> Shape:
        return bar(left, max(right - left, 0.8), y, height, css)

    left, right = 0.0 if absent(low) else percent(low), 100.0 if absent(high) else percent(high)
    smallest, middle, largest = map(percent, values)
    dot = {"class": "gauge-middle", "cx": f"{middle}%", "cy": 6, "r": 3}
    return (
        box(left, right, 0, 12, "gauge-bound"),
        box(smallest, largest, 5, 2, "gauge-span"),
        Shape("circle", dot),
    )


def link(run: JudgedRun, evidence: str | None) -> str:
    """Return a relative address of the evidence, or nothing if it is no file of this run."""
    if not evidence:
        return ""
    path = PurePosixPath(evidence.split("#")[0])
    if path.is_absolute() or ".." in path.parts or not (run.path / path).exists():
        return ""
    return quote(str(path))


def trigger_member(row: Row, members: Members) -> str:
    named, member_id = row["trigger_member"], row["trigger_member_id"]
    return named or (members.of_id(member_id) if member_id else "")


def longest_rebalance_ms(run: JudgedRun) -> float:
    lasted = (
        (row["started_at"], row["completed_at"] or row["synced_at"] or row["joined_at"])
        for row in run.tables["rebalances"]
    )
    return max((_ms(at, end) for at, end in lasted if at and end), default=0.0)


def steps(row: Row, longest_ms: float) -> list[Shape]:
    """Split a rebalance: all joined, leader's assignment in, last member has its part."""
    started: datetime | None = row["started_at"]
    if started is None or longest_ms <= 0:
        return []
    # In KIP-848: target computed, every member at its epoch, last change sent.
    names = ("target", "epoch") if row["protocol"] == "consumer" else ("join", "sync")
    columns = {"joining": "joined_at", "syncing": "synced_at", "telling": "completed_at"}
    found, at = [], started
    for (css, column), name in zip(columns.items(), (*names, "assign"), strict=True):
        end: datetime | None = row[column]
        if end is None or end < at:
            continue
        found.append(stops.part(css, name, _ms(started, at), _ms(at, end), longest_ms))
        at = end
    return found


def _ms(from_at: datetime, to_at: datetime) -> float:
    return (to_at - from_at).total_seconds() * 1_000


def redeliveries(run: JudgedRun) -> list[Row]:
    """The unexplained first, then the largest."""
    rows = run.tables["redeliveries"]
    return sorted(rows, key=lambda row: (bool(row["explained"]), -(row["count"] or 0)))


def between(first: datetime | None, second: datetime | None) -> str:
    return NOTHING if first is None or second is None else duration(_ms(first, second))


def span_of(first: Any, last: Any) -> str:
    return number(first) if first == last else f"{number(first)} – {number(last)}"


def parameters(story: FaultStory) -> str:
    """Write them as "latency 200 ms, lasts 3 s": a name ends in its unit."""
    said = []
    for name, value in sorted(story.parameters.items()):
        if value is None or isinstance(value, dict | list) or name in ("kind", "target"):
            continue  # rules read what it does to the group, and other columns have these two
        text = number(value) if isinstance(value, int | float) else str(value)
        what, _, unit = name.rpartition("_")
        if unit not in _UNITS:
            what, unit = name, ""
        said += [f"{what.replace('_', ' ')} {text} {unit}".strip()]
    return ", ".join(said)


def effect(story: FaultStory) -> tuple[str, str]:
    """A sign and words: whether a fault took effect."""
    if story.failed_at is not None:
        return "✗", "failed"
    if story.took_effect is None:
        return "?", "not known" if story.injected_at else "never injected"
    return ("✓", "took effect") if story.took_effect else ("✗", "no effect")
