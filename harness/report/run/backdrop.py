"""What every chart shares: fault windows and rebalances behind the rows, the axis below them."""

from collections.abc import Sequence
from datetime import datetime

from harness.base.words import plural
from harness.report.formats import NOTHING, duration, generation_word, number, seconds
from harness.report.load import JudgedRun, Row
from harness.report.parts.faults import FaultStory, stories
from harness.report.parts.shapes import Chart, bar, label, line
from harness.report.run.axis import Axis, fits, place

_LABEL_ROW_PX = 15
_MOST_GENERATION_ROWS = 2
_AXIS_PX = 22
_MOST_REBALANCES = 300


def open_chart(run: JudgedRun, axis: Axis, label: str) -> Chart:
    chart = Chart(label)
    _fault_lane(chart, axis, stories(run.history["faults"]))
    _rebalance_lane(chart, axis, run.tables["rebalances"])
    return chart


def close_chart(chart: Chart, run: JudgedRun, axis: Axis) -> Chart:
    """Put fault windows and rebalances behind all lanes, and the axis below them."""
    height = chart.height
    for story in stories(run.history["faults"]):
        _fault_window(chart, axis, story, height)
    rebalances = run.tables["rebalances"]
    rows = list(zip(rebalances, [*rebalances, None][1:], strict=True))
    if len(rows) > _MOST_REBALANCES:
        chart.left_out.append(f"{plural(len(rows) - _MOST_REBALANCES, 'rebalance')}")
    for row, next_row in rows[:_MOST_REBALANCES]:
        _rebalance_window(chart, axis, row, next_row, height)
    for percent, text in axis.ticks():
        zero = " zero" if text == "0" else ""
        chart.behind.append(line(percent, 0, height, f"grid{zero}"))
        anchor = "middle" if 2 < percent < 98 else "start" if percent <= 2 else "end"
        chart.labels.append(label(percent, height + 15, f"{text} s", "tick", anchor))
    chart.height += _AXIS_PX
    return chart


def _fault_lane(chart: Chart, axis: Axis, faults: Sequence[FaultStory]) -> None:
    times = [(story.label, story.injected_at) for story in faults]
    labels = [(axis.percent(at), text) for text, at in times if at and axis.holds(at)]
    _labelled(chart, "faults", "fault halo", labels)


def _labelled(
    chart: Chart, name: str, css: str, labels: Sequence[tuple[float, str]], most: int = 1_000
) -> int:
    """Add a lane of labels, in `most` rows at most; how many were left out of these."""
    places = place(labels)
    rows = min(most, max((row + 1 for row, *_ in places), default=0))
    y = chart.lane(name, rows * _LABEL_ROW_PX + 6) if rows else 0
    for (percent, text), (row, anchor, dx) in zip(labels, places, strict=True):
        if row < rows:
            baseline = y + 13 + row * _LABEL_ROW_PX
            chart.labels.append(label(percent, baseline, text, css, anchor, dx))
    return sum(row >= rows for row, *_ in places)


def _fault_window(chart: Chart, axis: Axis, story: FaultStory, height: float) -> None:
    injected, healed = story.injected_at, story.healed_at
    if injected is None:
        return
    span = axis.span(injected, healed if healed or story.lasts else injected)
    if span is None:
        return
    title = (
        f"{story.fault}: {story.label}, injected at {seconds(injected, axis.zero)}, "
        f"healed at {seconds(healed, axis.zero)}"
    )
    times = {"injected": injected.isoformat(), "healed": healed.isoformat() if healed else ""}
    data = {"fault": story.fault, **times}
    chart.behind.append(bar(*span, 0, height, "fault-window", title, data))
    chart.marks.append(line(span[0], 0, height, "fault-edge", title))
    if healed is not None:
        chart.marks.append(line(round(sum(span), 3), 0, height, "fault-edge healed", title))


def _rebalance_lane(chart: Chart, axis: Axis, rebalances: Sequence[Row]) -> None:
    """Number the generations; where they crowd, some numbers are left out, never the marks."""
    labels = []
    for row in rebalances:
        at = row["completed_at"] or row["started_at"]
        if at is not None and axis.holds(at):
            name = NOTHING if row["generation"] is None else str(row["generation"])
            letter = generation_word(row["protocol"]).rpartition(" ")[2][0]
            labels.append((axis.percent(at), f"{letter}{name}"))
    if hidden := _labelled(chart, "rebalances", "generation halo", labels, _MOST_GENERATION_ROWS):
        chart.left_out.append(f"{plural(hidden, 'generation number')} where they would overlap")


def _rebalance_window(
    chart: Chart, axis: Axis, row: Row, next_row: Row | None, height: float
) -> None:
    started: datetime | None = row["started_at"] or row["completed_at"]
    if started is None:
        return
    completed: datetime | None = row["completed_at"]
    # One that was never completed lasted until the next one took its place.
    end = completed or (next_row["started_at"] if next_row else None)
    span = axis.span(started, end)
    if span is None:
        return
    took = duration(row["duration_ms"])
    name = f"{generation_word(row['protocol'])} {number(row['generation'])}"
    title = f"{name}: {took}, {row['reason'] or 'no reason known'}"
    chart.behind.append(bar(*span, 0, height, "rebalance-window", title))
    if completed is not None and axis.holds(completed):
        chart.marks.append(line(axis.percent(completed), 0, height, "rebalance-mark", title))


def phase_lane(chart: Chart, run: JudgedRun, axis: Axis) -> None:
    """Name the phases of the run along the top, where there is room for the name."""
    shown = [(phase, axis.span(phase.from_at, phase.to_at)) for phase in run.manifest.phases]
    spans = [(phase.name, span) for phase, span in shown if span is not None and span[1] > 0]
    if not spans:
        return
    y = chart.lane("phases", 18)
    for name, (left, width) in spans:
        chart.shapes.append(bar(left, width, y + 2, 14, "phase", name))
        if fits(name, width):
            chart.labels.append(label(left, y + 13, name, "phase-name", dx=4))
