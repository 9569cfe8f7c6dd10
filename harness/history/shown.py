"""What an app showed to have processed: rows of `effects`, and what of it is not known.

It is made from the journals of the harness and of its sink, and from what the producer sent.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from consumers.journal import read_journal
from harness.base import processes

Row = dict[str, Any]
_Named = tuple[str | None, str, int, int, int]
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


def told(run_dir: Path) -> Row:
    """How a program showed its work, and what of that is not known; empty where it did not.

    `by` is the way; the others are clauses. `lacks` says what was there instead of records, and
    `oddly` which were shown that nobody had sent.
    """
    journals = run_dir / "journals"
    names = ("programs.journal", JOURNAL, WRITTEN)
    frames = [
        frame
        for name in names
        if (journals / name).exists()
        for frame in read_journal(journals / name).frames
    ]
    about = next((frame for frame in frames if frame["kind"] == "app"), {})
    way, asked = about.get("way"), about.get("asked")
    if not way:
        return {}
    sends = pq.read_table(run_dir / "history" / "sends.parquet").to_pylist()
    named = list(_named(frames))
    unread = [frame for frame in frames if frame["kind"] == "unread"]
    most = max(unread, key=lambda frame: int(frame["count"]), default={"text": ""})
    return {
        "by": f"{way} {asked}" if asked else way,
        "lacks": _lacks(
            way,
            str(asked),
            bool(named),
            sum(frame["count"] for frame in unread),
            most["text"],
            processes.last_lines(run_dir / "logs" / "member-1.log", 2),
        ),
        "oddly": _oddly(named, sends, about["partitions"]),
    }


def _lacks(way: str, asked: str, named: bool, unread: int, text: str, last_words: str) -> str:
    """What was there instead of records, as a clause; empty where nothing is amiss."""
    if way in ("stdout", "verifiable"):
        wanted = f"matched {asked}" if way == "stdout" else "is a records_consumed of Kafka's tool"
        said = f"one line it printed: {text}" if unread else "it printed nothing"
        return "" if named else f"no line {wanted}; {said}"
    what, where = ("post", "to the sink") if way == "http" else ("record", f"in {asked}")
    if unread:
        return f"{_several(unread, what)} {where} named no record, such as {text}"
    return "" if named else f"there was no {what} {where}; its last words: {last_words}"


def _named(frames: Iterable[Row]) -> Iterator[_Named]:
    """(process, by, partition, first, last) of what was shown."""
    for frame in frames:
        if frame["kind"] == "shown":
            for by, partition, first, last in frame["ranges"]:
                yield frame["program"], by, partition, first, last
        elif frame["kind"] == "written":
            for _, by, partition, first, last, _ in frame["pieces"]:
                yield None, by, partition, first, last


def _oddly(named: Iterable[_Named], sends: Sequence[Row], partitions: int) -> str:
    """Which records were shown that nobody had sent, as a clause; empty where there are none.

    What was sent and not acknowledged may have been stored all the same.
    """
    ends: dict[tuple[str, int], int] = {}
    for row in sends:
        for by, last in (("number", row["last_number"]), ("offset", row["last_offset"])):
            key = by, row["partition"]
            ends[key] = max(ends.get(key, 0), 0 if last is None else last + 1)
    for row in sends:
        if row["last_offset"] is None:
            ends["offset", row["partition"]] += row["count"]
    count, example = 0, ""
    for program, by, partition, first, last in named:
        begin = first if first < 0 else max(first, ends.get((by, partition), 0))
        if begin > last:
            continue
        count += last - begin + 1
        place = (
            f"number {begin * partitions + partition}"
            if by == "number"
            else f"offset {begin} of partition {partition}"
        )
        example = example or (f"{place} by {program}" if program else place)
    if not count:
        return ""
    return f"shows {_several(count, 'record')} that nobody had produced, such as {example}"


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


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
