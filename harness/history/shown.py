"""What an app showed to have processed: rows of `effects`, and what of it is not known.

It is made from the journals of the harness and of its sink, and from what the producer sent.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from consumers.journal import of_kinds, read_journal
from harness.base import processes
from harness.base.words import plural

Row = dict[str, Any]
Frame = Mapping[str, Any]
Write = tuple[str, int, int, str | None]  # topic, partition, offset and process
_Named = tuple[str | None, str, int, int, int]
JOURNAL: Final = "sink.journal"
WRITTEN: Final = "written.journal"


class Sent:
    """Where the records that were acknowledged are, by partition and number.

    It is of rows of `sends`, of which a day has two million: 24 bytes are kept of each.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, _Ranges] = {}

    def noted(self, sends: Iterable[Row]) -> Iterator[Row]:
        """The same rows, which are added as they are asked for."""
        for row in sends:
            self.add(row)
            yield row

    def add(self, row: Row) -> None:
        """Add a row, if its records were acknowledged."""
        if row["first_offset"] is not None:
            ranges = self._ranges.setdefault(row["partition"], _Ranges())
            ranges.firsts.append(row["first_number"])
            ranges.lasts.append(row["last_number"])
            ranges.offsets.append(row["first_offset"])

    def sort(self) -> None:
        """Put what was added into order, before it is asked for."""
        for ranges in self._ranges.values():
            ranges.sort()

    def offsets(self, partition: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The offsets of records by their numbers, in their order; none where none was stored."""
        ranges = self._ranges.get(partition, _Ranges())
        for at in range(bisect_left(ranges.lasts, first), len(ranges.firsts)):
            begin = ranges.firsts[at]
            if begin > last:
                break
            offset = ranges.offsets[at] - begin
            yield offset + max(first, begin), offset + min(last, ranges.lasts[at])


@dataclass
class _Ranges:
    """Ranges of one partition: first and last numbers, and the first offset of each."""

    firsts: "array[int]" = field(default_factory=lambda: array("q"))
    lasts: "array[int]" = field(default_factory=lambda: array("q"))
    offsets: "array[int]" = field(default_factory=lambda: array("q"))

    def sort(self) -> None:
        if all(one <= other for one, other in pairwise(self.firsts)):
            return
        order = sorted(range(len(self.firsts)), key=self.firsts.__getitem__)
        for name in ("firsts", "lasts", "offsets"):
            values = getattr(self, name)
            setattr(self, name, array("q", (values[place] for place in order)))


def effects(frames: Iterable[Frame], sent: Sent, topic: str) -> Iterator[Row]:
    """Rows of `effects` of one topic, in the order shown.

    What was seen at once is put 1 us apart, so that its order is not lost.
    """
    sent.sort()
    latest: dict[str | None, int] = {}
    for frame in frames:
        program = frame["program"]
        for by, partition, first, last in frame["ranges"]:
            pieces = sent.offsets(partition, first, last) if by == "number" else [(first, last)]
            for start, end in pieces:
                latest[program] = max(frame["seen"], latest.get(program, -1) + 1)
                yield {
                    "member": program,
                    "shown_by": frame["shown_by"],
                    "topic": topic,
                    "partition": partition,
                    "first_offset": start,
                    "last_offset": end,
                    "count": end - start + 1,
                    "at": latest[program],
                }


def written(frames: Sequence[Row], writes: Iterable[Write]) -> Iterator[Row]:
    """What an output topic's journal shows, as frames of `effects`, in the order of time.

    A record is that process's whose write was answered with the last offset up to it.
    """
    topic = next((frame["topic"] for frame in of_kinds(frames, "topic")), None)
    begins: dict[int, list[tuple[int, str | None]]] = {}
    for written_to, partition, offset, member in writes:
        if written_to == topic:
            begins.setdefault(partition, []).append((offset, member))
    for begun in begins.values():
        begun.sort(key=itemgetter(0))
    found = []
    for frame in of_kinds(frames, "written"):
        begun = begins.get(frame["partition"], [])
        for start, by, partition, first, last, seen in frame["pieces"]:
            for program, one, other in _by_writer(begun, start, first, last):
                found.append((seen, program, frame["partition"], by, partition, one, other))
    found.sort(key=itemgetter(0))
    for seen, program, output, by, partition, one, other in found:
        yield {
            "kind": "shown",
            "program": program,
            "shown_by": f"output-{output}",
            "ranges": [[by, partition, one, other]],
            "seen": seen,
        }


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


def summary(run_dir: Path) -> Row:
    """How a program showed its work, and what of that is not known; empty where it did not.

    `by` is the way; the others are clauses. `lacks` says what was there instead of records, and
    `oddly` which were shown without being sent.
    """
    journals = run_dir / "journals"
    names = ("programs.journal", JOURNAL, WRITTEN)
    read = [read_journal(journals / name).frames for name in names if (journals / name).exists()]

    def found(*kinds: str) -> Iterator[Frame]:
        return chain.from_iterable(of_kinds(frames, *kinds) for frames in read)

    about = next(found("app"), {})
    way, asked = about.get("way"), about.get("asked")
    if not way:
        return {}
    unread = list(found("unread"))
    most = max(unread, key=lambda frame: int(frame["count"]), default={"text": ""})
    return {
        "by": f"{way} {asked}" if asked else way,
        "lacks": _lacks(
            way,
            str(asked),
            any(True for _ in _named(found("shown", "written"))),
            sum(frame["count"] for frame in unread),
            most["text"],
            processes.last_lines(run_dir / "logs" / "member-1.log", 2),
        ),
        "oddly": _oddly(
            _named(found("shown", "written")),
            _sends(run_dir / "history" / "sends.parquet"),
            about["partitions"],
        ),
    }


def _lacks(way: str, asked: str, named: bool, unread: int, text: str, last_words: str) -> str:
    """What was there instead of records, as a clause; empty where nothing is amiss."""
    if way in ("stdout", "verifiable"):
        wanted = f"matched {asked}" if way == "stdout" else "is a records_consumed of Kafka's tool"
        said = f"one line it printed: {text}" if unread else "it printed nothing"
        return "" if named else f"no line {wanted}; {said}"
    what, where = ("post", "to the sink") if way == "http" else ("record", f"in {asked}")
    if unread:
        return f"{plural(unread, what)} {where} named no record, such as {text}"
    return "" if named else f"there was no {what} {where}; its last words: {last_words}"


def _sends(path: Path) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        columns = ["partition", "last_number", "last_offset", "count"]
        for batch in file.iter_batches(columns=columns):
            yield from batch.to_pylist()


def _named(frames: Iterable[Frame]) -> Iterator[_Named]:
    """(process, by, partition, first, last) of what was shown."""
    for frame in frames:
        if frame["kind"] == "shown":
            for by, partition, first, last in frame["ranges"]:
                yield frame["program"], by, partition, first, last
        elif frame["kind"] == "written":
            for _, by, partition, first, last, _ in frame["pieces"]:
                yield None, by, partition, first, last


def _oddly(named: Iterable[_Named], sends: Iterable[Row], partitions: int) -> str:
    """Which records were shown without being sent, as a clause; empty where there are none.

    What was sent and not acknowledged may have been stored all the same.
    """
    ends: dict[tuple[str, int], int] = {}
    unstored: Counter[int] = Counter()
    for row in sends:
        for by, last in (("number", row["last_number"]), ("offset", row["last_offset"])):
            key = by, row["partition"]
            ends[key] = max(ends.get(key, 0), 0 if last is None else last + 1)
        if row["last_offset"] is None:
            unstored[row["partition"]] += row["count"]
    for partition, count in unstored.items():
        ends["offset", partition] += count
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
    return f"shows {plural(count, 'record')} never produced, such as {example}"
