"""What an app showed to have processed: rows of `effects`, and what of it is not known.

It is made from the journals of the harness and of its sink, and from what the producer sent.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Any, Final

Row = dict[str, Any]
JOURNAL: Final = "sink.journal"


def effects(frames: Iterable[Row], sends: Iterable[Row], topic: str) -> list[Row]:
    """Rows of `effects` of one topic, in the order shown.

    What was seen at once is put 1 us apart, so that its order is not lost.
    """
    sent = _by_partition(row for row in sends if row["first_offset"] is not None)
    latest: dict[str, int] = {}
    found = []
    for frame in frames:
        if frame["kind"] != "shown":
            continue
        program = frame["program"]
        for by, partition, first, last in frame["ranges"]:
            pieces = (
                _offsets(sent.get(partition, ()), first, last)
                if by == "number"
                else [(first, last)]
            )
            for start, end in pieces:
                latest[program] = max(frame["seen"], latest.get(program, -1) + 1)
                found.append(
                    {
                        "member": program,
                        "shown_by": frame["shown_by"],
                        "topic": topic,
                        "partition": partition,
                        "first_offset": start,
                        "last_offset": end,
                        "count": end - start + 1,
                        "at": latest[program],
                    }
                )
    return found


def _by_partition(sends: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in sorted(sends, key=lambda row: int(row["first_number"])):
        found.setdefault(row["partition"], []).append(row)
    return found


def _offsets(sent: Sequence[Row], first: int, last: int) -> list[tuple[int, int]]:
    """The offsets of records by their numbers, in their order; none where none was acknowledged."""
    begin = bisect_left(sent, first, key=lambda row: int(row["last_number"]))
    return [
        (
            row["first_offset"] + max(first, row["first_number"]) - row["first_number"],
            row["first_offset"] + min(last, row["last_number"]) - row["first_number"],
        )
        for row in takewhile(lambda row: row["first_number"] <= last, islice(sent, begin, None))
    ]
