"""A member is frozen for a moment, on a cluster that is as small as one can be.

Why: what the campaign does to a run takes seconds, and the rest of the run is waiting.
Watch: nothing; the test that kills this run looks at what is left of it.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="A moment without a member loses nothing.",
    cluster=Cluster(brokers=1),
    load=Load(partitions=2, replication=1, min_insync_replicas=1, records_per_s=100),
    group=Group(members=2),
    faults=(Fault(kind="freeze-consumer", target="any member", at_s=0.5, lasts_s=1),),
    duration_s=2,
    rules=holds("R02", "R12", "R14", "R21", "R33", "X32a", "X32c"),
)
