"""What an app showed to have processed: rows of `effects`, and what of it is not known.

It is made from the journals of the harness and of its sink, and from what the producer sent.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Any, Final

Row = dict[str, Any]
JOURNAL: Final = "sink.journal"
WRITTEN: Final = "written.journal"


def effects(frames: Iterable[Row], sends: Iterable[Row], topic: str) -> list[Row]:
    """Rows of `effects` of one topic, in the order shown.

    What was seen at once is put 1 us apart, so that its order is not lost.
    """
    sent = _by_partition(row for row in sends if row["first_offset"] is not None)
    latest: dict[str | None, int] = {}
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


def written(frames: Iterable[Row], writes: Iterable[Row]) -> list[Row]:
    """What an output topic shows, as frames of `effects`, in the order of time.

    A record is that process's whose write was answered with the last offset up to it.
    """
    frames = list(frames)
    topic = next((frame["topic"] for frame in frames if frame["kind"] == "topic"), None)
    begins: dict[int, list[tuple[int, str | None]]] = {}
    for row in sorted(writes, key=lambda row: int(row["base_offset"])):
        if row["topic"] == topic:
            begins.setdefault(row["partition"], []).append((row["base_offset"], row["member"]))
    found = []
    for frame in frames:
        if frame["kind"] == "written":
            begun = begins.get(frame["partition"], [])
            for start, by, partition, first, last, seen in frame["pieces"]:
                for program, one, other in _by_writer(begun, start, first, last):
                    found.append(
                        {
                            "kind": "shown",
                            "program": program,
                            "shown_by": f"output-{frame['partition']}",
                            "ranges": [[by, partition, one, other]],
                            "seen": seen,
                        }
                    )
    return sorted(found, key=lambda frame: int(frame["seen"]))


def _by_writer(
    begun: Sequence[tuple[int, str | None]], start: int, first: int, last: int
) -> Iterable[tuple[str | None, int, int]]:
    """A piece that begins at offset `start`, cut where another process's write begins."""
    at = bisect_right(begun, start, key=lambda each: each[0])
    program = begun[at - 1][1] if at else None
    for offset, other in begun[at:]:
        next_first = first + offset - start
        if next_first > last:
            break
        if other != program:
            yield program, first, next_first - 1
            program, first, start = other, next_first, offset
    yield program, first, last


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
