"""Commits with the epoch before, the present one and one to come; a group described and deleted.

All groups are of KIP-848.

Why: a member's epoch moves on by heartbeats while commits are on their way. By the protocol's
first rule such a commit is refused, though its partition never moved.
Tools that describe groups need another call for such a group, and see none by the old one; those
that delete groups and positions use the calls they have always used.
Watch: error 113, and for what it is given; error 69 for the old call; errors 68, 86 and 25 for what
members use.
"""

from harness.experiment import Cluster, Experiment, Group, Load, Probe, holds, violated

experiment = Experiment(
    claim="A commit with the epoch before is accepted if its partition has stayed with the member.",
    cluster=Cluster(brokers=1),
    load=Load(partitions=4, replication=1, min_insync_replicas=1),
    protocols=("consumer",),
    group=Group(protocol="consumer", members=1),
    probes=(Probe(name="member-epochs", at_s=1),),
    duration_s=3,
    rules=(
        *holds("X22-assignment", "R28-epoch", "X30"),
        violated(
            "X22-assignment",
            "before Kafka 4.3 the epoch had to be the member's present one",
            by="commit of *, with the epoch before",
            at_most=2,
            kafka=("4.0", "4.1", "4.2"),
        ),
    ),
)
