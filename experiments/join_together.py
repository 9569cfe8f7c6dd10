"""Consumers come to an empty group at the same moment, and heartbeats are due before any answer.

All is of KIP-848. Two consumers die afterwards, so that others are given what they had.

Why: a member looks its topic up only when it has been given partitions. Where that takes longer
than the heartbeat interval, as on a busy machine or far away, its next heartbeat comes first.
Watch: what that heartbeat says of the partitions, and who has them then; and what a member is
handed of a partition that it has once given up.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, Load, at_times, holds

experiment = Experiment(
    claim="A member keeps what it was given in its join, however late it learns its topic's name.",
    # Each join computes a new target, as in Kafka before 4.3, and takes from who came before.
    cluster=Cluster(settings={"group.consumer.assignment.interval.ms": "0"}),
    load=Load(partitions=12),
    group=Group(protocol="consumer", members=4, heartbeat_interval_ms=20),
    faults=(
        Fault(kind="kill-consumer", target="any member", at_s=2, jitter_s=1),
        Fault(kind="kill-consumer", target="any member", at_s=4, jitter_s=1),
    ),
    protocols=("consumer",),
    duration_s=15,
    rules=(
        *holds("R21", "R21-delivery", "R15", "X20", "X96"),
        *at_times(
            "librdkafka says that it owns nothing as long as it does not know the topic that it "
            "was given, and is taken at its word (open in 2.16.0)",
            "R21",
            "R21-delivery",
            "R15",
            clients=("librdkafka",),
        ),
        *holds("X18", "X32b", "X32c"),
        *at_times(
            "librdkafka fetches a partition on that it gave up before its first offset was known, "
            "and hands that out when it has it again (open in 2.16.0)",
            "X18",
            "X32b",
            "X32c",
            clients=("librdkafka",),
        ),
        *at_times(
            "the interval is shorter than what a heartbeat takes, and the rule reckons with it",
            "R14",
            "X69",
        ),
        *holds("R01", "R02", "R20b", "R20f", "X32a"),
    ),
)
