"""Heartbeats of KIP-848, right and wrong, and what a coordinator answers to each of them.

Why: the answer decides whether a consumer goes on, joins again, waits or ends for good; whoever
writes or debugs a client needs to know which is which.
Watch: errors 25, 42, 69, 81, 82, 110, 111, 112 and 128, each for its own reason and no other.
"""

from harness.experiment import Cluster, Experiment, Group, Load, Probe, holds, violated

experiment = Experiment(
    claim="Each wrong heartbeat of KIP-848 is refused for the reason that the protocol gives.",
    cluster=Cluster(brokers=1, settings={"group.consumer.max.size": "2"}),
    load=Load(partitions=2, replication=1, min_insync_replicas=1),
    protocols=("consumer",),
    group=Group(protocol="consumer", members=1),
    probes=(Probe(name="heartbeat-answers", at_s=1),),
    duration_s=3,
    rules=(
        *holds("X40", "X40-full", "X40-full-static", "X40-rejoin"),
        violated(
            "X40-full-static",
            "before Kafka 4.4 the size of the group was looked at before the instance id",
            by="join in the place of * full",
            at_most=2,
            kafka=("4.0", "4.1", "4.2", "4.3"),
        ),
        violated(
            "X40-rejoin-static",
            "whether an instance id is free is looked at first, and its own member has it",
            by="join again of its owner",
            at_most=1,
        ),
        violated(
            "X40-full",
            "before Kafka 4.2 a member of a full group that joined again was fenced",
            at_most=1,
            kafka=("4.0", "4.1"),
        ),
        violated(
            "X40-rejoin",
            "before Kafka 4.2 epoch 0 was compared with the member's like any other",
            at_most=2,
            kafka=("4.0", "4.1"),
        ),
    ),
)
