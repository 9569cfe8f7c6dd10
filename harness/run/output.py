"""Reading what members wrote: in transactions, as those see it who wait for commits and who do not;
and what programs under test wrote for each record that they processed.

Over the listener that no fault touches, after the last member has ended.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from consumers.journal import Journal
from consumers.ranges import Runs
from harness.base.errors import VoidRun
from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.plan import Plan
from harness.run.named import Naming, Place, Unnamed, header_of

ISOLATIONS: Final = ("read_committed", "read_uncommitted")
_ASK_S: Final = 5.0
_SETTLE_S: Final = 40.0  # a crashed member's transaction is ended after its time-out, 10 s
_THEIRS_S: Final = 90.0  # the time-out of most libraries is 60 s
_PIECES: Final = 1_000  # in a frame
_LISTEN_S: Final = 0.2
_IDLE_S: Final = 20.0


def read_output(plan: Plan, partitions: int, topic: str, journal: Journal) -> None:
    """Journal how often each source record is in `topic`, for both isolations.

    Waits until no transaction is open any more. Raises WaitTimeout or VoidRun.
    """
    _settle(plan, topic, partitions, _SETTLE_S)
    for isolation in ISOLATIONS:
        copies: Counter[tuple[str, int, int]] = Counter(
            tuple(json.loads(message.value() or b"null"))
            for message in _records(plan, topic, partitions, isolation)
        )
        for source, partition, first, last, count in ranges(copies):
            journal.write(
                "output",
                isolation=isolation,
                topic=source,
                partition=partition,
                first_offset=first,
                last_offset=last,
                copies=count,
            )


def read_written(plan: Plan, partitions: int, topic: str, journal: Journal, naming: Naming) -> None:
    """Journal which records the committed ones of `topic` are about, by partition, in order.

    A frame has pieces [first offset in `topic`, by, partition, first, last, when], as in `named`.
    Waits and raises as `read_output` does.
    """
    _settle(plan, topic, partitions, _THEIRS_S)
    pieces: dict[int, list[list[Any]]] = {number: [] for number in range(partitions)}
    unread, text = 0, ""
    for message in _records(plan, topic, partitions, ISOLATIONS[0]):
        number, offset = message.partition() or 0, message.offset() or 0
        try:
            place = naming.in_record(header_of(message.headers()), message.key(), message.value())
        except Unnamed as unnamed:
            unread, text = unread + 1, str(unnamed)
            continue
        add_piece(pieces[number], offset, place, 1_000 * message.timestamp()[1])
    for number, found in pieces.items():
        for start in range(0, len(found), _PIECES):
            journal.write("written", partition=number, pieces=found[start : start + _PIECES])
    if unread:
        journal.write("unread", program=None, count=unread, text=text)
    journal.write("topic", topic=topic)


def add_piece(pieces: list[list[Any]], offset: int, place: Place, at_us: int) -> None:
    by, partition, number = place
    if pieces:
        start, *before, first, last, when = pieces[-1]
        length = last - first + 1
        follows = (offset, number, at_us) == (start + length, last + 1, when)
        if follows and [by, partition] == before:
            pieces[-1][4] = number
            return
    pieces.append([offset, by, partition, number, number, at_us])


def _settle(plan: Plan, topic: str, partitions: int, patience_s: float) -> None:
    wait_until(
        "end of the last open transaction",
        lambda: all(_settled(plan, topic, number) for number in range(partitions)),
        timeout_s=patience_s,
    )


def _settled(plan: Plan, topic: str, number: int) -> bool:
    """Whether readers that wait for commits can read as far as the others; false if unknown."""
    try:
        found = wire.metadata(plan.brokers[0].port, [topic], _ASK_S).partitions
        leader = {row["partition"]: row["leader"] for row in found}.get(number)
        ports = [node.port for node in plan.nodes if node.id == leader]
        if not ports:  # the partition has no leader just now
            return False
        ends = [
            wire.ends(ports[0], {topic: [number]}, _ASK_S, stable=stable)
            for stable in (True, False)
        ]
    except OSError:
        return False
    return bool(ends[0]) and ends[0] == ends[1]


def _records(plan: Plan, topic: str, partitions: int, isolation: str) -> Iterator[Message]:
    consumer = Consumer(
        {
            **plan.harness(),
            "group.id": f"harness-{isolation}",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        open_ends = set(range(partitions))
        heard_at = time.monotonic()
        while open_ends:
            # It waits for as many as are asked for, so not for long.
            messages = consumer.consume(1_000, _LISTEN_S)
            heard_at = time.monotonic() if messages else heard_at
            if time.monotonic() - heard_at > _IDLE_S:
                raise VoidRun(
                    f"{topic} could not be read to its end ({isolation}): nothing came for "
                    f"{_IDLE_S:g} s; see the brokers' logs and run again"
                )
            for message in messages:
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_ends.discard(message.partition())
                else:
                    raise VoidRun(f"{topic} could not be read ({error.str()}): run again")
    finally:
        consumer.close()


def ranges(copies: Counter[tuple[str, int, int]]) -> Iterator[tuple[str, int, int, int, int]]:
    """Runs of offsets with as many copies each: topic, partition, first, last, copies."""
    runs = Runs()
    for (topic, partition, offset), count in sorted(copies.items()):
        runs.add((topic, partition, count), offset, offset)
    for (topic, partition, count), (first, last) in runs.all:
        yield topic, partition, first, last, count
