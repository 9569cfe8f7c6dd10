"""A stall leaves the Java client a backlog, and then one more member joins.

Why: documents describe poll by its buffer: what one fetch brings is handed out over many polls, at
most max.poll.records each, and a rebalance leaves the rest where it is.
Watch: polls of exactly 500 records, fetches of at most 1 MiB of a partition, and no fetch of a
partition while records of it are buffered.
"""

from harness.experiment import UNSET, Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="Poll returns its buffer 500 records at a time, and kept partitions' records in a "
    "rebalance.",
    load=Load(partitions=2, records_per_s=2_000, record_bytes=200),
    group=Group(
        members=1,
        client="java",
        batch_records=500,
        process_us=100,
        # Both are the client's defaults: 500 records, and 1 MiB, more than the largest batch of the
        # producer (a batch that is larger than the limit is fetched all the same).
        settings={"max.poll.records": UNSET, "max.partition.fetch.bytes": UNSET},
    ),
    faults=(
        Fault(kind="stall-consumer", target="member 1", at_s=2, jitter_s=1, lasts_s=7),
        Fault(kind="start-consumer", target="new member", at_s=11, jitter_s=1),
    ),
    duration_s=14,
    clients=("java",),
    rules=holds("R23", "R24", "R25", "R34", "R33", "X01-kept", "X32a", "X32b", "X32c"),
)
