"""The shared horizontal axis of all charts, and how labels are kept off each other on it.

Positions are percentages, so charts follow the width of the window while their text keeps its size.
Labels are spaced for the narrowest plot (`NARROWEST_PX`); on a wider one they only move apart.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from harness.report.load import JudgedRun

NARROWEST_PX: Final = 540
CHARACTER_PX: Final = 6.4  # of the 11 px chart font, a little generous
_LEAD: Final = timedelta(seconds=15)  # most that is shown from before steady state
_STEPS_S: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)
_MOST_TICKS: Final = 10
_Time = TypeVar("_Time", datetime, int)


@dataclass(frozen=True)
class Axis:
    """A window of time; `zero` is when steady state was reached."""

    start: datetime
    end: datetime
    zero: datetime

    def percent(self, at: datetime) -> float:
        """Position of a time, kept inside the plot."""
        share = (at - self.start) / (self.end - self.start)
        return round(100 * min(1.0, max(0.0, share)), 3)

    def span(self, from_at: datetime, to_at: datetime | None) -> tuple[float, float] | None:
        """Left edge and width of an interval; null if it lies outside. No end: to the edge."""
        to_at = self.end if to_at is None else to_at
        if to_at < self.start or from_at > self.end or to_at < from_at:
            return None
        left = self.percent(from_at)
        return left, round(self.percent(to_at) - left, 3)

    def holds(self, at: datetime) -> bool:
        return self.start <= at <= self.end

    def seconds(self, at: datetime) -> float:
        return (at - self.zero).total_seconds()

    def ticks(self) -> Iterator[tuple[float, str]]:
        length_s = (self.end - self.start).total_seconds()
        fitting = (step for step in _STEPS_S if length_s / step <= _MOST_TICKS)
        step = next(fitting, length_s / _MOST_TICKS)
        n = math.ceil(self.seconds(self.start) / step)
        while (at := self.zero + timedelta(seconds=n * step)) <= self.end:
            if at >= self.start:
                yield self.percent(at), f"{n * step:g}".replace("-", "−")
            n += 1


_TIMES: Final = {
    "ownership": ("from_at", "to_at"),
    "rebalances": ("started_at", "completed_at"),
    "evictions": ("evicted_at",),
    "heartbeats": ("at",),
}


def axis_of(run: JudgedRun) -> Axis | None:
    """Choose the window: a little before steady state to the last thing that happened."""
    found = [
        row[name] for table, names in _TIMES.items() for row in run.tables[table] for name in names
    ]
    # A fault is planned long before anything happens; only what was done to the system counts.
    found += [row["at"] for row in run.history["faults"] if row["phase"] != "planned"]
    times = [at for at in found if at is not None]
    if not times:
        return None
    first, last = min(times), max(times)
    zero = run.manifest.steady_at or first
    start = max(first, zero - _LEAD)
    return Axis(start, max(last, start + timedelta(seconds=1)), zero)


def text_px(text: str) -> float:
    """Estimate the width of a chart label, with a gap after it."""
    return len(text) * CHARACTER_PX + 8


def fits(text: str, width_percent: float) -> bool:
    return text_px(text) <= width_percent / 100 * NARROWEST_PX


# A label's row, which of its ends is at its position (start or end), and how far it keeps off that.
Placed = tuple[int, str, int]


def place(labels: Sequence[tuple[float, str]]) -> list[Placed]:
    """Give every label (position in percent, text) a row on which nothing else is in its way."""
    occupied: list[list[tuple[float, float]]] = []
    placed = []
    for percent, text in labels:
        x, long = percent / 100 * NARROWEST_PX, text_px(text)
        fits_there = x + long <= NARROWEST_PX
        begin, end = (x, x + long) if fits_there else (x - long, x)
        free = (
            row
            for row, taken in enumerate(occupied)
            if all(end <= left or right <= begin for left, right in taken)
        )
        row = next(free, len(occupied))
        if row == len(occupied):
            occupied.append([])
        occupied[row].append((begin, end))
        placed.append((row, "start", 4) if fits_there else (row, "end", -4))
    return placed


def stack(spans: Sequence[tuple[_Time, _Time]]) -> list[int]:
    """Give every interval the first row where it overlaps no earlier one; touching is none."""
    ends: list[_Time] = []
    rows = []
    for from_at, to_at in spans:
        row = next((n for n, end in enumerate(ends) if end <= from_at), len(ends))
        ends[row : row + 1] = [to_at]
        rows.append(row)
    return rows
