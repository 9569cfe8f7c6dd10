"""What `explain` takes for a broker's log, against reading the same file line by line.

The log is made up: a group whose member leaves and comes back again and again, among the lines that
a broker writes about its segments. A fifth of the lines are the coordinator's, far more than in the
logs of a day.
"""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from harness.base import processes
from harness.base.paths import ROOT
from harness.bench.measure import Figure, in_turn, median, ratio

GIGABYTE: Final = 1_000_000_000
_BYTES: Final = GIGABYTE // 4  # long enough that starting Python hardly counts
_MINUTE_S: Final = 60.0
_PAUSE: Final = timedelta(seconds=10)  # between two rebalances
_LOGGER: Final = "org.apache.kafka.coordinator.group.GroupMetadataManager"
_SEGMENT: Final = "org.apache.kafka.storage.internals.log.UnifiedLog"
_FETCHER: Final = "kafka.server.ReplicaFetcherThread"
_NOISE: Final = (
    f"[UnifiedLog partition=orders-{{n}}] Rolled new log segment at offset {{n}} ({_SEGMENT})",
    f"[UnifiedLog partition=orders-{{n}}] Deleting segment files of offset {{n}} ({_SEGMENT})",
    f"[UnifiedLog partition=orders-{{n}}] Incremented log start offset to {{n}} ({_SEGMENT})",
    f"[ReplicaFetcher replicaId=1, leaderId=2] Truncating orders-{{n}} to {{n}} ({_FETCHER})",
)


def lines() -> Iterator[str]:
    """The log, without end, in the pattern that Kafka's configuration comes with."""
    at = datetime(2026, 10, 1, 10, tzinfo=UTC)
    generation = 1
    while True:
        for away in (True, False):
            at += _PAUSE
            for number, message in enumerate(_rebalance(generation, away=away)):
                stamp = f"[{at + timedelta(milliseconds=number):%Y-%m-%d %H:%M:%S,%f}"[:-3]
                yield f"{stamp}] INFO [GroupCoordinator id=1 topic=__consumer_offsets "
                yield f"partition=1] {message} ({_LOGGER})\n"
                for noise in _NOISE:
                    yield f"{stamp}] INFO {noise.format(n=generation)}\n"
            generation += 1


def _rebalance(generation: int, *, away: bool) -> Iterator[str]:
    """What the coordinator says of a member that leaves, or comes back with another id."""
    member = f"orders-3-{generation // 2:08x}-d521-4fd4-ba65-9bc33c56d66e"
    if away:
        yield (
            f"[Group orders] Member {member} has left group through explicit `LeaveGroup` "
            "request; client reason: consumer poll timeout has expired."
        )
    else:
        yield (
            "Dynamic member with unknown member id joins group orders in Stable state. Created a "
            f"new member id {member} and requesting the member to rejoin with this id."
        )
        yield (
            f"Pending dynamic member with id {member} joins group orders in Stable state. Adding "
            "to the group now."
        )
    joined = f"Adding new member {member} with group instance id null"
    why = f"explicit `LeaveGroup` request for ({member}) members" if away else joined
    yield (
        "Preparing to rebalance group orders in state PreparingRebalance with old generation "
        f"{generation} (reason: {why}; client reason: not provided)."
    )
    yield f"Stabilized group orders generation {generation + 1} with {2 if away else 3} members."
    yield (
        "Assignment received from leader orders-1-dcf93346-4d7f-4e7f-82a4-1e62b0e25460 for group "
        f"orders for generation {generation + 1}. The group has {2 if away else 3} members, 0 of "
        "which are static."
    )


def write(log: Path, size: int) -> None:
    """Write so many bytes of it, to the end of a line."""
    written = 0
    with log.open("w", encoding="utf-8") as file:
        for text in lines():
            written += file.write(text)
            if written >= size and text.endswith("\n"):
                return


def bench(rounds: int, size: int = _BYTES) -> list[Figure]:
    """Time of the whole command for a gigabyte, and as a ratio to reading its lines."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        write(log, size)
        measured = in_turn(rounds, explained=lambda: _explained(log), read=lambda: _read(log))
    each = [seconds * GIGABYTE / size for seconds in measured["explained"]]
    name = "explain"
    return [
        Figure(name, "time for a gigabyte of a log", median(each), "s", rounds, _MINUTE_S),
        Figure(
            name,
            "time, explain : reading lines",
            ratio(measured, "explained", "read"),
            "×",
            rounds,
        ),
    ]


def _explained(log: Path) -> float:
    began = time.monotonic()
    subprocess.run(
        processes.python_module("harness", "explain", str(log), "--timezone", "UTC"),
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return time.monotonic() - began


def _read(log: Path) -> float:
    began = time.monotonic()
    with log.open(encoding="utf-8") as file:
        for _line in file:
            pass
    return time.monotonic() - began
