"""Spans of time, and which of them touch another, without a look at every one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import datetime
from itertools import accumulate
from typing import cast

from harness.check.rows import Row

Numbered = tuple[int, Row]


class Spans:
    """Rows with two ends in time, both of which belong to them. Each has a number.

    In order of their beginnings, all that begin too late are behind one place. The latest end so
    far only grows, so all before another place end too early. A search halves what is left, and
    only what lies between the two places is looked at.
    """

    def __init__(self, rows: Iterable[Numbered], begin: str, end: str) -> None:
        self._rows = sorted(rows, key=lambda each: cast("datetime", each[1][begin]))
        self._begins: list[datetime] = [row[begin] for _, row in self._rows]
        self._latest: list[datetime] = list(accumulate((row[end] for _, row in self._rows), max))
        self._end = end

    def __bool__(self) -> bool:
        return bool(self._rows)

    def touching(self, begin: datetime, end: datetime) -> list[Numbered]:
        """Rows that have a moment in common with the time from `begin` to `end`."""
        first = bisect_left(self._latest, begin)
        behind = bisect_right(self._begins, end)
        return [each for each in self._rows[first:behind] if each[1][self._end] >= begin]


def in_order(found: Iterable[Numbered]) -> list[Row]:
    """The rows by their numbers: of a sum the last digit depends on the order."""
    return [row for _, row in sorted(found, key=lambda each: each[0])]
