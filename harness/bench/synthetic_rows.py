"""Rows of a made-up history that follow from the plan alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.bench.synthetic_plan import TOPIC, moment

NOTHING: Final = -1  # what a coordinator answers where nothing is committed


def positions(partitions: Sequence[int], found: Sequence[int], start: int) -> list[dict[str, Any]]:
    """As an answer gives them; `start` stands for the start of a log."""
    return [
        {"topic": TOPIC, "partition": p, "committed": found[p] or start, "error_code": 0}
        for p in partitions
    ]


def sends(partition: int, last: int, acknowledged_ms: float) -> Iterator[dict[str, Any]]:
    """All records of a partition up to `last`, acknowledged at that time, 50,000 to a row."""
    for first in range(0, last + 1, 50_000):
        to = min(last, first + 49_999)
        yield {
            "topic": TOPIC,
            "partition": partition,
            "outcome": "acknowledged",
            "first_number": first,
            "last_number": to,
            "first_offset": first,
            "last_offset": to,
            "count": to - first + 1,
            "first_sent_at": moment(0),
            "last_answered_at": moment(acknowledged_ms),
        }
