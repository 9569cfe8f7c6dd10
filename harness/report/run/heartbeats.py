"""Heartbeats as ticks, one row per member: steady ticks are health, a gap is a silence."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import median
from typing import Final

from harness.base.words import plural
from harness.report.formats import absent, duration, number, seconds
from harness.report.load import JudgedRun, Row
from harness.report.parts.member_names import Members
from harness.report.parts.shapes import PATH_WIDTH, Chart, curve, label, line
from harness.report.run.axis import Axis, place
from harness.report.run.backdrop import close_chart, open_chart

MOST_TICKS: Final = 5_000
MOST_MEMBERS: Final = 40
MOST_MARKS_PER_MEMBER: Final = 50
_OK: Final = 0
_REBALANCE_IN_PROGRESS: Final = 27
_TICK_PX: Final = 16
_MARK_ROW_PX: Final = 14
_SEEN_BY_MEMBER: Final = {
    "session_timed_out": "◇ session timed out, says the member",
    "max_poll_exceeded": "◇ max.poll.interval exceeded, says the member",
}


def heartbeat_chart(run: JudgedRun, axis: Axis, members: Members) -> Chart | None:
    beats = [row for row in run.tables["heartbeats"] if row["at"] is not None]
    if not beats:
        return None
    chart = open_chart(run, axis, "Heartbeats of each member over time")
    marks = _marks(run, axis)
    per_member: dict[str, list[Row]] = defaultdict(list)
    for row in _thinned(beats, chart):
        per_member[row["member"] or members.of_id(row["member_id"])].append(row)
    gaps_ms = _median_gaps_ms(beats)
    shown = [name for name in members.names if name in per_member or name in marks]
    shown += sorted(set(per_member) - set(shown))
    if len(shown) > MOST_MEMBERS:
        chart.left_out.append(f"{len(shown) - MOST_MEMBERS:,} more members")
    for name in shown[:MOST_MEMBERS]:
        _row(chart, axis, name, per_member[name], marks.get(name, []), gaps_ms.get(name))
    return close_chart(chart, run, axis)


def _row(
    chart: Chart,
    axis: Axis,
    name: str,
    beats: Sequence[Row],
    marks: list[tuple[datetime, str]],
    gap_ms: float | None,
) -> None:
    marks = sorted(marks)
    if len(marks) > MOST_MARKS_PER_MEMBER:
        chart.left_out.append(f"{len(marks) - MOST_MARKS_PER_MEMBER:,} more marks of {name}")
        marks = marks[:MOST_MARKS_PER_MEMBER]
    labels = [(axis.percent(at), text) for at, text in marks]
    places = place(labels)
    label_rows = max((row + 1 for row, *_ in places), default=0)
    note = "" if gap_ms is None else f"every {duration(gap_ms)}"
    height = max(_TICK_PX + 12 + label_rows * _MARK_ROW_PX, 36)
    y = chart.lane(name, height, note) + 6
    ticks_y = y + label_rows * _MARK_ROW_PX
    for css, codes in (("beat", {_OK}), ("beat rebalancing", {_REBALANCE_IN_PROGRESS})):
        chosen = (row["at"] for row in beats if row["error_code"] in codes)
        places_x = [axis.percent(at) * PATH_WIDTH / 100 for at in chosen if axis.holds(at)]
        if places_x:
            ticks = "".join(f"M{x:.2f} 0v{_TICK_PX}" for x in places_x)
            chart.shapes.append(curve(ticks_y, _TICK_PX, ticks, css))
    for beat in beats:
        at, error = beat["at"], beat["error_code"]
        if error not in (_OK, _REBALANCE_IN_PROGRESS) and axis.holds(at):
            code = "no answer" if error is None else f"error {error}"
            title, x = f"{code} at {seconds(at, axis.zero)}", axis.percent(at)
            chart.shapes.append(line(x, ticks_y - 2, _TICK_PX + 4, "beat-error", title))
    for (x, text), (row, anchor, dx) in zip(labels, places, strict=True):
        baseline = ticks_y - 4 - row * _MARK_ROW_PX
        css = "evicted" if text.startswith("✕") else "noticed"
        down_px = ticks_y + _TICK_PX - baseline + 9
        chart.marks.append(line(x, baseline - 9, down_px, f"{css}-mark"))
        chart.labels.append(label(x, baseline, text, f"{css} halo", anchor, dx))


def _marks(run: JudgedRun, axis: Axis) -> dict[str, list[tuple[datetime, str]]]:
    marks: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    for row in run.tables["evictions"]:
        if row["evicted_at"] is not None and axis.holds(row["evicted_at"]):
            marks[row["member"]].append((row["evicted_at"], f"✕ evicted{_silence(row)}"))
    for row in run.history["client_events"]:
        at = row["event_at"] or row["observed_at"]
        if row["event"] in _SEEN_BY_MEMBER and at is not None and axis.holds(at):
            marks[row["member"]].append((at, _SEEN_BY_MEMBER[row["event"]]))
    return dict(marks)


def _silence(row: Row) -> str:
    """How long a member had been silent; from the least to the most where no line says."""
    most, least = row["silence_ms"], row.get("silence_least_ms")
    if absent(most):
        return ""
    texts = dict.fromkeys(number(each) for each in (least, most) if not absent(each))
    return f" after {' to '.join(texts)} ms"


def _median_gaps_ms(beats: Iterable[Row]) -> dict[str, float]:
    """Median gap of each member's steady heartbeats: those with nothing in their way."""
    gaps: dict[str, list[float]] = defaultdict(list)
    for row in beats:
        if row["steady"] and not absent(row["gap_ms"]):
            gaps[row["member"]].append(row["gap_ms"])
    return {member: median(values) for member, values in gaps.items()}


def _thinned(beats: list[Row], chart: Chart) -> list[Row]:
    """Keep every n-th of the good ones where there are too many; the others tell the story."""
    telling = [row for row in beats if row["error_code"] != _OK]
    good = [row for row in beats if row["error_code"] == _OK]
    room = max(MOST_TICKS - len(telling), MOST_TICKS // 2)
    every = -(-len(good) // room)
    kept = [*good[:: max(every, 1)], *telling[:MOST_TICKS]]
    if len(kept) < len(beats):
        dropped = plural(len(beats) - len(kept), "heartbeat")
        chart.left_out.append(f"{dropped}: of the good ones only every {every}th is drawn")
    return sorted(kept, key=lambda row: row["at"])
