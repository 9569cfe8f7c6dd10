"""The ownership timeline: who held which partition when, and how much was processed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final

from harness.base.words import plural
from harness.report.formats import NOTHING, duration, number, partition_name, seconds
from harness.report.load import JudgedRun, Row
from harness.report.parts.member_names import Members
from harness.report.parts.record_counts import Partition, Throughput, throughput
from harness.report.parts.shapes import PATH_WIDTH, Chart, bar, curve, label
from harness.report.parts.stops import longest_by
from harness.report.run.axis import Axis, fits, stack
from harness.report.run.backdrop import close_chart, open_chart, phase_lane

MOST_BARS: Final = 2_000
_BAR_PX: Final = 15
_STRIP_PX: Final = 14
_TOTAL_PX: Final = 56


def timeline(run: JudgedRun, axis: Axis, members: Members, most: int = 24) -> Chart | None:
    """The chart of at most so many partitions; none where nothing is known of any."""
    rates = throughput(run, axis.start, axis.end)
    held = _held(run.tables["ownership"])
    partitions = sorted(set(held) | set(rates.per_partition))
    if not partitions:
        return None
    chart = open_chart(run, axis, "Ownership and throughput of each partition over time")
    phase_lane(chart, run, axis)
    coordinator_lane(chart, run, axis)
    still = longest_by(run, "topic", "partition")
    shown = _worth_showing(partitions, still, chart, most)
    held = _capped({partition: held.get(partition, []) for partition in shown}, chart)
    for partition in shown:
        name = partition_name(*partition)
        note = f"standstill {duration(still[partition]['ms'])}" if partition in still else ""
        rows = stack([(row["from_at"], row["to_at"] or axis.end) for row in held[partition]])
        depth = (max(rows, default=0) + 1) * (_BAR_PX + 1)
        y = chart.lane(name, depth + _STRIP_PX + 10, note, name)
        for owned, place in zip(held[partition], rows, strict=True):
            _owner(chart, axis, members, owned, y + 4 + place * (_BAR_PX + 1))
        if processed := rates.per_partition.get(partition):
            title = f"records processed per second, highest {number(max(processed))}"
            drawn = step_path(processed, rates.strip_top, _STRIP_PX, bin_width(axis, rates))
            chart.shapes.append(curve(y + 5 + depth, _STRIP_PX, drawn, "rate", title))
    if rates.per_partition:
        _total_lane(chart, axis, rates)
    return close_chart(chart, run, axis)


def coordinator_lane(chart: Chart, run: JudgedRun, axis: Axis) -> None:
    """Show which broker coordinated the group, as the observer saw it change."""
    seen = [
        (row["at"], row["coordinator"])
        for row in run.history["topology"]
        if row["what"] == "group" and row["coordinator"] is not None and row["at"] is not None
    ]
    changes = [next(each) for _, each in groupby(seen, key=itemgetter(1))]
    y = chart.lane("coordinator", 20) if changes else 0
    ends = [*(at for at, _ in changes), None][1:]
    for (at, broker), end in zip(changes, ends, strict=True):
        span = axis.span(at, end)
        if span is None:
            continue
        name = f"broker {broker}"
        since = seconds(at, axis.zero)
        chart.shapes.append(bar(*span, y + 3, 14, "coordinator", f"{name} since {since}"))
        if fits(name, span[1]):
            chart.labels.append(label(span[0], y + 14, name, "phase-name", dx=4))


def _owner(chart: Chart, axis: Axis, members: Members, row: Row, y: float) -> None:
    """Draw when a member had a partition, and from when on it had lost it unknowingly."""
    end: datetime = row["to_at"] or axis.end
    removed: datetime | None = row["removed_at"]
    lost_at = max(removed, row["from_at"]) if removed is not None and removed < end else None
    colour = members.colour(row["member"])
    title = _title(axis, members, row)
    span = axis.span(row["from_at"], lost_at or end)
    if span is not None:
        chart.shapes.append(bar(*span, y, _BAR_PX, f"owner {colour}", title))
        name = row["member"] or NOTHING
        if fits(name, span[1]):
            chart.labels.append(label(span[0], y + 11, name, "owner-name", dx=5))
    zombie = axis.span(lost_at, end) if lost_at else None
    if zombie is not None:
        chart.shapes.append(bar(*zombie, y, _BAR_PX, f"owner zombie {colour}", title))
        chart.shapes.append(bar(*zombie, y, _BAR_PX, "hatch", title))


def _title(axis: Axis, members: Members, row: Row) -> str:
    ended = f"{seconds(row['to_at'], axis.zero)} ({row['ended_by'] or '?'})"
    title = (
        f"{row['member'] or NOTHING}, generation {number(row['generation'])}: "
        f"from {seconds(row['from_at'], axis.zero)} to {ended if row['to_at'] else 'the end'}"
    )
    if row["removed_at"] is not None:
        title += f"; removed by the coordinator at {seconds(row['removed_at'], axis.zero)}"
    return title


def bin_width(axis: Axis, rates: Throughput) -> float:
    """Width of one bin in path coordinates."""
    return PATH_WIDTH * rates.bin_s / (axis.end - axis.start).total_seconds()


def step_path(values: Sequence[float], highest: float, height: float, width: float) -> str:
    """Draw values as steps from the bottom; equal neighbours are one step."""
    if highest <= 0:
        return f"M0 {height}H{PATH_WIDTH}"
    parts = [f"M0 {height:g}"]
    level: float | None = None
    for n, value in enumerate(values):
        y = round(height * (1 - min(1.0, value / highest)), 1)
        if y != level:
            parts.append(f"H{min(n * width, PATH_WIDTH):.1f}V{y:g}")
            level = y
    return "".join([*parts, f"H{PATH_WIDTH}V{height:g}Z"])


def _total_lane(chart: Chart, axis: Axis, rates: Throughput) -> None:
    total = rates.total
    highest = max(total, default=0.0)
    note = "per second" if rates.bin_s == 1 else f"per second, over {rates.bin_s:g} s"
    y = chart.lane("all records", _TOTAL_PX + 12, note) + 8
    title = f"records processed per second over all partitions, highest {number(highest)}"
    drawn = step_path(total, highest, _TOTAL_PX, bin_width(axis, rates))
    chart.shapes.append(curve(y, _TOTAL_PX, drawn, "rate total", title))
    chart.labels.append(label(0, y + 9, f"{number(highest)} / s", "tick halo", dx=4))


def _held(ownership: Iterable[Row]) -> dict[Partition, list[Row]]:
    held: dict[Partition, list[Row]] = defaultdict(list)
    for row in ownership:
        if row["from_at"] is not None:
            held[row["topic"], row["partition"]].append(row)
    return {key: sorted(rows, key=lambda row: row["from_at"]) for key, rows in held.items()}


def _worth_showing(
    partitions: list[Partition], still: Mapping[tuple[object, ...], Row], chart: Chart, most: int
) -> list[Partition]:
    """Keep those that stopped for longest where there are too many to read."""
    ranked = sorted(partitions, key=lambda each: -still[each]["ms"] if each in still else 0.0)
    if left_out := len(ranked[most:]):
        chart.left_out.append(f"the {left_out:,} partitions that stopped least")
    return sorted(ranked[:most])


def _capped(held: dict[Partition, list[Row]], chart: Chart) -> dict[Partition, list[Row]]:
    """Drop ownerships evenly where there are more than a page can hold."""
    count = sum(map(len, held.values()))
    if count <= MOST_BARS:
        return held
    most = MOST_BARS // len(held)
    kept = {partition: rows[:most] for partition, rows in held.items()}
    dropped = count - sum(map(len, kept.values()))
    chart.left_out.append(f"{plural(dropped, 'ownership')} after the first {most:,} per partition")
    return kept
