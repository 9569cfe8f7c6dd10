"""What a made-up long run is like: its size, its times, its manifest.

Figures without a source beside them are those of a soak of an hour with 300 records/s on three
brokers: how often each of its processes wrote what.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from harness.base.errors import BadInput
from harness.cluster.plan import GROUP, TOPIC
from harness.experiment import Cluster, Experiment, Fault, Group, Load, holds
from harness.history import manifest

SECOND_US: Final = 1_000_000
BROKERS: Final = 3
COORDINATOR: Final = 1  # the broker
SESSION_US: Final = 10 * SECOND_US
HEARTBEAT_US: Final = 2 * SECOND_US
BATCH: Final = 100  # records that one poll takes at most
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
START_US: Final = int(START.timestamp()) * SECOND_US
KILLED_US: Final = 5 * SECOND_US  # from the beginning of a round
STARTED_US: Final = 25 * SECOND_US  # the eviction and its rebalance take 14 s at most
_LEAST_ROUND_S: Final = 40
_WORK_US: Final = 1_000  # for each record, as in the experiments
_BUSY: Final = 0.5  # of a member's time, at most, with one member away


@dataclass(frozen=True)
class LongPlan:
    """A group that works for `duration_s`, and loses a member in each of its rounds.

    In a round one member is killed, evicted one session later, and another one is started in its
    place: two rebalances.
    """

    duration_s: int
    records_per_s: int = 300
    members: int = 3
    rebalances_per_h: int = 120
    partitions: int = 6

    def __post_init__(self) -> None:
        if self.members < 2 or self.partitions < self.members:
            raise BadInput(
                f"{self.members} members for {self.partitions} partitions: have two or more "
                "members, and a partition for each"
            )
        if self.round_s < _LEAST_ROUND_S:
            raise BadInput(
                f"{self.rebalances_per_h} rebalances per hour leave {self.round_s} s for two of "
                f"them, and they take {_LEAST_ROUND_S}: have {7_200 // _LEAST_ROUND_S} at most"
            )
        if self.duration_s < self.round_s:
            raise BadInput(
                f"{self.duration_s} s are shorter than a round of {self.round_s} s: have a longer "
                "run, or more rebalances"
            )

    @property
    def round_s(self) -> int:
        """Seconds of one round."""
        return 7_200 // self.rebalances_per_h

    @property
    def rounds(self) -> int:
        """How many members are killed."""
        return self.duration_s // self.round_s

    @property
    def end_us(self) -> int:
        """When the producer ends, in epoch microseconds."""
        return START_US + self.duration_s * SECOND_US

    @property
    def process_us(self) -> int:
        """What work on one record takes: less where the load is too high for that."""
        each = self.records_per_s / (self.members - 1)
        return min(_WORK_US, int(_BUSY * SECOND_US / each))

    def sent_by(self, us: int) -> int:
        """How many records have been produced at a time."""
        return max(0, min(us, self.end_us) - START_US) * self.records_per_s // SECOND_US

    def of_partition(self, sent: int, partition: int) -> int:
        """How many of so many records are in one partition: they go round."""
        return (sent + self.partitions - 1 - partition) // self.partitions


def experiment_of(plan: LongPlan) -> Experiment:
    """What such a run declares."""
    return Experiment(
        claim="A group comes back from one crash after the other, for a day.",
        cluster=Cluster(brokers=BROKERS),
        load=Load(partitions=plan.partitions, records_per_s=plan.records_per_s),
        group=Group(
            members=plan.members,
            session_timeout_ms=SESSION_US // 1_000,
            heartbeat_interval_ms=HEARTBEAT_US // 1_000,
            max_poll_interval_ms=30_000,
            batch_records=BATCH,
            process_us=plan.process_us,
        ),
        faults=(
            Fault(kind="kill-consumer", target="any member", at_s=5),
            Fault(kind="start-consumer", target="new member", at_s=20),
        ),
        one_by_one=True,
        at_random=True,
        duration_s=plan.duration_s,
        rules=holds("R21", "R33", "X14", "X32a", "X32b", "X32c", "X32d"),
    )


def moment(us: int) -> str:
    """A time as manifests have it."""
    at = START + timedelta(microseconds=us - START_US)
    return at.isoformat().replace("+00:00", "Z")


def manifest_of(
    plan: LongPlan, run: str, ended_us: int, killed: list[str], settings: dict[str, str]
) -> dict[str, Any]:
    """The manifest of such a run, whose members had left at `ended_us`."""
    declared = asdict(experiment_of(plan))
    del declared["sources"]
    begun = START_US - 3 * SECOND_US
    marks = (
        ("start cluster", begun),
        ("start fleet", START_US - 2 * SECOND_US),
        ("steady", START_US + SECOND_US),
        ("faults", START_US + 2 * SECOND_US),
        ("recover", plan.end_us - SECOND_US),
        ("drain", plan.end_us),
        ("stop", ended_us - SECOND_US),
        ("", ended_us),
    )
    return {
        "schema_version": manifest.SCHEMA_VERSION,
        "run": run,
        "experiment": "days",
        "claim": declared["claim"],
        "status": "complete",
        "status_reason": "",
        "seed": 1,
        "started_at": moment(begun),
        "ended_at": moment(ended_us),
        "group": GROUP,
        "topic": TOPIC,
        "versions": {"kafka": declared["cluster"]["kafka_version"]},
        "host": manifest.host_facts(),
        "declared": declared,
        "own": {},
        "phases": [
            {"name": name, "from": moment(at), "to": moment(until)}
            for (name, at), (_, until) in pairwise(marks)
        ],
        "effective": {"brokers": {f"broker-{n}": settings for n in range(1, BROKERS + 1)}},
        "killed": killed,
    }
