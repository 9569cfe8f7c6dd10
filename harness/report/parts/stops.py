"""Where the time went while a partition was stopped: its parts, per rebalance and partition."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import SimpleNamespace as Shown
from typing import Final

from harness.base.words import plural
from harness.report.formats import NOTHING, duration, number, partition_name
from harness.report.load import JudgedRun, Row
from harness.report.parts.faults import span
from harness.report.parts.shapes import Shape, bar

MOST_CHANGES: Final = 40
MOST_PARTITIONS: Final = 24
# Less than this share of a stop is drawn, but not written beside it.
_WORTH_SAYING: Final = 0.01


@dataclass(frozen=True)
class PartKind:
    """A part that a stop can have: its column in `stops`, its name, and what it is."""

    column: str
    name: str
    css: str
    meaning: str


PARTS: Final = (
    PartKind("idle_ms", "idle", "part-idle", "waiting for records anyway"),
    PartKind(
        "commit_ms", "commit", "part-commit", "kept, its member waiting for a commit's answer"
    ),
    PartKind("detection_ms", "detection", "part-detection", "until the coordinator noticed"),
    PartKind("notice_ms", "notice", "part-notice", "until the member heard by its heartbeat"),
    PartKind("revoke_ms", "revoke", "part-revoke", "until it gave up and rejoined"),
    PartKind("join_ms", "join", "part-join", "until every member had joined"),
    PartKind("sync_ms", "sync", "part-sync", "until the new owner had its assignment"),
    PartKind("first_fetch_ms", "first fetch", "part-fetch", "until it had records"),
    PartKind("other_ms", "other", "part-other", "not on record"),
)


def changes(run: JudgedRun) -> list[Shown]:
    """Sort the stops to what they came from, in order of time, scaled to the longest of all."""
    groups = _groups(run.tables["stops"])[:MOST_CHANGES]
    longest_ms = max((row["ms"] for rows in groups for row in rows), default=0.0)
    return [_change(rows, longest_ms) for rows in groups]


def stopped(run: JudgedRun) -> list[Row]:
    """Those that stopped from the first fault on: to gather and to end is no standstill."""
    from_at, to_at = span(run)
    rows = run.tables["stops"]
    rows = [row for row in rows if row["stopped"] and row["from_at"] and row["to_at"]]
    return [row for row in rows if from_at <= row["to_at"] and row["from_at"] < to_at]


def longest(run: JudgedRun) -> Row | None:
    return max(stopped(run), key=lambda row: float(row["ms"]), default=None)


def longest_ms(run: JudgedRun) -> float | None:
    """The longest of them, 0 if there is none; null where stops were not derived."""
    row = longest(run)
    if row is not None:
        return float(row["ms"])
    return 0.0 if run.has("stops") else None


def longest_by(run: JudgedRun, *columns: str) -> dict[tuple[object, ...], Row]:
    """The longest stop for each value of these columns, among all that stopped."""
    found: dict[tuple[object, ...], Row] = {}
    for row in run.tables["stops"]:
        key = tuple(row[column] for column in columns)
        if row["stopped"] and (key not in found or row["ms"] > found[key]["ms"]):
            found[key] = row
    return found


def sentence(run: JudgedRun) -> str:
    """The longest standstill and its parts in one line."""
    if not run.has("stops"):
        return "not derived"
    row = longest(run)
    if row is None:
        return "no partition stopped"
    where = partition_name(row["topic"], row["partition"])
    return f"{duration(row['ms'])} of {where} ({_about(row)}): {said(row)}"


def said(row: Row) -> str:
    """Write the parts of a stop that are worth it, in order of time."""
    shown = [
        f"{kind.name} {duration(row[kind.column])}"
        for kind in PARTS
        if (row[kind.column] or 0) >= max(1.0, _WORTH_SAYING * row["ms"])
    ]
    return ", ".join(shown) or NOTHING


def _groups(stops: Iterable[Row]) -> list[list[Row]]:
    def key(row: Row) -> tuple[bool, int, str]:
        alone = row["episode"] is None
        return (alone, row["episode"] or 0, f"{row['cause_at']} {row['subject']}" if alone else "")

    grouped = [list(rows) for _, rows in groupby(sorted(stops, key=key), key)]
    return sorted(grouped, key=lambda rows: min(row["from_at"] for row in rows))


def _about(row: Row) -> str:
    """Name the cause: "kill-consumer member-3", "join of member-4"."""
    cause, subject = row["cause"] or "unknown cause", row["subject"]
    if not subject:
        return str(cause)
    return f"{cause} of {subject}" if cause == row["trigger"] else f"{cause} {subject}"


def _change(rows: Sequence[Row], longest_ms: float) -> Shown:
    still = sorted((row for row in rows if row["stopped"]), key=lambda row: -row["ms"])
    first = still[0] if still else rows[0]
    generations = sorted({row["generation"] for row in rows if row["generation"] is not None})
    when = "Without a rebalance"
    if generations:
        low, high = generations[0], generations[-1]
        name = "Epoch" if first["protocol"] == "consumer" else "Generation"
        when = f"{name} {number(low) if low == high else f'{low}–{high}'}"
    again = sum(row["redelivered"] or 0 for row in rows)
    summary = f"{plural(len(still), 'partition')} stopped"
    summary += f", {duration(still[0]['ms'])} at most" if still else ""
    summary += f"; {plural(again, 'record')} redelivered" if again else ""
    return Shown(
        title=f"{when}: {_about(first)}",
        summary=summary,
        rows=[(row, list(parts(row, longest_ms))) for row in still[:MOST_PARTITIONS]],
        notes=list(_notes(rows, still)),
    )


def _notes(rows: Sequence[Row], still: Sequence[Row]) -> Iterable[str]:
    if len(still) > MOST_PARTITIONS:
        yield f"{len(still) - MOST_PARTITIONS:,} more are in tables/stops.parquet."
    others = [row for row in rows if not row["stopped"]]
    if others:
        most = max(row["ms"] for row in others)
        yield (
            f"{plural(len(others), 'partition')} kept going: {duration(most)} at most between two "
            f"polls with records, {duration(others[0]['usual_ms'])} with nothing going on."
        )
    waited = {row["waited_for"] for row in still if row["waited_for"]}
    if waited:
        yield f"The last to join was {' and '.join(sorted(waited))}."


def parts(row: Row, longest_ms: float) -> Iterator[Shape]:
    """Place a stop's parts one after the other, on the scale of `longest_ms`."""
    before_ms = 0.0
    for kind in PARTS:
        ms = row[kind.column] or 0.0
        if ms > 0:
            yield part(kind.css, kind.name, before_ms, ms, longest_ms)
        before_ms += ms


def part(css: str, name: str, before_ms: float, ms: float, longest_ms: float) -> Shape:
    """One part of a bar, on the scale of the longest bar."""
    left, width = (round(100 * each / longest_ms, 2) for each in (before_ms, ms))
    return bar(left, width, 0, 12, css, f"{name} {duration(ms)}")
