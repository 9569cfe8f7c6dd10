"""What became of the records: how many were acknowledged, read by no member, read twice, and when.

Ranges only: a run of a million records has a few thousand of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from harness.report.formats import number
from harness.report.load import JudgedRun

Partition = tuple[str, int]
Range = tuple[int, int]

MAX_BINS: Final = 300


@dataclass(frozen=True)
class RecordCounts:
    """Counts over the whole run.

    `lost`: acknowledged, before the last position that any member read, and read by none.
    `unseen`: acknowledged after that position, so no member had come to it yet.
    Null where the file that would show it is missing.
    """

    acknowledged: int | None
    lost: int | None
    unseen: int | None
    redelivered: int | None
    unexplained: int | None
    fetched_only: bool = False  # only what was fetched is known, not what was processed

    @property
    def lost_is(self) -> str:
        return "never fetched" if self.fetched_only else "lost"

    @property
    def again_is(self) -> str:
        return "fetched again" if self.fetched_only else "redelivered"


@dataclass(frozen=True)
class Throughput:
    """Records processed per second, in bins of `bin_s` seconds from `start` on."""

    start: datetime
    bin_s: float
    per_partition: dict[Partition, list[float]]

    @property
    def total(self) -> list[float]:
        return [sum(values) for values in zip(*self.per_partition.values(), strict=True)]

    @property
    def strip_top(self) -> float:
        """Rate at which a partition's strip is cut off: twice the usual one.

        After a standstill a backlog is read at many times the usual rate; drawn on one scale with
        it, ordinary work would look like a standstill.
        """
        busy = [rate for rates in self.per_partition.values() for rate in rates if rate > 0]
        return 2 * median(busy) if busy else 0.0


def records(run: JudgedRun) -> RecordCounts:
    acknowledged = run.sends.filter(pc.equal(run.sends["outcome"], pa.scalar("acknowledged")))
    read = _ranges(run.deliveries)
    lost = unseen = 0
    for partition, ranges in _ranges(acknowledged).items():
        covered = read.get(partition, [])
        end = covered[-1][1] if covered else -1
        missing = list(subtract(ranges, covered))
        lost += sum(min(last, end) - first + 1 for first, last in missing if first <= end)
        unseen += sum(last - max(first, end + 1) + 1 for first, last in missing if last > end)
    again = run.tables["redeliveries"]
    sent, read_too = run.has("sends"), run.has("sends", "deliveries")
    known = run.has("redeliveries")
    return RecordCounts(
        acknowledged=pc.sum(acknowledged["count"]).as_py() or 0 if sent else None,
        lost=lost if read_too else None,
        unseen=unseen if read_too else None,
        redelivered=sum(row["count"] or 0 for row in again) if known else None,
        unexplained=sum(row["count"] or 0 for row in again if not row["explained"])
        if known
        else None,
        fetched_only=run.fetched_only,
    )


def fate(count: RecordCounts) -> str:
    if {count.acknowledged, count.lost, count.redelivered} == {None}:
        return "not recorded"
    text = (
        f"{number(count.acknowledged)} acknowledged, {number(count.lost)} {count.lost_is}, "
        f"{number(count.redelivered)} {count.again_is}"
    )
    return f"{text} ({count.unexplained:,} unexplained)" if count.unexplained else text


def merge(ranges: Iterable[Range]) -> list[Range]:
    """Join ranges that touch or overlap, in order."""
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def subtract(ranges: Sequence[Range], covered: Sequence[Range]) -> Iterable[Range]:
    """Yield what of `ranges` is not in `covered`; both merged."""
    at = 0
    for first, last in ranges:
        while at < len(covered) and covered[at][1] < first:
            at += 1
        next_first, look = first, at
        while look < len(covered) and covered[look][0] <= last:
            if covered[look][0] > next_first:
                yield next_first, covered[look][0] - 1
            next_first = covered[look][1] + 1
            look += 1
        if next_first <= last:
            yield next_first, last


def throughput(run: JudgedRun, start: datetime, end: datetime) -> Throughput:
    """Bin the processed deliveries per partition; a bin is 1 s, wider only for long runs."""
    length_s = max((end - start).total_seconds(), 1.0)
    bin_s = float(max(1, -(-int(length_s) // MAX_BINS)))
    bins = int(length_s // bin_s) + 1
    done = run.deliveries.filter(pc.is_valid(run.deliveries["processed_at"]))
    # Microseconds as plain integers: floor division of timestamps loses the ones before `start`.
    processed_us = pc.cast(done["processed_at"], pa.int64())
    start_us = (start - datetime.fromtimestamp(0, tz=start.tzinfo)) // timedelta(microseconds=1)
    past_bins = pc.divide(pc.cast(pc.subtract(processed_us, start_us), pa.float64()), bin_s * 1e6)
    table = done.append_column("bin", pc.cast(pc.floor(past_bins), pa.int64()))
    summed = table.group_by(["topic", "partition", "bin"]).aggregate([("count", "sum")])
    counts: dict[Partition, list[float]] = defaultdict(lambda: [0.0] * bins)
    for row in summed.to_pylist():
        if 0 <= row["bin"] < bins:
            counts[row["topic"], row["partition"]][row["bin"]] += row["count_sum"] / bin_s
    return Throughput(start, bin_s, dict(counts))


def _ranges(table: pa.Table) -> dict[Partition, list[Range]]:
    found: dict[Partition, list[Range]] = defaultdict(list)
    columns = [
        table[name].to_pylist() for name in ("topic", "partition", "first_offset", "last_offset")
    ]
    for topic, partition, first, last in zip(*columns, strict=True):
        if first is not None and last is not None:
            found[topic, partition].append((first, last))
    return {partition: merge(ranges) for partition, ranges in found.items()}
