"""How long a partition stood still, whatever the reason: with or without a rebalance."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from harness.report.load import Run
from harness.report.words import duration, partition_name, seconds


@dataclass(frozen=True)
class Standstill:
    """The longest time between two polls that gave records of one partition."""

    topic: str
    partition: int
    from_at: datetime
    ms: float


def longest(run: Run) -> Standstill | None:
    """The longest standstill between steady state and the drain; None if nothing was read then."""
    ends = {phase.name: phase for phase in run.manifest.phases}
    steady, drain = ends.get("steady"), ends.get("drain")
    if steady is None or drain is None:
        return None
    polls: dict[tuple[str, int], list[datetime]] = defaultdict(list)
    columns = [run.deliveries[name].to_pylist() for name in ("topic", "partition", "polled_at")]
    for topic, partition, at in zip(*columns, strict=True):
        if at is not None and steady.from_at <= at <= drain.from_at:
            polls[topic, partition].append(at)
    found = [
        Standstill(topic, partition, before, (after - before).total_seconds() * 1_000)
        for (topic, partition), times in polls.items()
        for before, after in pairwise(sorted(times))
    ]
    return max(found, key=lambda still: still.ms, default=None)


def told(run: Run) -> str:
    """Say it in one line."""
    still = longest(run)
    if still is None:
        return "not recorded"
    where = partition_name(still.topic, still.partition)
    steady = next(phase for phase in run.manifest.phases if phase.name == "steady")
    return f"{duration(still.ms)} at most ({where}, from {seconds(still.from_at, steady.from_at)})"
