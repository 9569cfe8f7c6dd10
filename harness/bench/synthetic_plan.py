"""What a made-up run is like: its size, its times, its manifest, and the rows of its plan alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np

MEMBERS: Final = 3
PARTITIONS: Final = 6
BATCH: Final = 200  # records of one delivered range
RECORDS_PER_S: Final = 6_000
_RECORDS_PER_ROUND: Final = 500_000
_LEAST_S: Final = 80
SESSION_MS: Final = 6_000
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
GROUP: Final = "synthetic"
TOPIC: Final = "t"
NOTHING: Final = -1  # what a coordinator answers where nothing is committed
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class SyntheticPlan:
    """Rounds, in each of which one member falls silent."""

    rounds: int
    round_ms: int
    batches: int  # of one partition in one round

    @property
    def end_ms(self) -> int:
        return self.rounds * self.round_ms

    def polls_ms(self, first_ms: float, changed_ms: float | None, last_ms: float) -> Floats:
        """When a partition's batches of one round are polled.

        A member polls all its partitions at once. So the times are the same for all partitions
        until their owners change, and from then on for those of one owner. The change itself lies
        between two polls.
        """
        if changed_ms is None:
            return np.linspace(first_ms, last_ms, self.batches)
        share = (changed_ms - first_ms) / self.round_ms
        before = min(max(1, round(self.batches * share)), self.batches - 1)
        return np.concatenate(
            [
                np.linspace(first_ms, changed_ms - 150, before),
                np.linspace(changed_ms + 1, last_ms, self.batches - before),
            ]
        )


def plan_of(records: int) -> SyntheticPlan:
    """The plan of a run that delivers about so many records."""
    duration_s = max(_LEAST_S, records // RECORDS_PER_S)
    rounds = max(3, min(records // _RECORDS_PER_ROUND, duration_s // 20))
    batches = max(4, records // (rounds * PARTITIONS * BATCH))
    return SyntheticPlan(rounds, duration_s * 1_000 // rounds, batches)


def moment(ms: float) -> datetime:
    """The time so many milliseconds after the start."""
    return START + timedelta(milliseconds=float(ms))


_RULES: Final = (
    "R01", "R02", "R12", "R14", "R19", "R20a", "R20b", "R21", "R21-stop", "R33", "X14", "X32a",
    "X32b", "X32c", "X32d",
)  # fmt: skip


def manifest_of(plan: SyntheticPlan) -> dict[str, Any]:
    def text(ms: float) -> str:
        return moment(ms).isoformat().replace("+00:00", "Z")

    names = ("start cluster", "start fleet", "steady", "drain", "stop")
    marks = (-2_000, -1_000, 0, plan.end_ms - 200, plan.end_ms, plan.end_ms + 200)
    return {
        "schema_version": 1,
        "run": f"{START:%Y%m%dT%H%M%S}Z-1",
        "experiment": "synthetic",
        "claim": "Nothing of this happened.",
        "status": "complete",
        "status_reason": "",
        "seed": 0,
        "started_at": text(marks[0]),
        "ended_at": text(marks[-1]),
        "group": GROUP,
        "topic": TOPIC,
        "versions": {},
        "host": {},
        "declared": {
            "claim": "Nothing of this happened.",
            "group": {
                "members": MEMBERS,
                "client": "librdkafka",
                "protocol": "eager",
                "session_timeout_ms": SESSION_MS,
                "heartbeat_interval_ms": 2_000,
                "max_poll_interval_ms": 60_000,
                "commit": "sync",
                "auto_commit_interval_ms": 5_000,
                "batch_records": BATCH * PARTITIONS,
            },
            "load": {"partitions": PARTITIONS, "records_per_s": RECORDS_PER_S},
            "faults": [],
            "rules": [
                *({"rule": rule, "verdict": "HOLDS", "because": ""} for rule in _RULES),
                {
                    "rule": "R21-delivery",
                    "verdict": "VIOLATED",
                    "because": "the evicted member does not know it until it is back",
                },
            ],
        },
        "phases": [
            {"name": name, "from": text(begin), "to": text(end)}
            for name, begin, end in zip(names, marks, marks[1:], strict=False)
        ],
        "effective": {"brokers": {"broker-1": {"group.initial.rebalance.delay.ms": "0"}}},
    }


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
